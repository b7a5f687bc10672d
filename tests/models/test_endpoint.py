"""The endpoint client: what is waited out and what is refused, what is read of answers, keys that stay secret."""

from __future__ import annotations

import asyncio
import json
import math
import pickle
import random
import re
import ssl
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from types import SimpleNamespace

import pytest
from helpers.errors import refuses
from helpers.faulty_server import KEY, FaultyServer, ToyBrain, at_random, first

from paraconsist.data.prompts import Prompt, PromptTemplate, WrittenAnswer, templates
from paraconsist.errors import InputError
from paraconsist.models.endpoint.client import (
    EndpointClient,
    Key,
    Meter,
    _certificates,
    _proxy,
    backoff,
    find_key,
    retry_after,
)
from paraconsist.models.endpoint.label_scoring import (
    Method,
    find_method,
    method_key,
    part_request,
    result_of,
    wanted_parts,
)
from paraconsist.models.endpoint.protocol import (
    Answered,
    GaveUp,
    Interrupted,
    Malformed,
    Question,
    Refused,
    TokenUse,
    Wishes,
    as_label,
    echoed_label,
    failure_of,
    first_token,
    message_of,
    read_answer,
    refusal,
    request_body,
    text_of,
    tokens_used,
)
from paraconsist.models.endpoint.queue import Journal, add_up
from paraconsist.models.endpoint.settings import EndpointPrompt, EndpointSettings, PromptSettings, read_fields
from paraconsist.running.endpoint import identity_of


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


def test_which_statuses_are_waited_out():
    """Time-outs, conflicts, limits and faults of servers and of what is before them; nothing that is not offered."""
    asked = EndpointClient(EndpointSettings("http://h/v1"), None)
    kinds = {}
    for status in range(400, 600):
        response = SimpleNamespace(status=status, headers={})
        try:
            asked._judge("http://h/v1", None, response, b"{}", text_of)
        except Exception as problem:
            kinds.setdefault(type(problem).__name__, []).append(status)
    again = [408, 409, 425, 429, 500, 502, 503, 504, *range(520, 525), 529]
    assert kinds["_Again"] == again
    assert kinds["InputError"] == [401, 403]
    assert kinds["Refused"] == sorted({*range(400, 600)} - {*again, 401, 403})


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
    refuses("must be an address that can be reached", post, EndpointSettings([url, server.url], tries=2), n=20)
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
        ("html", r"`endpoint` must be the address of an .*API; .*It answers with a web page \(text/html\)"),
        ("302", r"`endpoint` must be the address itself; .*It redirects \(302\)"),
        ("401", r"`api_key_variable` must name the environment variable of a key that the endpoint takes"),
        ("403", r"answered 403. Look at what the environment variable MY_KEY holds"),
        ("429:900", r"the endpoint asks to wait 900 seconds"),
    ],
)
def test_what_cannot_be_waited_out_is_one_line_without_the_key(fault, message):
    with FaultyServer(script=lambda number, tag: fault) as server:
        settings = settings_of(server, tries=2, api_key_variable="MY_KEY")
        with pytest.raises(InputError, match=message) as raised:
            post(settings, Key(KEY))
    said = str(raised.value)
    assert KEY not in said
    assert KEY[3:20] not in said
    assert "\n" not in said
    assert ".." not in said


@pytest.mark.slow
def test_a_rate_that_never_allows_anything_ends(monkeypatch):
    """Up to ten minutes it waited without a word."""
    monkeypatch.setattr("paraconsist.models.endpoint.client._SILENCE", 0.1)
    with (
        pytest.warns(UserWarning, match=r"no request was answered for 0 seconds .*429: .*\); they are sent again"),
        FaultyServer(script=lambda number, tag: "429:0") as server,
        pytest.raises(InputError, match=r"refused input 0 because of the rate limit.*lower `concurrency`"),
    ):
        post(settings_of(server, patience=0.3))


@pytest.mark.slow
def test_an_account_without_quota_is_not_asked_again():
    with FaultyServer(script=lambda number, tag: "quota") as server:
        refuses("the account's quota is used up", post, settings_of(server))
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
        ({"urls": f"http://h/v1?api-version=1&key={KEY}"}, "Azure's address that ends in /openai/v1 takes no api-v"),
        ({"urls": "http://h:port/v1"}, "`endpoint` must be an address that can be read"),
        ({"urls": ["http://h/v1", "http://h/v1/"]}, "`endpoint` must be one address or several, each once"),
        ({"api": "responses"}, "`api` must be one of completions, chat; got 'responses'"),
        ({"concurrency": 0}, "`concurrency` must be .* at least 1; got 0"),
        ({"timeout": math.nan}, "`timeout` must be a number of seconds above 0"),
        ({"price": (-1.0, 1.0)}, "`price` must be two numbers, 0 or more"),
        ({"max_cost": 1.0}, "`price` must be given where `max_cost` is"),
        ({"tokens_per_minute": 0.0}, "`tokens_per_minute` must be a number above 0"),
    ],
)
def test_settings_that_cannot_be(options, message):
    with pytest.raises(InputError, match=message) as raised:
        EndpointSettings(**{"urls": "http://h/v1", **options})
    assert KEY not in str(raised.value)


