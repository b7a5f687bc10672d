"""The endpoint client: what is waited out and what is refused, what is read of answers, keys that stay secret."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import pickle
import random
import ssl
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timezone

import pytest
from helpers.faulty_server import KEY, FaultyServer, ToyBrain, at_random, first

from paraconsist.errors import InputError
from paraconsist.models.endpoint.client import (
    EndpointClient,
    Key,
    _certificates,
    _proxy,
    backoff,
    find_key,
    retry_after,
)
from paraconsist.models.endpoint.protocol import Answered, GaveUp, TokenUse, text_of
from paraconsist.models.endpoint.queue import Journal
from paraconsist.models.endpoint.settings import EndpointSettings, read_request_fields


def settings_of(server: FaultyServer, **options) -> EndpointSettings:
    return EndpointSettings(server.url, **{"timeout": 5.0, **options})


def post(settings: EndpointSettings, key: Key | None = None, n: int = 1, body=None, **options):
    """Send `n` requests at once; return the client and the texts."""
    body = {"model": "toy", "prompt": "Premise: x. Answer:", "max_tokens": 1} if body is None else body

    async def work():
        async with EndpointClient(settings, key, seed=0) as client:
            asked = (
                client.post(settings.path, body, text_of, about=f"input {i}", tag=f"{i}:text", **options)
                for i in range(n)
            )
            return client, await asyncio.gather(*asked)

    return asyncio.run(work())


# what is waited out


def test_backoff_doubles_up_to_a_minute_and_is_spread():
    rng = random.Random(0)
    for failures, longest in ((1, 0.5), (2, 1), (3, 2), (5, 8), (7, 32), (8, 60), (30, 60)):
        waits = [backoff(failures, rng) for _ in range(200)]
        assert longest / 2 <= min(waits) < 0.6 * longest
        assert 0.9 * longest < max(waits) <= longest


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Fri, 02 Jan 2026 03:04:35 GMT"}, 30.0),
        ({"retry-after": "Fri, 02 Jan 2026 03:00:00 GMT"}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_date(headers, seconds):
    assert retry_after(headers, datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)) == seconds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "kind"),
    [("429", "429"), ("500", "500"), ("503:0", "503"), ("cut", "connection"), ("malformed", "malformed")],
)
def test_a_fault_is_waited_out(fault, kind):
    with FaultyServer(script=first(fault)) as server:
        client, texts = post(settings_of(server))
        assert dict(+client.retries) == {kind: 1}
        assert texts == [ToyBrain().write("Premise: x. Answer:", 1)]
        assert server.sent() == ["0:text", "0:text"]


@pytest.mark.slow
def test_a_request_that_hangs_is_sent_again():
    with FaultyServer(script=first("hang")) as server:
        client, texts = post(settings_of(server, timeout=2.0))
        assert len(texts) == 1
        assert dict(+client.retries) == {"timeout": 1}


@pytest.mark.slow
def test_retry_after_holds_all_requests_back():
    with FaultyServer(script=first("429:1.2")) as server:
        post(settings_of(server, concurrency=1), n=3)
        times = [request.at for request in server.received]
        assert len(times) == 4
        assert min(times[1:]) - times[0] >= 1.2


@pytest.mark.slow
def test_refusals_for_the_rate_do_not_count_as_tries():
    with FaultyServer(script=first(*["429:0"] * 5)) as server:
        client, _ = post(settings_of(server, tries=2))
        assert client.retries["429"] == 5


@pytest.mark.slow
def test_no_more_requests_at_a_time_than_allowed():
    with FaultyServer(delay=0.02) as server:
        post(settings_of(server, concurrency=3), n=20)
        assert 2 <= server.most_at_once <= 3


@pytest.mark.slow
def test_many_faults_lose_nothing():
    with FaultyServer(script=at_random(1, 0.4)) as server:
        client, texts = post(settings_of(server), n=40)
        assert len(texts) == 40
        assert sorted(server.answered()) == sorted(f"{i}:text" for i in range(40))
        assert sum(client.retries.values()) == len(server.received) - 40


# several servers


@pytest.mark.slow
def test_several_servers_share_the_requests_out_and_answer_each_once():
    with FaultyServer(script=at_random(1, 0.4), delay=0.01) as one, FaultyServer(script=at_random(2, 0.4)) as two:
        _, texts = post(EndpointSettings([one.url, two.url], timeout=5.0, concurrency=8), n=60)
        assert sorted([*one.answered(), *two.answered()]) == sorted(f"{i}:text" for i in range(60))
        assert min(len(one.answered()), len(two.answered())) > 5
    assert len(texts) == 60


@pytest.mark.slow
def test_the_slower_server_gets_fewer():
    with FaultyServer(delay=0.2) as slow, FaultyServer(delay=0.02) as fast:
        post(EndpointSettings([slow.url, fast.url], timeout=5.0, concurrency=4), n=40)
        assert 0 < len(slow.answered()) < len(fast.answered()) / 2
        assert slow.most_at_once <= 3


@pytest.mark.slow
def test_a_server_that_fails_is_set_aside_and_tried_again():
    with FaultyServer(script=first("503", "503"), delay=0.02) as one, FaultyServer(delay=0.05) as two:
        client, texts = post(EndpointSettings([one.url, two.url], timeout=5.0, concurrency=4), n=100)
        assert client.retries["503"] == 2
        received = [request.at for request in one.received if request.outcome == "503"]
        again = min(request.at for request in one.received if request.outcome == "answered")
        assert again - received[0] > 0.2  # half of the first wait is .25 s
        assert len(two.answered()) > 20
    assert len(texts) == 100


@pytest.mark.slow
def test_a_server_that_is_gone_is_done_without():
    with FaultyServer() as gone:
        url = gone.url
    with FaultyServer() as server:
        client, texts = post(EndpointSettings([url, server.url], timeout=5.0), n=40)
        assert len(server.answered()) == len(texts) == 40
        assert set(+client.retries) == {"unreachable"}
    with pytest.raises(InputError, match="must be an address that can be reached"):
        post(EndpointSettings([url, server.url], tries=2), n=20)
    with FaultyServer(script=lambda *_: "503") as one, FaultyServer(script=lambda *_: "503") as two:
        with pytest.raises(InputError, match="the endpoint gave no answer to input") as raised:
            post(EndpointSettings([one.url, two.url], tries=2), n=20)
        assert not isinstance(raised.value, GaveUp)  # which would be held against the input


# what is refused, in one line, without the key


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("500", r"the endpoint gave no answer to input 0, asked 2 times; the last time: 500: an error of the script's"),
        ("cut", r"the endpoint gave no answer to input 0, asked 2 times; the last time: the connection was cut"),
        ("malformed", r"asked 2 times; the last time: an answer that cannot be read"),
        (
            "html",
            r"`endpoint` must be the address of an OpenAI-compatible API; .*It answers with a web page \(text/html\)",
        ),
        ("302", r"`endpoint` must be the address itself; .* sends elsewhere \(302\)"),
        ("401", r"`api_key_variable` must name the environment variable of a key that the endpoint takes"),
        ("403", r"answered 403. Look at what the environment variable MY_KEY holds"),
        ("429:900", r"the endpoint asks to wait 900 seconds"),
    ],
)
def test_what_cannot_be_waited_out_is_one_line_without_the_key(fault, message):
    with FaultyServer(script=lambda number, tag: fault) as server:
        settings = settings_of(server, tries=2, key_variable="MY_KEY")
        with pytest.raises(InputError, match=message) as raised:
            post(settings, Key(KEY))
    said = str(raised.value)
    assert KEY not in said
    assert KEY[3:20] not in said
    assert "\n" not in said


@pytest.mark.slow
def test_a_rate_that_never_allows_anything_ends():
    with (
        FaultyServer(script=lambda number, tag: "429:0") as server,
        pytest.raises(InputError, match=r"refused input 0 for the rate of requests.*lower `concurrency`"),
    ):
        post(settings_of(server, patience=0.3))


@pytest.mark.slow
def test_an_account_without_quota_is_not_asked_again():
    with FaultyServer(script=lambda number, tag: "quota") as server:
        with pytest.raises(InputError, match="the account's quota is used up"):
            post(settings_of(server))
        assert len(server.received) == 1


@pytest.mark.slow
def test_an_unreachable_host():
    with FaultyServer() as server:
        url = server.url
    with pytest.raises(InputError, match=r"`endpoint` must be an address that can be reached; got 'http://127.0.0.1"):
        post(EndpointSettings(url), connects=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"urls": "localhost:8000/v1"}, "`endpoint` must be an address with http:// or https://"),
        ({"urls": "http://h:8000/v1/chat/completions"}, "`endpoint` must be the address of the API, not of one of its"),
        ({"urls": f"http://me:{KEY}@h/v1"}, "`endpoint` must be an address without user name, password and query"),
        ({"urls": f"http://h/v1?key={KEY}"}, "`endpoint` must be an address without user name, password and query"),
        ({"urls": "http://h:port/v1"}, "`endpoint` must be an address that can be read"),
        ({"urls": ["http://h/v1", "http://h/v1/"]}, "`endpoint` must be one address or several, each once"),
        ({"api": "responses"}, "`api` must be one of completions, chat; got 'responses'"),
        ({"concurrency": 0}, "`concurrency` must be .* at least 1; got 0"),
        ({"timeout": math.nan}, "`timeout` must be a number of seconds above 0"),
        ({"price_input": -1.0, "price_output": 1.0}, "`price_input` must be 0 or more"),
        ({"price_input": 1.0}, "`price_output` must be given with `price_input`"),
    ],
)
def test_settings_that_cannot_be(options, message):
    with pytest.raises(InputError, match=message) as raised:
        EndpointSettings(**{"urls": "http://h/v1", **options})
    assert KEY not in str(raised.value)


@pytest.mark.parametrize("given", ["temperature", "=1", "model=x", "echo=true"])
def test_request_fields_that_cannot_be(given):
    with pytest.raises(InputError, match="`request_field` must be"):
        read_request_fields([given])


# what the environment says


@pytest.mark.slow
def test_a_proxy_of_the_environment_is_used_and_netrc_is_not(monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine endpoint.example login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with FaultyServer() as server:
        monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1").replace("//", "//ada:word@"))
        _, texts = post(EndpointSettings("http://endpoint.example/v1"))
        assert [request.path for request in server.received] == ["http://endpoint.example/v1/completions"]
        assert server.received[0].authorization is None
        post(settings_of(server))  # this machine is asked without one
        assert server.received[1].path == "/v1/completions"
    assert len(texts) == 1


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"https_proxy": "http://p:1"}, "http://p:1"),
        ({"all_proxy": "p:1"}, "http://p:1"),
        ({"http_proxy": "http://p:1"}, None),
        ({"https_proxy": "http://p:1", "no_proxy": "other.example, endpoint.example"}, None),
    ],
)
def test_which_proxy(monkeypatch, environment, expected):
    for name, value in {"no_proxy": "", **environment}.items():
        monkeypatch.setenv(name, value)
    assert _proxy(EndpointSettings("https://endpoint.example/v1")) == expected


def test_a_proxy_that_is_none_of_http(monkeypatch):
    monkeypatch.setenv("all_proxy", "socks5://ada:word@p:1")
    with pytest.raises(InputError, match="proxy is none of HTTP") as raised:
        post(EndpointSettings("https://endpoint.example/v1"))
    assert "word" not in str(raised.value)


def test_authorities_of_the_environment_are_trusted(monkeypatch, tmp_path):
    usual = len(_certificates().get_ca_certs())
    assert usual > 20
    one = tmp_path / "one.pem"
    one.write_text(ssl.DER_cert_to_PEM_cert(_certificates().get_ca_certs(binary_form=True)[0]))
    monkeypatch.setenv("SSL_CERT_FILE", str(one))
    assert len(_certificates().get_ca_certs()) == 1
    monkeypatch.delenv("SSL_CERT_FILE")
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    assert not _certificates().get_ca_certs()


# keys


def test_the_key_is_read_from_the_named_variable_only(monkeypatch):
    monkeypatch.setenv("MY_KEY", f" {KEY}\n")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another")
    found = find_key(EndpointSettings("https://h.example/v1", key_variable="MY_KEY"))
    assert found.headers == {"Authorization": f"Bearer {KEY}"}
    assert find_key(EndpointSettings("https://h.example/v1")) is None  # the default key goes to its own host only
    assert find_key(EndpointSettings(["https://api.openai.com/v1", "https://h.example/v1"])) is None
    assert find_key(EndpointSettings("https://api.openai.com/v1")).headers["Authorization"] == "Bearer sk-another"


def test_a_key_given_in_place_of_its_variable_is_not_repeated(monkeypatch):
    with pytest.raises(InputError, match="Give the variable's name, not the key itself") as raised:
        find_key(EndpointSettings("https://h/v1", key_variable=KEY))
    assert KEY not in str(raised.value)


def test_a_key_over_http_is_warned_of(monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    with pytest.warns(UserWarning, match="the key for h.example goes over http, unencrypted"):
        find_key(EndpointSettings("http://h.example/v1", key_variable="MY_KEY"))
    find_key(EndpointSettings("http://localhost:8000/v1", key_variable="MY_KEY"))


def test_a_key_hides():
    key = Key(KEY)
    assert KEY not in repr(key) + str(key) + f"{key}"
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(key)
    for quoted in (KEY, f"'{KEY}',", f"{KEY[:8]}...{KEY[-4:]}", f"{KEY[:5]}{'*' * 20}{KEY[-4:]}.", KEY[4:20]):
        assert key.hide(f"wrong key {quoted} given").replace("***", "") != f"wrong key {quoted} given"
        assert KEY[-4:] not in key.hide(f"wrong key {quoted} given")
    assert key.hide("a plain message, no key in it") == "a plain message, no key in it"


@pytest.mark.slow
def test_asking_an_endpoint_needs_neither_torch_nor_transformers():
    code = "import paraconsist.running.endpoint, sys; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"torch", "transformers", "accelerate", "datasets", "evaluate", "aiohttp"}


# texts


@pytest.mark.slow
def test_texts_of_an_endpoint(tmp_path):
    from paraconsist.models.endpoint.queue import write_texts
    from paraconsist.models.generation import GenerationSettings

    sampling = GenerationSettings(n=2, temperature=0.7, max_new_tokens=2, seed=5)
    prompts = ["Rephrase: it rains.", "Rephrase: it snows."]
    with FaultyServer(script=first("500", "cut")) as server, Journal(tmp_path) as journal:
        settings = settings_of(server)
        found = write_texts(settings, "toy", prompts, sampling, journal=journal)
        bodies = {r.tag: r.body for r in server.received}
        assert sorted(a.value for a in journal.answers.values()) == sorted(text for texts in found for text in texts)
        n_sent = len(server.received)
        further = write_texts(settings, "toy", prompts[1:], replace(sampling, n=3), journal=journal)
        assert [r.body["seed"] for r in server.received[n_sent:]] == [7]  # the others were answered
        assert further[0][:2] == found[1]
    assert found == [[ToyBrain().write(f"Rephrase: it {what}.", 2)] * 2 for what in ("rains", "snows")]
    assert {tag: body["seed"] for tag, body in bodies.items()} == {"0:0": 5, "0:1": 6, "1:0": 5, "1:1": 6}
    assert bodies["0:0"]["temperature"] == 0.7
    earlier = {"model": "toy", "max_tokens": 40, "prompt": "x", "temperature": 0}  # a name that had the address in it
    with FaultyServer() as server, Journal(tmp_path) as journal:
        settings = settings_of(server)
        name = hashlib.sha256(json.dumps({"url": server.url, **earlier}, sort_keys=True).encode()).hexdigest()
        journal.add(Answered(name, "seed None", "as before", TokenUse(1, 1), "toy"))
        assert write_texts(settings, "toy", ["x"], GenerationSettings(), journal=journal) == [["as before"]]
    with pytest.raises(InputError, match="`num_beams` must be 1 for an endpoint"):
        write_texts(settings, "toy", ["x"], GenerationSettings(num_beams=4))
    with pytest.raises(InputError, match="`temperature` must be given where several texts are wanted"):
        write_texts(settings, "toy", ["x"], GenerationSettings(n=2))
    with (
        FaultyServer() as server,
        pytest.raises(InputError, match="must be a model that the endpoint serves; got 'gpt'"),
    ):
        write_texts(settings_of(server), "gpt", ["x"] * 20, GenerationSettings())
