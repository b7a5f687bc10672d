"""What is read of an endpoint's answers, what it offers, and what becomes of both."""

from __future__ import annotations

import asyncio
import json
import math

import pytest
from helpers.faulty_server import FaultyServer

from paraconsist.data.prompts import Prompt, PromptTemplate, WrittenAnswer, templates
from paraconsist.errors import InputError
from paraconsist.models.endpoint.client import EndpointClient
from paraconsist.models.endpoint.label_scoring import Method, find_method, method_key, result_of, wanted_parts
from paraconsist.models.endpoint.protocol import (
    Answered,
    Question,
    TokenUse,
    Wishes,
    as_label,
    echoed_label,
    first_token,
    request_body,
    text_of,
    tokens_used,
)
from paraconsist.models.endpoint.queue import Journal, add_up
from paraconsist.models.endpoint.settings import EndpointPrompt, EndpointSettings

DELTA = Prompt(templates()["s24-delta"])
LONG = Prompt(
    PromptTemplate("long", "nli", "{premise} {hypothesis}?", {"entailment": "entailed", "neutral": "undecided"})
)


def settings_of(server: FaultyServer, **options) -> EndpointSettings:
    return EndpointSettings(server.url, **{"timeout": 5.0, **options})


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
    found = echoed_label(completion(tokens, values, text), "A:", answer)
    assert tuple(found) == expected


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
        assert journal.get("i", "text") == two
        assert journal.get("j", "text") is None
        usage = add_up(journal.answers.values(), EndpointSettings("http://h/v1", price_input=2.0, price_output=30.0))
        assert (usage.n_requests, usage.prompt_tokens, usage.completion_tokens, usage.n_uncounted) == (2, 10, 1, 1)
        assert usage.cost == pytest.approx((10 * 2 + 1 * 30) / 1e6)
        with pytest.raises(InputError, match="not be in use by another run"):
            Journal(tmp_path)
    path.write_bytes(b'{"input_id": "j"}\n' + path.read_bytes())
    with pytest.raises(InputError, match=r"answers.jsonl is damaged at line 1"):
        Journal(tmp_path)
