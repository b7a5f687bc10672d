"""Small example files for the interface: sentences of our own with invented answers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_NAMES = {"E": "entailment", "N": "neutral", "C": "contradiction"}

#: Premise, gold label, its hypothesis with three rewordings, and a model's answers to the four.
_ITEMS: tuple[tuple[str, str, tuple[str, str, str, str], str], ...] = (
    (
        "The baker opened her shop before sunrise.",
        "E",
        (
            "The shop opened early.",
            "It was early when the shop opened.",
            "The bakery was open early in the day.",
            "Early on, the shop was open.",
        ),
        "EEEE",
    ),
    (
        "Two boys are carrying a ladder across the yard.",
        "C",
        (
            "The yard is empty.",
            "Nobody is in the yard.",
            "There is no one in the yard.",
            "The yard has no people in it.",
        ),
        "CCNC",
    ),
    (
        "A nurse is reading the timetable at the bus stop.",
        "N",
        (
            "The nurse is late for work.",
            "The nurse will not be at work on time.",
            "Work starts before the nurse can be there.",
            "The nurse is running behind for her shift.",
        ),
        "NNEC",
    ),
    (
        "The lake has been frozen since Monday.",
        "C",
        (
            "People are swimming in the lake.",
            "There are swimmers in the lake.",
            "Some people swim in the lake.",
            "The lake has people swimming in it.",
        ),
        "CCCC",
    ),
    (
        "My neighbour repairs old radios in his garage.",
        "E",
        (
            "He mends radios.",
            "Radios get fixed by him.",
            "He fixes radios.",
            "Mending radios is something he does.",
        ),
        "EEEN",
    ),
    (
        "The choir sang three songs and left the stage.",
        "E",
        (
            "The choir sang more than one song.",
            "More than one song was sung by the choir.",
            "The singers performed several songs.",
            "The choir did not stop after the first song.",
        ),
        "ENEC",
    ),
    (
        "A woman in a red coat is waiting for the ferry.",
        "N",
        (
            "She is going to visit her sister.",
            "Her sister will have a visit from her.",
            "She is on her way to her sister.",
            "It is her sister that she will see.",
        ),
        "NNNN",
    ),
    (
        "The printer ran out of paper twice this morning.",
        "C",
        (
            "The printer had paper all morning.",
            "All morning there was paper in the printer.",
            "The printer never lacked paper this morning.",
            "At no time this morning was the printer without paper.",
        ),
        "ECCE",
    ),
    (
        "Our train left the station ten minutes late.",
        "E",
        (
            "The train was not on time.",
            "The train was late.",
            "The train failed to leave on time.",
            "It was not on time that the train left.",
        ),
        "EECE",
    ),
    (
        "The gardener watered the tomatoes and the beans.",
        "N",
        (
            "The tomatoes are ripe.",
            "One could eat the tomatoes now.",
            "The tomatoes have ripened.",
            "The tomatoes are ready to be picked.",
        ),
        "NNNE",
    ),
    (
        "Every seat in the hall was taken by eight.",
        "C",
        (
            "Half of the hall was empty at nine.",
            "At nine every other seat was free.",
            "The hall was only half full at nine.",
            "By nine just half of the seats were in use.",
        ),
        "NCNN",
    ),
    (
        "The dog slept under the table all afternoon.",
        "E",
        (
            "The dog was under the table.",
            "Under the table there was a dog.",
            "The table had the dog beneath it.",
            "The dog lay below the table.",
        ),
        "EEEE",
    ),
)

#: A statement, its negation, and a model's answers (with the premise of the same item) to both.
_NEGATED = (
    ("The shop opened early.", "The shop did not open early.", "EC"),
    ("The yard is empty.", "The yard is not empty.", "CE"),
    ("The nurse is late for work.", "The nurse is not late for work.", "NC"),
    ("People are swimming in the lake.", "People are not swimming in the lake.", "CC"),
    ("He mends radios.", "He does not mend radios.", "EC"),
    ("The choir sang more than one song.", "The choir did not sing more than one song.", "EE"),
    ("The printer had paper all morning.", "The printer did not have paper all morning.", "CE"),
    ("The train was not on time.", "The train was on time.", "EC"),
    ("The tomatoes are ripe.", "The tomatoes are not ripe.", "NN"),
    ("Half of the hall was empty at nine.", "It is not true that half of the hall was empty at nine.", "CC"),
    ("The dog was under the table.", "The dog was not under the table.", "EC"),
    ("The radios are old.", "The radios are not old.", "EE"),
)

#: Two remarks about a cafe with one sentiment, and a model's answers to each of them and to both together.
_REMARKS = (
    ("pos", "The soup was hot and rich.", "Our waiter made us laugh.", "ppp"),
    ("pos", "Lovely view of the harbour.", "The cake alone is worth the trip.", "ppp"),
    ("neg", "We waited an hour for water.", "My plate was cold.", "nnn"),
    ("neg", "The music was far too loud.", "They got the bill wrong.", "nnp"),
    ("pos", "Fair prices.", "The bread is baked in the house.", "ppp"),
    ("neg", "The chairs hurt my back.", "Nothing on the menu was left by eight.", "pnn"),
    ("pos", "I had to wait, and it was worth it.", "Not a crumb was left.", "npp"),
    ("pos", "Friendly staff.", "You will not find a better pie.", "ppn"),
    ("neg", "The tea tasted of soap.", "I would not send an enemy there.", "nnn"),
    ("pos", "Quiet rooms and good light.", "The dog got a biscuit too.", "ppp"),
    ("neg", "Dust on every shelf.", "The door would not close.", "nnn"),
    ("neg", "A dull evening.", "Even the salad was burnt.", "nnn"),
)

#: Three statements, the labels of first-second and second-third, what they allow for first-third, a model's answers.
_CHAINS = (
    ("A spaniel is asleep.", "A dog is asleep.", "An animal is asleep.", "EE", "E", "EEE"),
    ("She bought six pears.", "She bought fruit.", "She bought food.", "EE", "E", "EEE"),
    ("He plays the cello.", "He plays an instrument.", "He makes music.", "EE", "E", "EEN"),
    ("All lamps are on.", "The hall is lit.", "The hall is dark.", "EC", "C", "ECC"),
    ("The road is iced over.", "The road is slippery.", "The road gives a firm grip.", "EC", "C", "ECN"),
    ("The cat is in the attic.", "The cat is indoors.", "The cat is in the garden.", "EC", "C", "ECC"),
    ("They won by two goals.", "They won the match.", "They lost the match.", "EC", "C", "NCC"),
    ("The mill burnt down.", "The mill is gone.", "The village is poorer.", "EN", "E|N", "ENN"),
    ("She speaks Greek.", "She speaks a language.", "She has been to Athens.", "EN", "E|N", "ENC"),
    ("The pond is deep.", "The pond has water.", "There are frogs in the pond.", "EN", "E|N", "ENE"),
    ("He sold his only boat.", "He has no boat.", "He cannot row across today.", "EN", "E|N", "ENE"),
    ("The bells rang at noon.", "The bells rang.", "It was a feast day.", "EN", "E|N", "ENN"),
)


def texts_example() -> str:
    """One row for each text: twelve items, each an original and three paraphrases."""
    rows = [
        {
            "bucket_id": f"item {item + 1}",
            "role": "paraphrase" if place else "original",
            "premise": premise,
            "hypothesis": hypothesis,
            "label": _NAMES[gold],
            "prediction": _NAMES[answer],
        }
        for item, (premise, gold, hypotheses, answers) in enumerate(_ITEMS)
        for place, (hypothesis, answer) in enumerate(zip(hypotheses, answers, strict=True))
    ]
    return _csv(rows)


def pairs_example() -> str:
    """One row for each pair of an original and one of its paraphrases, with both answers."""
    return _csv(_pairs())


def two_models_example() -> str:
    """One row for each paraphrase, with the answers of two models."""
    rows = [
        {
            "bucket_id": f"item {item + 1}",
            "premise": premise,
            "hypothesis": hypothesis,
            "label": _NAMES[gold],
            "prediction_1": _NAMES[answer if (3 * item + place) % 5 == 0 else gold],
            "prediction_2": _NAMES[answer],
        }
        for item, (premise, gold, hypotheses, answers) in enumerate(_ITEMS)
        for place, (hypothesis, answer) in enumerate(zip(hypotheses[1:], answers[1:], strict=True))
    ]
    return _csv(rows)


def changed_pairs_example() -> str:
    """The same for the columns of the IE test."""
    renamed = {"prediction": "transformed_prediction", "original_prediction": "prediction"}
    return _csv({renamed.get(name, name): value for name, value in row.items()} for row in _pairs())


def swapped_pairs_example() -> str:
    """One row for each pair of sentences, with the answers in both orders."""
    rows: list[dict[str, str]] = []
    for item, (_, _, hypotheses, answers) in enumerate(_ITEMS):
        other = _ITEMS[(item + 5) % len(_ITEMS)][2][0]
        reworded = (hypotheses[0], hypotheses[1], "same", answers[0] == answers[1])
        for first, second, gold, steady in (reworded, (hypotheses[0], other, "other", True)):
            wrong = "other" if gold == "same" else "same"
            before = gold if (item + len(rows)) % 7 else wrong
            after = before if steady and item % 5 != 3 else (wrong if before == gold else gold)
            rows.append(
                {
                    "sentence_1": first,
                    "sentence_2": second,
                    "label": gold,
                    "original_prediction": before,
                    "prediction_swapped": after,
                }
            )
    return _csv(rows)


def negated_pairs_example() -> str:
    """One row for each statement and its negation, with both answers."""
    rows = [
        {
            "statement": statement,
            "negation": negation,
            "original_prediction": _NAMES[answers[0]],
            "prediction_negated": _NAMES[answers[1]],
        }
        for statement, negation, answers in _NEGATED
    ]
    return _csv(rows)


def additive_example() -> str:
    """One row for each merged text, with the answers to it and to its two parts."""
    names = {"p": "positive", "n": "negative"}
    rows = [
        {
            "part_1": first,
            "part_2": second,
            "label": names[gold[0]],
            "part_1_prediction": names[answers[0]],
            "part_2_prediction": names[answers[1]],
            "merged_prediction": names[answers[2]],
        }
        for gold, first, second, answers in _REMARKS
    ]
    return _csv(rows)


def transitive_example() -> str:
    """One row for each chain of three statements, with the answers to its three pairs."""
    rows = [
        {
            "statement_1": first,
            "statement_2": second,
            "statement_3": third,
            "antecedent_1_label": _NAMES[golds[0]],
            "antecedent_1_prediction": _NAMES[answers[0]],
            "antecedent_2_label": _NAMES[golds[1]],
            "antecedent_2_prediction": _NAMES[answers[1]],
            "allowed_labels": "|".join(_NAMES[label] for label in allowed.split("|")),
            "prediction": _NAMES[answers[2]],
        }
        for first, second, third, golds, allowed, answers in _CHAINS
    ]
    return _csv(rows)


def probabilities_example() -> str:
    """One row for each pair, with the probabilities of three classes on both texts."""
    rows = []
    for place, pair in enumerate(_pairs()):
        row = {name: pair[name] for name in ("premise", "original_hypothesis", "hypothesis")}
        sure = 0.5 + 0.045 * ((7 * place) % 10), 0.5 + 0.045 * ((3 * place + 4) % 10)
        for prefix, name, share in zip(("original_p", "p"), ("original_prediction", "prediction"), sure, strict=True):
            for label, letter in enumerate("ENC"):
                value = share if pair[name] == _NAMES[letter] else (1 - share) / 2
                row[f"{prefix}{label}"] = f"{value:.4f}"
        rows.append(row)
    return _csv(rows)


def _pairs() -> list[dict[str, str]]:
    return [
        {
            "group_id": f"item {item + 1}",
            "premise": premise,
            "original_hypothesis": hypotheses[0],
            "hypothesis": hypothesis,
            "label": _NAMES[gold],
            "original_prediction": _NAMES[answers[0]],
            "prediction": _NAMES[answer],
        }
        for item, (premise, gold, hypotheses, answers) in enumerate(_ITEMS)
        for hypothesis, answer in zip(hypotheses[1:], answers[1:], strict=True)
    ]


def _csv(rows: Iterable[Mapping[str, Any]]) -> str:
    listed: Sequence[Mapping[str, Any]] = list(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(listed[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(listed)
    return text.getvalue()
