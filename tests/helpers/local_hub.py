"""A small Hub in memory that speaks the protocol of huggingface_hub, datasets and evaluate, for tests."""

import base64
import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import yaml

TOKEN = "hf_a_token_of_the_tests"  # what a push must never print
USER, ORGS = "ada", ("org",)
_TYPES = ("model", "dataset", "space")
_ATTRIBUTES = b"*.parquet filter=lfs diff=lfs merge=lfs -text\n"


@dataclass(frozen=True)
class Blob:
    """A file's bytes, and whether they are in large-file storage."""

    data: bytes
    lfs: bool = False

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def oid(self) -> str:
        body = _pointer(self) if self.lfs else self.data
        return hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()

    @property
    def etag(self) -> str:
        return self.sha256 if self.lfs else self.oid


def _pointer(blob: Blob) -> bytes:
    lines = f"version https://git-lfs.github.com/spec/v1\noid sha256:{blob.sha256}\nsize {len(blob.data)}\n"
    return lines.encode()


@dataclass(frozen=True)
class Commit:
    """One version of a repository."""

    oid: str
    files: dict[str, Blob]
    message: str = "initial commit"
    description: str = ""


@dataclass
class Repo:
    """A repository: its commits, the newest last."""

    type: str
    id: str
    private: bool
    sdk: str | None = None
    commits: list[Commit] = field(default_factory=list)

    @property
    def files(self) -> dict[str, Blob]:
        return self.commits[-1].files

    def add(self, files: dict[str, Blob], message: str, description: str = "") -> Commit:
        seed = f"{self.type}/{self.id}/{len(self.commits)}/{message}"
        self.commits.append(Commit(hashlib.sha1(seed.encode()).hexdigest(), files, message, description))
        return self.commits[-1]

    def at(self, revision: str) -> Commit | None:
        if revision == "main":
            return self.commits[-1]
        return next((commit for commit in self.commits if commit.oid == revision), None)

    @property
    def card(self) -> dict[str, Any]:
        return card_data(self.files["README.md"].data.decode()) if "README.md" in self.files else {}


def card_data(text: str) -> dict[str, Any]:
    """Return the metadata of a card."""
    found = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    said = yaml.safe_load(found[1]) if found else None
    return said if isinstance(said, dict) else {}


class LocalHub:
    """The server's state. `fail` decides for each request whether it is cut off (True) or gets that status."""

    def __init__(self) -> None:
        self.repos: dict[tuple[str, str], Repo] = {}
        self.objects: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []
        self.fail: Callable[[str, str], bool | int] = lambda method, path: False
        self.url = ""

    def create(self, type: str, id: str, *, private: bool = True, sdk: str | None = None) -> Repo:
        repo = Repo(type, id, private, sdk)
        repo.add({".gitattributes": Blob(_ATTRIBUTES)}, "initial commit")
        self.repos[type, id] = repo
        return repo

    def sent(self, method: str, part: str) -> int:
        """Count the requests of a method whose path contains `part`."""
        return sum(one == method and part in path for one, path in self.requests)


@contextlib.contextmanager
def local_hub() -> Iterator[LocalHub]:
    """Serve a Hub on a free port of this machine."""
    hub = LocalHub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Refusal(Exception):
    def __init__(self, status: int, said: str, code: str = "", body: Any = None) -> None:
        super().__init__(said)
        self.status, self.said, self.code = status, said, code
        self.body = {"error": said} if body is None else body


_NOT_FOUND = "Repository not found"


