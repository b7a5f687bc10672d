"""An OpenAI-compatible server on loopback that answers by rule, fails by script, and writes down what it was sent."""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["FaultyServer", "Received", "ToyBrain", "at_random", "first"]
KEY = "sk-a-key-of-the-tests-0123456789abcdef"  # what no message and no file may hold
Script = Callable[[int, str], "str | None"]
#: A response as it is sent: status, headers, body.
Raw = tuple[int, dict[str, str], bytes]


class ToyBrain:
    """A "language model" whose log-probabilities are a hash of what stands before, at most six letters a token."""

    WORDS = ("W", "S", "yes", "no", "true", "false", "neither", "The", "I", "maybe", "1", "2")

    def __init__(self) -> None:
        self.names: dict[int, str] = {}

    def tokens(self, text: str) -> list[str]:
        return re.findall(r"\s?\w{1,6}|\s|[^\w\s]", text)

    def number(self, token: str) -> int:
        """A token's number; ``names`` leads back."""
        number = int.from_bytes(hashlib.sha256(token.encode()).digest()[:4], "big")
        self.names[number] = token
        return number

    def value(self, before: list[str], token: str) -> float:
        """Log-probability of a token after others; high for no token in particular."""
        digest = hashlib.sha256("|".join([*before[-40:], token]).encode()).digest()
        return -(int.from_bytes(digest[:4], "big") % 8000) / 1000 - 0.001

    def echo(self, text: str) -> list[tuple[str, float | None]]:
        tokens = self.tokens(text)
        return [(t, self.value(tokens[:i], t) if i else None) for i, t in enumerate(tokens)]

    def top(self, text: str, k: int) -> list[tuple[str, float]]:
        before = self.tokens(text)
        space = "" if text.endswith("\n") else " "
        found = [(space + word, self.value(before, space + word)) for word in self.WORDS]
        return sorted(found, key=lambda pair: -pair[1])[:k]

    def write(self, text: str, n: int) -> str:
        start = len(text)
        for _ in range(n):
            text += self.top(text, 1)[0][0]
        return text[start:]

    def chat(self, messages: list[dict[str, str]]) -> str:
        return "".join(f"{m['role']}: {m['content']}\n" for m in messages) + "assistant:\n"


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is no error of the server's."""


@dataclass
class Received:
    """A request, and what became of it: ``"answered"``, or the fault."""

    number: int
    tag: str
    path: str
    body: dict[str, Any]
    authorization: str | None
    at: float  # seconds of a clock that never goes back
    outcome: str = "under way"