@pytest.mark.parametrize("given", ["temperature", "=1", "model=x", "echo=true"])
def test_request_fields_that_cannot_be(given):
    refuses("`request_field` must be", read_fields, [given])


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
    with pytest.raises(InputError, match="proxy is not an HTTP proxy") as raised:
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
    found = find_key(EndpointSettings("https://h.example/v1", api_key_variable="MY_KEY"))
    assert found.headers == {"Authorization": f"Bearer {KEY}"}
    assert find_key(EndpointSettings("https://h.example/v1")) is None  # the default key goes to its own host only
    assert find_key(EndpointSettings(["https://api.openai.com/v1", "https://h.example/v1"])) is None
    assert find_key(EndpointSettings("https://api.openai.com/v1")).headers["Authorization"] == "Bearer sk-another"


def test_a_key_given_in_place_of_its_variable_is_not_repeated(monkeypatch):
    with pytest.raises(InputError, match="Give the variable's name, not the key itself") as raised:
        find_key(EndpointSettings("https://h/v1", api_key_variable=KEY))
    assert KEY not in str(raised.value)


@pytest.mark.parametrize("secret", ["sk-one two", "sk-one\ttwo", "sk-one\x07two", "sk-\u00e9"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(monkeypatch, secret):
    monkeypatch.setenv("MY_KEY", secret)
    with pytest.raises(InputError, match="name a variable that holds a key: ASCII characters, no white") as raised:
        find_key(EndpointSettings("https://h.example/v1", api_key_variable="MY_KEY"))
    assert "sk-" not in str(raised.value)


def test_a_key_over_http_is_warned_of(monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    with pytest.warns(UserWarning, match="the key for h.example goes over http, unencrypted"):
        find_key(EndpointSettings("http://h.example/v1", api_key_variable="MY_KEY"))
    find_key(EndpointSettings("http://localhost:8000/v1", api_key_variable="MY_KEY"))


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
    from paraconsist.models.prompted import GenerationSettings

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
    with pytest.raises(InputError, match="`num_beams` must be 1 for an endpoint"):
        write_texts(settings, "toy", ["x"], GenerationSettings(num_beams=4))
    with pytest.raises(InputError, match="`temperature` must be given where several texts are wanted"):
        write_texts(settings, "toy", ["x"], GenerationSettings(n=2))
    with (
        FaultyServer() as server,
        pytest.raises(InputError, match="must be a model that the endpoint serves; got 'gpt'"),
    ):
        write_texts(settings_of(server), "gpt", ["x"] * 20, GenerationSettings())


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("seed", [None, 3])
def test_texts_that_are_drawn_without_a_seed_of_their_own_are_told_apart(tmp_path, seed):
    """Of what was paid only the first came back: a call that went on had it n times, and a further one got no other."""
    from paraconsist.models.endpoint.queue import write_texts
    from paraconsist.models.prompted import GenerationSettings

    texts, sampling = iter("abcdef"), GenerationSettings(n=3, temperature=0.7)
    with FaultyServer(write=lambda text, body: next(texts)) as server, Journal(tmp_path) as journal:
        settings = settings_of(server, request_fields={"seed": seed})
        ask = partial(write_texts, settings, "toy", ["Rephrase: it rains."], journal=journal)
        found = ask(sampling)
        assert sorted(found[0]) == [*"abc"]
        assert ask(sampling) == found
        assert sorted(ask(replace(sampling, seed=3))[0]) == [*"def"]
        assert len(server.received) == 6
        assert {request.body.get("seed") for request in server.received} == {seed}


# ---------- What is read of an endpoint's answers, what it offers, and what becomes of both

DELTA = Prompt(templates()["s24-delta"])
LONG = Prompt(
    PromptTemplate("long", "nli", "{premise} {hypothesis}?", {"entailment": "entailed", "neutral": "undecided"})
)


def method_of(server: FaultyServer, asking: EndpointPrompt, **options) -> Method:
    settings = settings_of(server, **options)

    async def work():
        async with EndpointClient(settings, None) as client:
            return await find_method(client, asking)

    return asyncio.run(work())


# what is read of answers


def completion(tokens, values, text, *, written=1):
    usage = {"prompt_tokens": len(tokens) - written, "completion_tokens": written}
    said = {"tokens": tokens, "token_logprobs": values, "top_logprobs": [None] * len(tokens)}
    return {"choices": [{"text": text, "logprobs": said}], "usage": usage}


@pytest.mark.parametrize(
    ("tokens", "values", "text", "answer", "expected"),
    [
        # as it stands in the protocol: the prompt, the label, one written token
        (["A", ":", " yes", " so"], [None, -1, -2, -3], "A: yes so", " yes", (-2, 1, -2)),
        # a beginning-of-text token that the text does not have
        (["<s>", "A", ":", " yes", " so"], [None, -9, -1, -2, -3], "A: yes so", " yes", (-2, 1, -2)),
        # a label of two tokens, and one that is written behind it that is the same word
        (["A", ":", " y", "es", " yes"], [None, -1, -2, -4, -8], "A: yes yes", " yes", (-6, 2, -2)),
        # the text ended: the written token has no text
        (["A", ":", " yes", "</s>"], [None, -1, -2, -3], "A: yes", " yes", (-2, 1, -2)),
        (["A", ":", " yes", ""], [None, -1, -2, -3], "A: yes", " yes", (-2, 1, -2)),
        # nothing was written
        (["A", ":", " yes"], [None, -1, -2], "A: yes", " yes", (-2, 1, -2)),
        # tokens as they stand in the vocabulary
        (["<s>", "\u2581A", ":", "\u2581yes", "\u2581so"], [None, -1, -1, -2, -3], "A: yes so", " yes", (-2, 1, -2)),
        (["A", ":", "\u0120yes", "\u0120so"], [None, -1, -2, -3], "A: yes so", " yes", (-2, 1, -2)),
        # a space as a token of its own is the answer's
        (["A", ":", " ", "yes", " so"], [None, -1, -2, -4, -8], "A: yes so", " yes", (-6, 2, -2)),
        # a token that joins the prompt's end and the label
        (["A", ": yes", " so"], [None, -2, -3], "A: yes so", " yes", (-2, 1, -2)),
        # a label of two words
        (["A", ":", " not", " so", " W"], [None, -1, -2, -4, -8], "A: not so W", " not so", (-6, 2, -2)),
    ],
)
def test_a_label_behind_a_prompt(tokens, values, text, answer, expected):
    assert tuple(echoed_label(completion(tokens, values, text), "A:", answer)) == expected


@pytest.mark.parametrize(
    ("tokens", "values", "text"),
    [
        ([" so"], [-3], " so"),  # nothing is echoed
        (["A", ":", " no", " so"], [None, -1, -2, -3], "A: no so"),  # something else is
        (["A", ":", " yes", " so"], [None, -1, None, -3], "A: yes so"),
        (["A", ":", " yes", " so"], [None, -1, 0.7, -3], "A: yes so"),  # no log-probability
        (["A", ":", " yes"], [None, -1], "A: yes"),
    ],
)
def test_a_label_that_is_not_there(tokens, values, text):
    assert echoed_label(completion(tokens, values, text), "A:", " yes") is None
    assert echoed_label({"choices": [{"text": text, "logprobs": None}]}, "A:", " yes") is None


def test_the_first_token_in_both_forms():
    older = {"choices": [{"text": " a", "logprobs": {"top_logprobs": [{"\u0120a": -0.5, " b": -1, "c": -9999.0}]}}]}
    newer = {
        "choices": [
            {
                "message": {"content": "a"},
                "logprobs": {"content": [{"token": " a", "top_logprobs": [{"token": " a", "logprob": -0.5}]}]},
            }
        ]
    }
    assert first_token(older) == {" a": -0.5, " b": -1.0}
    assert first_token(newer) == {" a": -0.5}
    assert first_token({"choices": [{"text": "a"}]}) is None
    assert first_token({"choices": [{"text": "a", "logprobs": {"content": []}}]}) is None


@pytest.mark.slow
def test_labels_among_first_tokens():
    found = {" yes": -1.0, "yes": -0.1, "Yes": -2.0, " no": -3.0, "note": -0.5}
    assert as_label(found, [" yes", " no", " maybe"], chat=False) == [-1.0, -3.0, None]
    assert as_label({"yes": -1.0}, [" yes"], chat=False) == [-1.0]  # a server that cuts the space off
    spread = math.log(math.exp(-1) + math.exp(-0.1) + math.exp(-2))
    assert as_label(found, ["yes", "no", "maybe"], chat=True) == [pytest.approx(spread), -3.0, None]


def test_texts_and_tokens():
    assert text_of({"choices": [{"message": {"content": None}}]}) == ""
    assert text_of({"choices": [{"message": {"content": [{"type": "text", "text": "yes"}]}}]}) == "yes"
    assert tokens_used({"usage": {"prompt_tokens": 3, "completion_tokens": 1}}) == (3, 1)
    assert tokens_used({"usage": None}) == tokens_used({}) == (None, None)


# how labels are taken


@pytest.mark.slow
@pytest.mark.parametrize(
    ("server", "api", "expected"),
    [
        ({}, "completions", Method("label", 20, True)),
        ({"echo": False}, "completions", Method("label", 20)),
        ({"most_top": 5}, "completions", Method("label", 5, True)),
        ({"chat_style": True}, "completions", Method("label", 20)),
        ({}, "chat", Method("label", 20)),
        ({"most_top": 5}, "chat", Method("label", 5)),
        ({"log_probabilities": False}, "completions", Method("generate")),
        ({"log_probabilities": False}, "chat", Method("generate")),
        ({"system": False}, "chat", Method("label", 20, wishes=Wishes(merge_system=True))),
        (
            {"length_field": "max_completion_tokens"},
            "chat",
            Method("label", 20, wishes=Wishes("max_completion_tokens")),
        ),
    ],
)
def test_what_an_endpoint_offers_is_found_out(server, api, expected):
    with FaultyServer(**server) as running:
        assert method_of(running, EndpointPrompt("toy", DELTA), api=api) == expected
        assert {request.tag for request in running.received} == {"probe"}
        assert Method.from_dict(expected.to_dict()) == expected


@pytest.mark.slow
def test_labels_of_several_tokens_are_read_behind_the_prompt():
    with FaultyServer() as server:
        assert method_of(server, EndpointPrompt("toy", LONG)) == Method("label", 0, True)


@pytest.mark.slow
@pytest.mark.parametrize("prompt", [DELTA, LONG])
def test_echoed_values_that_are_those_of_other_tokens_are_not_used(prompt):
    said = r"log-probabilities of a prompt \(echo\) are not those"
    with FaultyServer(shifted=True) as server, pytest.warns(UserWarning, match=said):
        assert method_of(server, EndpointPrompt("toy", prompt)) == Method("label", 20)


@pytest.mark.parametrize(
    ("prompt", "options", "n_tokens"),
    [(DELTA, {}, 2), (DELTA, {"off": -1.0}, 0), (DELTA, {"scores": False}, 0), (LONG, {}, 0)],
)
def test_single_tokens_are_scored_where_sglang_offers_it_and_agrees(prompt, options, n_tokens):
    with FaultyServer(**{"scores": True, "facts": {"owned_by": "sglang"}, **options}) as server:
        method = method_of(server, EndpointPrompt("toy", prompt))
        assert len(method.label_tokens) == n_tokens
        assert method.describe().startswith(
            "scored tokens" if n_tokens else "first token" if prompt is DELTA else "prompt"
        )
        assert Method.from_dict(json.loads(json.dumps(method.to_dict()))) == method
    with FaultyServer(scores=True) as server:  # of another kind, which is not asked for them
        assert not method_of(server, EndpointPrompt("toy", prompt)).label_tokens
        assert {request.path for request in server.received} == {"/v1/completions"}


@pytest.mark.slow
def test_log_probabilities_that_are_passed_over_are_an_error_where_asked_for():
    with (
        FaultyServer(log_probabilities=False) as server,
        pytest.raises(InputError, match=r"`scoring` must be 'generate' for an endpoint that returns no log"),
    ):
        method_of(server, EndpointPrompt("toy", DELTA, scoring="label"))


@pytest.mark.slow
def test_an_unknown_model_is_told_with_those_there_are():
    said = r"must be a model that the endpoint serves; got 'gpt'. It serves toy"
    with FaultyServer() as server, pytest.raises(InputError, match=said):
        method_of(server, EndpointPrompt("gpt", DELTA))


@pytest.mark.faults
@pytest.mark.parametrize(
    ("status", "message", "served", "words"),
    [
        (
            400,
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is supported.",
            ["toy"],
            '(1) is supported." Give `request_field` temperature=null: answers are then drawn.',
        ),
        (404, "The model `toy` does not exist.", ["toy"], "The model `toy` does not exist."),
        (
            400,
            "'temperature' does not support 0.",
            ["gpt-4o"],
            '0." Give `request_field` temperature=null: answers are',
        ),
        (400, "gpt-5 models don't support temperature=0.0.", [], "Give `request_field` temperature=null"),
        (422, '[{"type": "extra_forbidden", "loc": ["body", "seed"]}]', [], "Give `request_field` seed=null."),
        (400, "Unsupported parameter: 'stop'.", [], "Give `request_field` stop=null."),
        (400, "Please try again with higher max_tokens.", [], "Give a higher `max_new_tokens`."),
        (400, "integer below minimum value.", [], "Give a higher `max_new_tokens`."),
        (400, "This model does not support tools.", [], "This model does not support tools."),
    ],
)
def test_a_refusal_that_names_a_model_is_told_as_the_endpoint_said_it(status, message, served, words):
    """Models that reason take no temperature of 0; the endpoint serves the model that it refuses this of."""
    told = str(refusal(EndpointSettings("http://h/v1", api="chat"), Refused(status, message), "toy", "it", served))
    assert words in told
    assert "It serves" not in told


@pytest.mark.faults
def test_a_refusal_in_a_list_or_with_a_parameter_s_name_is_told_in_plain_text():
    body = b'[{"error": {"code": 400, "message": "`temperature` is deprecated.", "status": "INVALID_ARGUMENT"}}]'
    assert message_of(body) == "'temperature' is deprecated."


def raw_server(body: bytes, *, n: int = 10**9, status: int = 200, kind: str = "application/json") -> FaultyServer:
    """A server whose first `n` answers have this body."""
    return FaultyServer(
        script=lambda number, tag: "raw" if number < n else None, raw={"raw": (status, {"Content-Type": kind}, body)}
    )


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": "Unexpected endpoint or method. (POST /completions)"}', "The address often ends in /v1"),
        (b'{"error": {"code": 401, "message": "No credentials"}}', "must name the environment variable of a key"),
        (b'{"error": {"code": 400, "message": "No such field"}}', "No such field"),
        (b'{"choices": [], "error": {"code": 400, "message": "No such field"}}', "No such field"),
    ],
)
def test_a_refusal_in_the_body_of_an_answer_is_told_at_once(body, words):
    with raw_server(body) as server, pytest.raises(InputError, match=re.escape(words)):
        method_of(server, EndpointPrompt("toy", DELTA, scoring="generate"))
    assert len(server.received) == 1


@pytest.mark.slow
@pytest.mark.faults
def test_a_first_request_whose_answers_cannot_be_read_is_sent_a_few_times():
    with raw_server(b'{"choices": []}') as server, pytest.raises(InputError, match="it has no choices"):
        method_of(server, EndpointPrompt("toy", DELTA, scoring="generate"))
    assert len(server.received) == 3


@pytest.mark.slow
@pytest.mark.faults
def test_log_probabilities_that_a_key_may_not_see_are_done_without():
    said = b'{"error": {"message": "You are not allowed to request logprobs from this model."}}'
    with raw_server(said, n=2, status=403) as server:
        method = method_of(server, EndpointPrompt("toy", DELTA, max_new_tokens=20), api="chat")
    assert method.scoring == "generate"
    assert server.received[-1].body["max_tokens"] == 20  # too few are refused by models that reason


@pytest.mark.slow
@pytest.mark.faults
def test_an_input_that_is_flagged_is_refused_and_no_other():
    said = b'{"error": {"message": "toy requires moderation. Your input was flagged."}}'
    with raw_server(said, status=403) as server, pytest.raises(Refused) as raised:
        post(settings_of(server))
    assert failure_of(raised.value, "toy") == "refused"


def events(*choices: dict) -> bytes:
    """An answer as servers stream it."""
    pieces = [{"id": "x", "model": "toy", "choices": [choice], "usage": None} for choice in choices]
    lines = [f"data: {json.dumps(piece)}\n\n" for piece in [*pieces, {"choices": [], "usage": {"prompt_tokens": 3}}]]
    return "".join([": PROCESSING\n\n", *lines, "data: [DONE]\n\n"]).encode()


@pytest.mark.slow
@pytest.mark.faults
def test_an_answer_that_is_streamed_unasked_is_joined():
    """With the key of the tests in two pieces."""
    deltas = [
        {"role": "assistant", "content": "ye"},
        {"content": f"s {KEY[:9]}"},
        {"content": KEY[9:]},
        {"content": None},
    ]
    chat = events(*({"index": 0, "delta": delta} for delta in deltas), {"delta": {}, "finish_reason": "length"})
    with raw_server(chat, kind="text/event-stream") as server:
        assert post(settings_of(server, api="chat"), Key(KEY))[1] == ["yes ***"]
    body = read_answer(chat, str)
    assert Answered.of("i", "text", body, text_of).ending.cut
    assert (body["model"], tokens_used(body).prompt) == ("toy", 3)
    assert text_of(read_answer(events({"text": "y"}, {"text": "es", "finish_reason": "stop"}), str)) == "yes"
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Perhaps no."}]}
    texts = [[thought], [{"type": "text", "text": "y"}], "es"]  # Mistral's, of models that reason
    assert text_of(read_answer(events(*({"delta": {"content": text}} for text in texts)), str)) == "yes"
    top = [{"token": " W", "logprob": -1.0}]
    scored = events({"delta": {"content": " W"}, "logprobs": {"content": [{"token": " W", "top_logprobs": top}]}})
    assert first_token(read_answer(scored, str)) == {" W": -1.0}


@pytest.mark.slow
def test_what_only_looks_like_a_key_stays_in_answers():
    """Placeholders of servers without keys, and words that happen to be in a key."""
    for secret, text in (("EMPTY", "The box is EMPTY."), ("sk-answers-0123456789", "answers")):
        with raw_server(json.dumps({"choices": [{"text": text}]}).encode()) as server:
            assert post(settings_of(server), Key(secret))[1] == [text]


@pytest.mark.faults
@pytest.mark.parametrize(
    ("body", "message"),
    [(b"data: [1]\n\n", "not a JSON object"), (b'data: {"choices": [\n', "Expecting"), (b": x\n", "no c")],
)
def test_a_stream_that_cannot_be_read(body, message):
    with pytest.raises(Malformed, match=message):
        text_of(read_answer(body, str))
    with pytest.raises(Interrupted, match="overloaded"):
        text_of(read_answer(b'data: {"error": {"message": "overloaded"}}\n\n', str))


@pytest.mark.faults
@pytest.mark.parametrize(
    "body",
    [
        b'data: {"choices": [{"delta": {"content": "ye"}}]}\n\ndata: {"error": {"message": "overloaded"}}\n\n',
        b'{"choices": [{"text": "ye", "finish_reason": null}], "error": {"message": "overloaded"}}',
        b'{"choices": [{"text": "ye", "error": {"message": "overloaded"}}], "error": null}',
    ],
)
def test_an_answer_that_an_error_breaks_off_is_requested_again(body):
    """Its beginning was kept as the answer."""
    with pytest.raises(Interrupted, match="overloaded"):
        Answered.of("i", "text", read_answer(body, str), text_of)


@pytest.mark.faults
def test_a_field_that_is_taken_out_is_not_sent():
    """The text that ends an answer, too, which some models that reason refuse."""
    template = PromptTemplate(**{**vars(DELTA.template), "stop": "\n"})
    prompt = EndpointPrompt("toy", Prompt(template), scoring="generate")
    for fields, stop in ({}, ["\n"]), ({"stop": None}, None):
        settings = EndpointSettings("http://h/v1", request_fields=fields)
        assert part_request(settings, prompt, Method("generate"), Question("A:"), "text")[0].get("stop") == stop


def test_method_and_template_and_wish_decide_the_method_s_file():
    settings, asking = EndpointSettings("http://h/v1"), EndpointPrompt("toy", DELTA)
    assert method_key(settings, asking) == method_key(EndpointSettings("http://h/v1", concurrency=2), asking)
    others = [
        method_key(EndpointSettings("http://h/v1", api="chat"), asking),
        method_key(settings, EndpointPrompt("toy", LONG)),
        method_key(settings, EndpointPrompt("toy", DELTA, scoring="generate")),
        method_key(settings, EndpointPrompt("other", DELTA)),
    ]
    assert len({method_key(settings, asking), *others}) == 5


@pytest.mark.parametrize(
    ("reason", "message", "failure"),
    [
        ("stop", {"content": "Yes", "reasoning_content": "Hm."}, ""),
        ("tool_calls", {"content": "Yes", "tool_calls": [{}]}, ""),
        ("stop", {"content": "Yes", "refusal": "I cannot."}, ""),
        ("stop", {"content": "", "refusal": "I cannot."}, "declined"),
        ("refusal", {"content": " "}, "declined"),
        ("stop", {"content": None, "tool_calls": [{}]}, "tool calls only"),
        ("stop", {"content": None, "function_call": {"name": "f"}}, "tool calls only"),
        ("stop", {"content": " ", "reasoning": "Hm."}, "reasoning only"),
        ("length", {"content": None, "reasoning": "Hm."}, ""),
        ("stop", {"content": ""}, ""),
        ("CONTENT_FILTER", {"content": "Yes"}, "filtered"),
    ],
)
def test_which_answers_hold_no_answer(reason, message, failure):
    """A text is the answer, whatever comes with it, unless a filter cut it."""
    body = {"choices": [{"finish_reason": reason, "message": message}]}
    answered = Answered.of("i", "text", body, text_of)
    assert answered.ending.failure == failure
    assert (answered.value is None) == bool(failure)
    assert answered.ending.cut == (reason == "length")
    if not message.get("refusal"):
        scored = Answered.of("i", "first", body, lambda body: {})  # log-probabilities need no text
        assert scored.ending.failure == (failure if failure in ("filtered", "declined") else "")


@pytest.mark.faults
@pytest.mark.parametrize(
    ("prompt", "completion", "total", "used"),
    [
        (12, 1, 399, (12, 387)),  # xAI, grok-3-mini: 386 of reasoning (vercel/ai, pull request 12425)
        (20, 151, 553, (20, 533)),  # gemini-2.5-flash (mozilla-ai/any-llm, pull request 1291)
        (21, None, 81, (21, 60)),  # Gemini, thoughts alone
        (3, 1, 4, (3, 1)),
        (3, 2, 4, (3, 2)),
        (3, 1, None, (3, 1)),
        (None, 1, 4, (None, 1)),
        (3, None, None, (3, None)),
        (3, 1, 10**30, (3, 1)),
    ],
)
def test_tokens_of_the_reasoning_are_counted_where_only_the_total_has_them(prompt, completion, total, used):
    """They are paid: of a model that reasons a run spent many times its `max_cost`."""
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    assert tokens_used({"usage": usage}) == used


@pytest.mark.faults
def test_written_tokens_that_the_endpoint_does_not_count_cost_what_they_may():
    """They cost nothing, so that no budget was ever used."""
    settings = EndpointSettings("http://h/v1", price="1,100")
    meter, expected = Meter(settings), TokenUse(10, 500)
    sent = meter.send(meter.pace("http://h/v1"), expected, 40, 0.0)
    sent.used = TokenUse(8, None)
    meter.settle(sent)
    assert meter.cost == pytest.approx((8 + 500 * 100) / 1e6)
    answered = Answered("i", "text", "W", TokenUse(8, None), "m")
    assert add_up([answered], settings).n_uncounted == 1


@pytest.mark.parametrize(
    ("method", "phrase"),
    [
        (Method("label", 20), "first token, top 20"),
        (Method("label", 5, True), "first token, top 5; prompt echo"),
        (Method("label", 0, True), "prompt echo"),
        (Method("label", 20, label_tokens=(1, 2)), "scored tokens"),
        (Method("generate", 20, True), "none"),
    ],
)
def test_what_a_method_is_called_in_a_runs_identity(method, phrase):
    """Runs go on, and are compared, by it."""
    assert method.describe() == phrase


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"model": "m", "system_fingerprint": "fp_1"}, "m fp_1"),
        ({"model": "m", "system_fingerprint": ""}, "m"),
        ({"model": 7, "system_fingerprint": None}, ""),
    ],
)
def test_which_model_answered(more, name):
    """By it runs tell that another model, or another build of it, answers."""
    assert Answered.of("i", "text", {"choices": [{"text": "W"}], **more}, text_of).served == name