class _Handler(BaseHTTPRequestHandler):
    hub: LocalHub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._serve()

    do_HEAD = do_POST = do_PUT = do_GET

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        path = unquote(parts.path)
        self.hub.requests.append((self.command, path))
        failure = self.hub.fail(self.command, path)
        if failure is True:  # in the middle of what is being sent
            self.rfile.read(int(self.headers.get("Content-Length") or 0) // 2)
            self.close_connection = True
            self.connection.close()
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            if failure:
                raise _Refusal(int(failure), "It is the test's wish")
            self._route(path, parse_qs(parts.query), body)
        except _Refusal as refusal:
            headers = {"X-Error-Message": refusal.said} | ({"X-Error-Code": refusal.code} if refusal.code else {})
            self._answer(refusal.status, json.dumps(refusal.body).encode(), headers)

    def _route(self, path: str, query: dict[str, list[str]], body: bytes) -> None:
        said = (
            json.loads(body)
            if body and self.command == "POST" and not path.rpartition("/")[0].endswith("commit")
            else {}
        )
        if path == "/api/whoami-v2":
            self._need_token()
            self._json({"name": USER, "type": "user", "orgs": [{"name": org} for org in ORGS]})
        elif path == "/api/repos/create":
            self._create(said)
        elif path == "/api/validate-yaml":
            self._validate(said)
        elif found := re.fullmatch(r"/objects/([0-9a-f]{64})", path):
            if hashlib.sha256(body).hexdigest() != found[1]:
                raise _Refusal(400, "Content does not match")
            self.hub.objects[found[1]] = body
            self._json({})
        elif found := re.fullmatch(r"/(?:(dataset|space)s/)?([^/]+/[^/]+)\.git/info/lfs/objects/batch", path):
            self._need_token()
            self._batch(self._repo(found[1] or "model", found[2]), said)
        elif found := re.fullmatch(r"/api/(model|dataset|space)s/([^/]+/[^/]+)(?:/([a-z-]+)/([^/]+)(?:/(.*))?)?", path):
            repo = self._repo(found[1], found[2])
            self._api(repo, found[3] or "revision", found[4] or "main", found[5] or "", said or body)
        elif found := re.fullmatch(r"/(?:(dataset|space)s/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            self._resolve(self._repo(found[1] or "model", found[2]), found[3], found[4])
        else:
            raise _Refusal(404, f"Nothing at {path}")

    # Who asks

    @property
    def _known(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def _need_token(self) -> None:
        if not self._known:
            raise _Refusal(401, "Invalid credentials in Authorization header")

    def _repo(self, type: str, id: str) -> Repo:
        if self.headers.get("Authorization") and not self._known:
            raise _Refusal(401, "Invalid credentials in Authorization header")
        repo = self.hub.repos.get((type, id))
        if repo is None or (repo.private and not self._known):
            raise _Refusal(404 if self._known else 401, _NOT_FOUND, "RepoNotFound")
        return repo

    # What it asks

    def _create(self, said: dict[str, Any]) -> None:
        self._need_token()
        namespace = said.get("organization") or USER
        if namespace not in (USER, *ORGS):
            raise _Refusal(403, f'You don\'t have the rights to create a repository under the namespace "{namespace}"')
        type, id = said.get("type", "model"), f"{namespace}/{said['name']}"
        url = f"{self.hub.url}/{'' if type == 'model' else type + 's/'}{id}"
        if (type, id) in self.hub.repos:
            raise _Refusal(409, "You already created this repository", body={"error": "exists", "url": url})
        if type == "space" and said.get("sdk") not in ("gradio", "docker", "static"):
            raise _Refusal(400, "A Space needs an sdk")
        private = said.get("visibility") == "private" or said.get("private", False)
        self.hub.create(type, id, private=private, sdk=said.get("sdk"))
        self._json({"url": url, "id": id})

    def _validate(self, said: dict[str, Any]) -> None:
        data, errors = card_data(said["content"]), []
        if said["repoType"] == "space":
            if data.get("sdk") not in ("gradio", "docker", "static"):
                errors.append('"sdk" must be one of gradio, docker, static')
            colours = ("red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray")
            errors += [
                f'"{key}" is no colour' for key in ("colorFrom", "colorTo") if data.get(key, "red") not in colours
            ]
            if len(data.get("short_description", "")) > 60:
                errors.append('"short_description" is longer than 60 characters')
        if not isinstance(data.get("tags", []), list):
            errors.append('"tags" must be an array')
        body = {"errors": [{"message": error} for error in errors], "warnings": []}
        if errors:
            raise _Refusal(400, "Invalid metadata", body=body)
        self._json(body)

    def _batch(self, repo: Repo, said: dict[str, Any]) -> None:
        objects = []
        for one in said["objects"]:
            found: dict[str, Any] = {"oid": one["oid"], "size": one["size"]}
            if one["oid"] not in self.hub.objects:
                found["actions"] = {"upload": {"href": f"{self.hub.url}/objects/{one['oid']}"}}
            objects.append(found)
        self._json({"transfer": "basic", "objects": objects})

    def _api(self, repo: Repo, verb: str, revision: str, path: str, said: Any) -> None:
        commit = repo.at(revision)
        if commit is None:
            raise _Refusal(404, "Invalid rev id", "RevisionNotFound")
        if verb in ("preupload", "commit"):
            self._need_token()
        if verb == "revision":
            self._json({
                "id": repo.id, "_id": repo.id, "sha": commit.oid, "private": repo.private, "sdk": repo.sdk,
                "cardData": repo.card, "tags": repo.card.get("tags", []),
                "siblings": [{"rfilename": name} for name in commit.files]
            })  # fmt: skip
        elif verb == "tree":
            self._json(list(_tree(commit, path, recursive=True)))
        elif verb == "paths-info":
            wanted = [name.strip("/") for name in said["paths"]]
            self._json([entry for entry in _tree(commit, "", recursive=True) if entry["path"] in wanted])
        elif verb == "preupload":
            self._json({"files": [_mode(commit, file) for file in said["files"]]})
        elif verb == "commit":
            self._commit(repo, said)
        else:
            raise _Refusal(404, f"No {verb} here")

    def _commit(self, repo: Repo, body: bytes) -> None:
        lines = [json.loads(line) for line in body.decode().splitlines()]
        header = next(line["value"] for line in lines if line["key"] == "header")
        if header.get("parentCommit", repo.commits[-1].oid) != repo.commits[-1].oid:
            raise _Refusal(412, "A commit has happened since")
        files = dict(repo.files)
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = Blob(base64.b64decode(value["content"]))
            elif line["key"] == "lfsFile":
                if value["oid"] not in self.hub.objects:
                    raise _Refusal(422, f"{value['path']} was not uploaded")
                files[value["path"]] = Blob(self.hub.objects[value["oid"]], lfs=True)
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        commit = repo.add(files, header["summary"], header["description"])
        kind = "" if repo.type == "model" else f"{repo.type}s/"
        url = f"{self.hub.url}/{kind}{repo.id}/commit/{commit.oid}"
        self._json({"success": True, "commitUrl": url, "commitOid": commit.oid})

    def _resolve(self, repo: Repo, revision: str, path: str) -> None:
        commit = repo.at(revision)
        if commit is None:
            raise _Refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        if path not in commit.files:
            raise _Refusal(404, "Entry not found", "EntryNotFound")
        blob = commit.files[path]
        headers = {"ETag": f'"{blob.etag}"', "X-Repo-Commit": commit.oid, "Accept-Ranges": "bytes"}
        if blob.lfs:
            headers |= {"X-Linked-ETag": f'"{blob.etag}"', "X-Linked-Size": str(len(blob.data))}
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not found:
            self._answer(200, blob.data, headers)
            return
        start, end = int(found[1]), min(int(found[2] or len(blob.data) - 1), len(blob.data) - 1)
        headers["Content-Range"] = f"bytes {start}-{end}/{len(blob.data)}"
        self._answer(206, blob.data[start : end + 1], headers)

    # The answer

    def _json(self, value: Any) -> None:
        self._answer(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _mode(commit: Commit, file: dict[str, Any]) -> dict[str, Any]:
    lfs = file["path"].endswith(".parquet") or file["size"] > 10_000_000
    said = {"path": file["path"], "uploadMode": "lfs" if lfs else "regular", "shouldIgnore": False}
    there = commit.files.get(file["path"])
    return said if there is None else said | {"oid": there.etag}


def _tree(commit: Commit, path: str, *, recursive: bool) -> Iterator[dict[str, Any]]:
    folders = set()
    below = f"{path.strip('/')}/" if path.strip("/") else ""
    for name, blob in sorted(commit.files.items()):
        if not name.startswith(below):
            continue
        parents = name.split("/")[:-1]
        for i in range(1, len(parents) + 1):
            folder = "/".join(parents[:i])
            if folder.startswith(below) and folder not in folders:
                folders.add(folder)
                yield {"type": "directory", "path": folder, "oid": hashlib.sha1(folder.encode()).hexdigest(), "size": 0}
        entry = {"type": "file", "path": name, "size": len(blob.data), "oid": blob.oid}
        if blob.lfs:
            entry["lfs"] = {"oid": blob.sha256, "size": len(blob.data), "pointerSize": len(_pointer(blob))}
        yield entry
