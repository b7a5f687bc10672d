"""Does every link of the built site lead somewhere, does no page need another server, and did every command work?

python docs/check_site.py build/docs
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors, self.links, self.loaded, self.failures = {""}, list[str](), list[str](), list[str]()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag names, leads to or loads."""
        values = {key: value or "" for key, value in attrs}
        self.anchors |= {values[key] for key in ("id", "name") if key in values}
        if "href" in values and tag == "a":
            self.links.append(values["href"])
        elif tag in ("script", "img", "iframe", "source", "link"):
            self.loaded += [values[key] for key in ("src", "href") if key in values]

    def handle_data(self, data: str) -> None:
        """Note how a command ended that failed in a cell."""
        self.failures += [line for line in data.splitlines() if line.startswith("error: ")]


def faults(folder: Path) -> list[str]:
    """Return a line for each dead link and for each thing that is loaded from elsewhere."""
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts}
    lines = []
    for path, page in pages.items():
        here = path.relative_to(folder)
        lines += [f"{here} shows a command that failed: {line}" for line in page.failures]
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded and parts.scheme != "data":
                    lines.append(f"{here} loads {link}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                lines.append(f"{here} leads to {link}, which is not there")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                lines.append(f"{here} leads to {link}, and the page has no such heading")
    return lines


def main(arguments: list[str]) -> int:
    """Print the faults; 1 where there are any."""
    lines = faults(Path(arguments[0]).resolve())
    print("\n".join(lines) or "every link leads somewhere, nothing is loaded from elsewhere, and no command failed")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