def test_what_decides_the_answers_of_an_endpoint():
    """A run goes on, and its answers are found again, by these: nothing else may be in it, and nothing be left out."""
    settings = EndpointSettings("http://h/v1", api="chat", concurrency=2, request_fields={"top_k": 1})
    prompt = {"template": "s24-delta", "prompt_hash": DELTA.hash, "shots": "0"}
    common = {"model": "m", "kind": "endpoint", "api": "chat", **prompt, "request_fields": '{"top_k": 1}'}
    found = identity_of(settings, EndpointPrompt("m", DELTA, normalize="tokens"), Method("label", 20, served="root a"))
    how = {"scoring": "label", "normalize": "tokens", "log_probabilities": "first token, top 20", "served": "root a"}
    assert found == common | how
    drawn = EndpointPrompt("m", DELTA, scoring="generate", max_new_tokens=5, temperature=0.5, seed=3)
    more = {"scoring": "generate", "max_new_tokens": "5", "temperature": "0.5", "seed": "3"}
    assert identity_of(settings, drawn, Method("generate")) == common | more
    greedy = replace(drawn, temperature=0.0)
    assert identity_of(settings, greedy, Method("generate")) == common | {"scoring": "generate", "max_new_tokens": "5"}


def test_what_a_request_is_expected_to_take():
    """A token for four bytes, until answers tell more; of what is written the limit."""
    meter = Meter(EndpointSettings("http://h/v1"))
    bodies = ({"max_tokens": 5}, {"max_completion_tokens": 7}, {"max_tokens": "9"}, {})
    assert [meter.expect(body, 41) for body in bodies] == [(11, 5), (11, 7), (11, 0), (11, 0)]
    sent = meter.send(meter.pace("http://h/v1"), TokenUse(10, 5), 40, 0.0)
    sent.used = TokenUse(20, 5)
    meter.settle(sent)
    assert meter.expect({}, 41) == (21, 0)