@dataclass
class FaultyServer:
    """The server; use as a context manager.

    `script` takes a request's number (from 0) and its tag and names a fault, or None: ``429``, ``429:SECONDS``
    (with Retry-After), any other status, ``hang``, ``cut`` (the connection, in mid-body), ``malformed``, ``html``,
    ``too_long``, ``quota``, ``unknown_model``, ``endless`` (the body), or one of `raw`.
    """

    script: Script | None = None
    raw: dict[str, Raw] = field(default_factory=dict)  # further faults
    change: Callable[[dict[str, Any], Received], dict[str, Any]] | None = None  # an answer -> what is sent
    brain: Any = field(default_factory=ToyBrain)
    write: Callable[[str, dict[str, Any]], str] | None = (
        None  # prompt and body -> what is written, in the brain's place
    )
    headers: Callable[[Received], dict[str, str]] | None = None  # a request -> further headers of its answer
    key: str | None = None
    model: str = "toy"
    delay: float = 0.0
    log_probabilities: bool = True
    echo: bool = True
    most_top: int = 20
    chat_style: bool = False  # completions' log-probabilities in the form of chats', as llama.cpp's
    shifted: bool = False  # echoed values one token late
    usage: bool = True
    system: bool = True
    length_field: str = "max_tokens"
    scores: bool = False  # numbers tokens and scores them, as SGLang does
    off: float = 0.0  # what is added to the log-probabilities of such scores
    facts: dict[str, Any] = field(default_factory=dict)  # what the list of models says of the model besides its name
    received: list[Received] = field(default_factory=list)
    most_at_once: int = 0

    def __enter__(self) -> FaultyServer:
        self._lock, self._ended, self._now = threading.Lock(), threading.Event(), 0
        self._server = _Server(("127.0.0.1", 0), _handler_for(self))
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def answered(self) -> list[str]:
        """Tags of the requests that were answered, in order, those of the first small requests left out."""
        with self._lock:
            return [r.tag for r in self.received if r.outcome == "answered" and r.tag != "probe"]

    def sent(self, since: int = 0) -> list[str]:
        """Tags of the requests about inputs that came in."""
        with self._lock:
            return [r.tag for r in self.received[since:] if r.tag != "probe"]

    def take(self, path: str, tag: str, body: dict[str, Any], authorization: str | None) -> Received:
        with self._lock:
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            self.received.append(Received(len(self.received), tag, path, body, authorization, time.monotonic()))
            return self.received[-1]

    def leave(self) -> None:
        with self._lock:
            self._now -= 1

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and JSON, where nothing is to go wrong."""
        if path.endswith(("/tokenize", "/score")) and not self.scores:
            return 404, _error("Not Found")
        if path.endswith("/tokenize"):
            return 200, {"tokens": [[self.brain.number(t) for t in self.brain.tokens(p)] for p in body["prompt"]]}
        if path.endswith("/score"):
            before = self.brain.tokens(body["query"] + body["items"][0])
            values = [self.brain.value(before, self.brain.names[i]) + self.off for i in body["label_token_ids"]]
            return 200, {"scores": [[math.exp(value) for value in values]], "model": self.model, "object": "scoring"}
        if body.get("model") != self.model:
            return 404, _error(f"The model `{body.get('model')}` does not exist.")
        if self.length_field not in body:
            return 400, _error(f"Unsupported parameter: use '{self.length_field}' instead.")
        chat = path.endswith("/chat/completions")
        if chat and not self.system and body["messages"][0]["role"] == "system":
            return 400, _error("System role not supported")
        asked = (body.get("top_logprobs") if chat else body.get("logprobs")) or 0
        if asked > self.most_top:
            return 400, _error(f"logprobs must be at most {self.most_top}")
        text = self.brain.chat(body["messages"]) if chat else body["prompt"]
        if self.write is not None:
            written = self.write(text, body)
        else:
            written = self.brain.write(text, body[self.length_field])
        ended = "stop" if self.write is not None and len(written.split()) < body[self.length_field] else "length"
        choice: dict[str, Any] = {"index": 0, "finish_reason": ended, "logprobs": None}
        if chat:
            choice["message"] = {"role": "assistant", "content": written}
        else:
            choice["text"] = (text if self.echo and body.get("echo") else "") + written
        if self.log_probabilities and asked:
            choice["logprobs"] = self._log_probabilities(text, body, asked, chat)
        said: dict[str, Any] = {"object": "text_completion", "model": self.model, "choices": [choice]}
        if self.usage:
            said["usage"] = {"prompt_tokens": len(text.split()), "completion_tokens": body[self.length_field]}
        return 200, said

    def _log_probabilities(self, text: str, body: dict[str, Any], k: int, chat: bool) -> dict[str, Any]:
        top = self.brain.top(text, k)
        if chat or self.chat_style:
            shown = [{"token": t, "logprob": v, "bytes": list(t.encode())} for t, v in top]
            return {"content": [{**shown[0], "top_logprobs": shown}]}
        prompt = self.brain.echo(text) if self.echo and body.get("echo") else []
        tokens = [*(t for t, _ in prompt), top[0][0]]
        values = [*(v for _, v in prompt), top[0][1]]
        if self.shifted and prompt:
            values = [*values[1:], -0.5]
        return {"tokens": tokens, "token_logprobs": values, "top_logprobs": [*[None] * len(prompt), dict(top)]}


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error"}}


def _handler_for(server: FaultyServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            self._send(200, {"object": "list", "data": [{"id": server.model, **server.facts}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            tag = self.headers.get("X-Paraconsist-Input", "")
            request = server.take(self.path, tag, body, self.headers.get("Authorization"))
            try:
                fault = server.script(request.number, tag) if server.script else None
                if server.delay:
                    time.sleep(server.delay)
                if server.key is not None and request.authorization != f"Bearer {server.key}":
                    given = (request.authorization or "").removeprefix("Bearer ")
                    request.outcome = "401"
                    self._send(401, _error(f"Incorrect API key provided: {given}."))
                elif fault is not None:
                    request.outcome = fault
                    self._fail(fault)
                else:
                    status, said = server.answer(self.path, body)
                    request.outcome = "answered" if status == 200 else str(status)
                    if server.change is not None and status == 200:
                        said = server.change(said, request)
                    self._send(status, said, server.headers(request) if server.headers else None)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client is gone
            finally:
                server.leave()

        def _fail(self, fault: str) -> None:
            name, _, seconds = fault.partition(":")
            if fault in server.raw:
                status, headers, data = server.raw[fault]
                self._send_bytes(status, headers.get("Content-Type", "application/json"), data, headers)
            elif name == "endless":
                self._head(200, "application/json", 1 << 40)
                while not server._ended.is_set():
                    self.wfile.write(b'{"choices": [' + b" " * (1 << 20))
            elif name == "hang":
                server._ended.wait(30)
                self.close_connection = True
            elif name == "cut":
                self._head(200, "application/json", 4000)
                self.wfile.write(b'{"choices": [{"text": " yes')
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
            elif name == "malformed":
                self._send_bytes(200, "application/json", b'{"choices": [{"text": " y')
            elif name == "html":
                self._send_bytes(200, "text/html; charset=utf-8", b"<!doctype html><title>Welcome</title>")
            elif name == "too_long":
                self._send(400, _error("This model's maximum context length is 64 tokens. However, you sent 900."))
            elif name == "quota":
                self._send(429, {"error": {"message": "You have no quota left.", "code": "insufficient_quota"}})
            elif name == "unknown_model":
                self._send(404, _error("The model `toy` does not exist."))
            else:
                headers = {"Retry-After": seconds} if seconds else {}
                self._send(
                    int(name), _error(f"an error of the script's, key {self.headers.get('Authorization')}"), headers
                )

        def _send(self, status: int, said: dict[str, Any], headers: dict[str, str] | None = None) -> None:
            self._send_bytes(status, "application/json", json.dumps(said).encode(), headers)

        def _send_bytes(self, status: int, kind: str, data: bytes, headers: dict[str, str] | None = None) -> None:
            self._head(status, kind, len(data), headers)
            self.wfile.write(data)

        def _head(self, status: int, kind: str, length: int, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in {"Content-Type": kind, "Content-Length": str(length), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()

    return Handler


def first(*faults: str | None) -> Script:
    """The first requests about inputs meet these faults, in order, the rest none."""
    left = list(faults)
    lock = threading.Lock()

    def script(_: int, tag: str) -> str | None:
        with lock:
            return left.pop(0) if tag != "probe" and left else None

    return script


def at_random(seed: int, share: float, faults: tuple[str, ...] = ("429:0", "500", "cut", "malformed")) -> Script:
    """A share of the requests about inputs meets a fault."""
    rng = random.Random(seed)
    lock = threading.Lock()

    def script(_: int, tag: str) -> str | None:
        with lock:
            return rng.choice(faults) if tag != "probe" and rng.random() < share else None

    return script
