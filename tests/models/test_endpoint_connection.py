"""The way to an endpoint: certificates, schemes and proxies, of servers on this machine alone."""

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from helpers.endpoint_client import post, settings_of
from helpers.faulty_server import FaultyServer

from paraconsist.errors import InputError
from paraconsist.models.endpoint.client import _proxy
from paraconsist.models.endpoint.settings import EndpointSettings

NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR")
WORD = "secret-word"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in NAMES:
        for spelt in {name, name.upper()}:
            monkeypatch.delenv(spelt, raising=False)
    return monkeypatch


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1 that it signed itself, with its key beside it."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl command")
    path = tmp_path_factory.mktemp("certificate") / "own.pem"
    line = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=own -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(
        ["openssl", *line.split(), "-keyout", path.with_suffix(".key"), "-out", path], check=True, capture_output=True
    )
    return path


@pytest.fixture
def server(certificate: Path) -> Iterator[FaultyServer]:
    """A server whose connections are encrypted."""
    with FaultyServer() as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        wrap = partial(context.wrap_socket, server_side=True, do_handshake_on_connect=False)
        server._server.socket = wrap(server._server.socket)
        yield server


def encrypted(server: FaultyServer, host: str = "127.0.0.1") -> EndpointSettings:
    url = server.url.replace("http:", "https:").replace("127.0.0.1", host)
    return EndpointSettings(url, timeout=5.0)


def why(settings: EndpointSettings, **options: int) -> str:
    with pytest.raises(InputError) as raised:
        post(settings, **options)
    return str(raised.value)


@pytest.mark.faults
def test_a_certificate_that_signed_itself_is_taken_where_it_is_named(server, certificate, environment):
    """The error asked whether the server was running, after three tries."""
    said = why(encrypted(server), connects=3)
    assert "`endpoint` must have a certificate that is trusted; got 'https://127.0.0.1:" in said
    assert "self-signed certificate. If you trust it, name the file of its authority's certificate (PEM)" in said
    assert "as SSL_CERT_FILE" in said
    environment.setenv("SSL_CERT_FILE", str(certificate))
    _, (text,) = post(encrypted(server))
    assert text
    said = why(encrypted(server, "localhost"))
    assert "certificate is not valid for 'localhost'" in said
    assert "SSL_CERT_FILE" not in said


@pytest.mark.faults
@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_file_of_certificates_that_cannot_be_read_is_named(tmp_path, environment, content):
    """It was: FileNotFoundError: [Errno 2] No such file or directory, of an endpoint without encryption too."""
    file = tmp_path / "own.pem"
    if content is not None:
        file.write_text(content)
    environment.setenv("SSL_CERT_FILE", str(file))
    with FaultyServer() as server:
        said = why(settings_of(server))
        assert f"SSL_CERT_FILE names no certificates (PEM) that can be read: {file} (" in said
        assert not server.received


@pytest.mark.faults
def test_the_other_scheme_is_named(server):
    with FaultyServer() as plain:
        assert "its host and port, and http:// what it takes?" in why(encrypted(plain), connects=1)
    assert "perhaps it takes https:// alone" in why(settings_of(server), tries=1)


@pytest.mark.faults
@pytest.mark.parametrize("address", ["h:port", "[::1", "h:0", ""])
def test_an_address_of_a_proxy_that_cannot_be_read_is_not_shown(environment, address):
    """It was taken for a cut connection: asked eight times, with the password in the error."""
    environment.setenv("http_proxy", f"http://ada:{WORD}@{address}")
    with pytest.raises(InputError, match="the environment's proxy is not an HTTP proxy") as raised:
        _proxy(EndpointSettings("http://endpoint.example/v1"))
    assert WORD not in str(raised.value)


@pytest.mark.faults
def test_a_proxy_that_is_not_there_is_said_to_be_the_proxy(environment):
    environment.setenv("http_proxy", f"http://ada:{WORD}@127.0.0.1:9")
    said = why(EndpointSettings("http://endpoint.example/v1"), connects=1)
    assert "The environment's proxy: Cannot connect to host 127.0.0.1:9" in said
    assert WORD not in said


class Refusing(BaseHTTPRequestHandler):
    """A proxy that wants a name."""

    n_asked = 0

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        Refusing.n_asked += 1
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(407)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_CONNECT = do_POST


@pytest.mark.faults
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_refuses_is_asked_once_and_named(environment, scheme):
    """Before an encrypted endpoint it was asked eight times in a minute; of others the error was (407)."""
    Refusing.n_asked = 0
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as proxy:
        Thread(target=proxy.serve_forever, args=(0.05,), daemon=True).start()
        environment.setenv(f"{scheme}_proxy", f"http://ada:{WORD}@127.0.0.1:{proxy.server_address[1]}")
        said = why(EndpointSettings(f"{scheme}://endpoint.example/v1"))
        proxy.shutdown()
    assert "the environment's proxy refused the connection (407). It wants a name and a password" in said
    assert (Refusing.n_asked, WORD in said) == (1, False)