@pytest.mark.slow
def test_an_error_in_place_of_an_answer_is_no_malformed_answer():
    """Of these a first request gets three."""
    with raw_server(b'{"error": {"message": "overloaded"}}', n=1) as server:
        assert dict(+post(settings_of(server))[0].retries) == {"error": 1}


def test_the_order_in_which_fields_are_given_decides_nothing():
    """A run whose command names them in another order goes on."""
    orders = [{"top_k": 1, "min_p": 0.1}, {"min_p": 0.1, "top_k": 1}]
    asking, settings = EndpointPrompt("m", DELTA), [EndpointSettings("http://h/v1", request_fields=o) for o in orders]
    for of in (
        [method_key(one, asking) for one in settings],
        [json.dumps(identity_of(one, asking, Method("label", 20))) for one in settings],
        [PromptSettings(DELTA, chat=True, template_arguments=one).identity for one in orders],
    ):
        assert of[0] == of[1]


def test_requests():
    settings = EndpointSettings("http://h/v1", request_fields={"temperature": None, "top_k": 1})
    body = request_body(settings, EndpointPrompt("m", DELTA), Wishes(), Question("A:"), max_tokens=1, answer=" W")
    assert body == {"model": "m", "max_tokens": 1, "prompt": "A: W", "logprobs": 1, "echo": True, "top_k": 1}
    chat = EndpointSettings("http://h/v1", api="chat")
    question = Question("", ({"role": "system", "content": "Do."}, {"role": "user", "content": "A?"}))
    body = request_body(
        chat, EndpointPrompt("m", DELTA), Wishes("max_completion_tokens", True), question, max_tokens=2, top=5
    )
    assert body == {
        "model": "m",
        "temperature": 0,
        "max_completion_tokens": 2,
        "messages": [{"role": "user", "content": "Do.\n\nA?"}],
        "logprobs": True,
        "top_logprobs": 5,
    }


