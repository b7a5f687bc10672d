"""Fixtures of the report's tests."""

import pytest
from helpers.browser import CHROMIUM


@pytest.fixture(scope="module")
def chromium():
    """One browser for a module: two at a time cannot be driven from one thread."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        arguments = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def hub(monkeypatch):
    """A small Hub on this machine that takes what is pushed."""
    from helpers.push import hub_for_push

    with hub_for_push(monkeypatch) as server:
        yield server
