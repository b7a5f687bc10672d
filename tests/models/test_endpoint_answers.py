"""What is read of an endpoint's answers, what it offers, and what becomes of both."""

from __future__ import annotations

import asyncio
import json
import math
import re
from dataclasses import replace

import pytest
from helpers.endpoint_client import post, settings_of
from helpers.errors import refuses
from helpers.faulty_server import KEY, FaultyServer

from paraconsist.data.prompts import Prompt, PromptTemplate, WrittenAnswer, templates
from paraconsist.errors import InputError
from paraconsist.models.endpoint.client import EndpointClient, Key, Meter
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
    Ending,
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
    without_system,
)
from paraconsist.models.endpoint.queue import Journal, add_up
from paraconsist.models.endpoint.settings import EndpointPrompt, EndpointSettings, PromptSettings
from paraconsist.running.endpoint import identity_of

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


@pytest.mark.faults
def test_a_refusal_that_names_the_model_is_of_no_single_input():
    for message in ("'toy' is not deployed.", '"toy" is not deployed.', "`toy` is not deployed.", "No such model."):
        assert failure_of(Refused(400, message), "toy") is None
    assert failure_of(Refused(400, "'toys' are no prompt."), "toy") == "refused"


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
        b'data: {"choices": [{"delta": {"content": "ye"}, "finish_reason": null}]}\n\n',  # it says of no end
    ],
)
def test_an_answer_that_an_error_breaks_off_is_requested_again(body):
    """Its beginning was kept as the answer."""
    with pytest.raises(Interrupted, match=r"overloaded|stream breaks off"):
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


def test_a_budget_of_requests_ends_when_the_last_one_is_answered():
    """It ended when the last one was sent, told that nothing was paid, and 30 seconds later gave up slow answers."""
    meter = Meter(EndpointSettings("http://h/v1", max_requests=1, price=(1e6, 0)))
    sent = meter.send(meter.pace("http://h/v1"), TokenUse(10, 5), 40, 0.0)
    assert not meter.may_send(TokenUse(10, 5))
    sent.used = TokenUse(2, 5)
    meter.settle(sent)
    refuses(r"budget of 1 request .* is used: 1 request sent and 2\.0000 paid", meter.may_send, TokenUse(10, 5))


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


@pytest.mark.parametrize(
    ("roles", "merged"), [("s", "s"), ("ssu", "ssu"), ("sau", "s a u"), ("sua", "su a"), ("ua", "u a"), ("u", "u")]
)
def test_instructions_stand_in_the_first_user_turn(roles, merged):
    """A chat that was an instruction alone ended in a traceback, and the turn of an assistant became the user's."""
    names = {"s": "system", "u": "user", "a": "assistant"}
    chat = without_system([{"role": names[letter], "content": letter} for letter in roles])
    assert [turn["content"].replace("\n\n", "") for turn in chat] == merged.split()
    assert [turn["role"] for turn in chat] == ["assistant" if text == "a" else "user" for text in merged.split()]


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
        journal.answers["i", "label-1"] = one._replace(part="label-1", ending=Ending(failure="refused"))
        journal.forget_failed("ij")  # what was answered well, and paid, is not asked again
        assert [*journal.answers] == [("i", "label-0"), ("i", "text")]
        usage = add_up(journal.answers.values(), EndpointSettings("http://h/v1", price="2,30"))
        assert (usage.n_requests, usage.prompt_tokens, usage.completion_tokens, usage.n_uncounted) == (2, 10, 1, 1)
        assert usage.cost == pytest.approx((10 * 2 + 1 * 30) / 1e6)
        refuses("not be in use by another run", Journal, tmp_path)
    path.write_bytes(b'{"input_id": "j"}\n' + path.read_bytes())
    refuses(r"answers.jsonl is damaged at line 1", Journal, tmp_path)