# results


def test_results_of_an_input():
    asking, both = EndpointPrompt("m", DELTA), Method("label", 20, True)
    shown = {"scores": [-1.0, -2.0], "floor": -5.0, "token": " W"}
    half = {"scores": [-1.0, None], "floor": -5.0, "token": " W"}
    none = {"scores": [None, None], "floor": -5.0, "token": " The"}
    odds = 1 / (1 + math.exp(-1))
    assert result_of(both, asking, "completions", {"first": shown}) == pytest.approx([odds, 1 - odds])
    # a label that is not shown is asked for, and has a bound where it cannot be
    assert wanted_parts(both, 2, {"first": half}) == ["label-1"]
    asked = {"first": half, "label-1": {"total": -2.0, "n_tokens": 1, "first": -2.0}}
    assert wanted_parts(both, 2, asked) == []
    assert result_of(both, asking, "completions", asked) == pytest.approx([odds, 1 - odds])
    bound = 1 / (1 + math.exp(-4))
    assert result_of(Method("label", 20), asking, "chat", {"first": half}) == pytest.approx([bound, 1 - bound])
    assert result_of(Method("label", 20), asking, "chat", {"first": none}) == WrittenAnswer(None, " The")
    assert result_of(Method("generate"), asking, "chat", {"text": "S."}) == WrittenAnswer(1, "S.")


