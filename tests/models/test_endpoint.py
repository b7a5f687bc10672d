"""The endpoint client: what is waited out and what is refused, several servers, proxies, keys that stay secret."""

from __future__ import annotations

import json
import math
import pickle
import random
import ssl
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from types import SimpleNamespace

import pytest
from helpers.endpoint_client import post, settings_of
from helpers.errors import refuses
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
from paraconsist.models.endpoint.protocol import (
    GaveUp,
    text_of,
)
from paraconsist.models.endpoint.queue import Journal
from paraconsist.models.endpoint.settings import AskOptions, EndpointSettings, read_fields

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
        ({"retry-after": "Sun, 29 Nov 99999999999999999999 20:00:00 GMT"}, None),  # Python: OverflowError
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
    assert kinds["InputError"] == [401, 403, 407]  # of a key, and of a proxy
    assert kinds["Refused"] == sorted({*range(400, 600)} - {*again, *kinds["InputError"]})


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
def test_requests_that_fail_together_set_a_server_aside_once():
    """Eight at a time are no eight failures of it, after which all servers would be down."""
    one, two = (FaultyServer(script=first(*["503"] * 8), delay=0.05) for _ in range(2))
    with one, two:
        client, texts = post(EndpointSettings([one.url, two.url], timeout=5.0, concurrency=16, tries=4), n=20)
        assert (client.retries["503"], len(texts)) == (16, 20)


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


def test_whole_numbers_are_the_same_settings_however_they_are_written():
    """Stored answers were not found: a command with 1.0 asked again what one with 1 had paid."""
    for written in (1, 1.0):
        settings = EndpointSettings("http://h/v1", request_fields={"top_p": written, "more": [{"n": written}]})
        asked = json.dumps([settings.request_fields, AskOptions(scoring="generate", temperature=written).temperature])
        assert asked == '[{"top_p": 1, "more": [{"n": 1}]}, 1.0]'


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"urls": "localhost:8000/v1"}, "`endpoint` must be an address with http:// or https://"),
        ({"urls": "http://h:8000/v1/chat/completions"}, "`endpoint` must be the address of the API, not of one of its"),
        ({"urls": "http://h:8000/v1/responses"}, "`endpoint` must be the address of the API, not of one of its paths"),
        ({"urls": f"http://me:{KEY}@h/v1"}, "`endpoint` must be an address without user name, password and query"),
        ({"urls": f"http://h/v1?key={KEY}"}, "`endpoint` must be an address without user name, password and query"),
        ({"urls": f"http://h/v1?api-version=1&key={KEY}"}, "Azure's address that ends in /openai/v1 takes no api-v"),
        ({"urls": "http://h:port/v1"}, "`endpoint` must be an address that can be read"),
        ({"urls": ["http://h/v1", "http://h/v1/"]}, "`endpoint` must be one address or several, each once"),
        ({"api": "responses"}, "`api` must be one of completions, chat; got 'responses'"),
        ({"concurrency": 0}, "`concurrency` must be .* at least 1; got 0"),
        ({"timeout": math.nan}, "`timeout` must be a number above 0"),
        ({"price": (-1.0, 1.0)}, "`price` must be two numbers, 0 or more"),
        ({"max_cost": 1.0}, "`price` must be given where `max_cost` is"),
        ({"tokens_per_minute": 0.0}, "`tokens_per_minute` must be a number above 0"),
        ({"requests_per_minute": "60"}, "`requests_per_minute` must be a number above 0; got '60'"),  # as YAML may say
    ],
)
def test_settings_that_cannot_be(options, message):
    with pytest.raises(InputError, match=message) as raised:
        EndpointSettings(**{"urls": "http://h/v1", **options})
    assert KEY not in str(raised.value)


@pytest.mark.parametrize("given", ["temperature", "=1", "model=x", "echo=true"])
def test_request_fields_that_cannot_be(given):
    refuses("`request_field` must be", lambda: EndpointSettings("http://h/v1", request_fields=read_fields([given])))


def test_fields_that_are_set_already_are_refused_from_python_too():
    """A run of model "a" asked model "b", and told of "a"."""
    refuses("`request_field` must be none of", EndpointSettings, "http://h/v1", request_fields={"model": "b"})
    arguments = {"add_generation_prompt": False}
    refuses("`template_argument` must be none of", AskOptions, chat=True, template_arguments=arguments)


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