@pytest.mark.parametrize(("normalize", "gap"), [("none", 5.0), ("tokens", 0.5), ("characters", -5 / 9 + 10 / 8)])
def test_label_scores_are_normalised(normalize, gap):
    asking = EndpointPrompt("m", LONG, normalize=normalize)  # " entailed", " undecided"
    scores = {
        "label-0": {"total": -10.0, "n_tokens": 4, "first": -1.0},
        "label-1": {"total": -5.0, "n_tokens": 2.5, "first": -1.0},
    }
    if normalize == "tokens":
        scores["label-1"] = {"total": -4.0, "n_tokens": 2, "first": -1.0}
    found = result_of(Method("label", 0, True), asking, "completions", scores)
    assert math.log(found[1] / found[0]) == pytest.approx(gap)


def test_the_journal_keeps_and_repairs(tmp_path):
    one = Answered("i", "label-0", {"total": -1.0, "n_tokens": 1, "first": -1.0}, TokenUse(10, 1), "m")
    two = Answered("i", "text", "\u00e9 \ud800", TokenUse(None, None), "")
    with Journal(tmp_path) as journal:
        journal.add(one)
        journal.add(two)
    path = tmp_path / "answers.jsonl"
    path.write_bytes(path.read_bytes() + b'{"input_id": "j", "pa')
    with Journal(tmp_path) as journal:
        assert journal.get("i", "label-0") == one
        assert journal.get("i", "text") == two._replace(value="\u00e9 \ufffd")
        assert journal.get("j", "text") is None
        usage = add_up(journal.answers.values(), EndpointSettings("http://h/v1", price="2,30"))
        assert (usage.n_requests, usage.prompt_tokens, usage.completion_tokens, usage.n_uncounted) == (2, 10, 1, 1)
        assert usage.cost == pytest.approx((10 * 2 + 1 * 30) / 1e6)
        refuses("not be in use by another run", Journal, tmp_path)
    path.write_bytes(b'{"input_id": "j"}\n' + path.read_bytes())
    refuses(r"answers.jsonl is damaged at line 1", Journal, tmp_path)
