"""Claims of the cards of BECEL and the sample set; what is not counted from rows is declared and checked in builds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from documented_numbers import Claim, Quote
from documented_sets import card, class_of, configs, counted
from documented_sources import Sources, sample_lines

from paraconsist.dataset_builders.becel.configs import N_GROUPS, N_ROWS, TEST_CASES, TOKEN_LIMITS
from paraconsist.dataset_builders.becel.joining import MENDED

# -------------------------------------------------------------------------------------------------- BECEL


def published_name(config: str) -> str:
    return "/".join(config.rsplit("_", 1))


def becel_row(config: str) -> dict[str, int]:
    return {"buckets": N_ROWS[published_name(config)], "groups": N_GROUPS[published_name(config)]}


def becel_labels(prefix: str) -> Callable[[Any], dict[str, int]]:
    return lambda sources: {name: i for i, name in enumerate(configs("becel")[prefix].label_names)}


def becel_base(config: str) -> tuple[str, dict[str, int]]:
    counts = {split: found["original"] for split, found in configs("becel")[config].counts.items()}
    return " + ".join(f"{{{split}:,}}" for split in counts), counts


def label_claim(config: str) -> Claim:
    names = configs("becel")[config].label_names
    text = ", ".join(f"{{{name}}} `{name}`" for name in names)
    return Claim(card("becel"), f"| {text} |", becel_labels(config))


def rules(sources: Sources, config: str) -> Counter[tuple[int, ...]]:
    rows = sources.rows("becel", config)
    found = zip(rows[::3], rows[1::3], rows[2::3], strict=True)
    return Counter((one["label"], two["label"], *last["allowed_labels"]) for one, two, last in found)


def snli_rules(sources: Sources) -> dict[str, int]:
    found = rules(sources, "snli_transitive")
    assert set(found) == {(2, 0, 2), (1, 2, 1, 2)}
    return {"contradiction": found[2, 0, 2], "not_entailment": found[1, 2, 1, 2]}


def wic_rules(sources: Sources) -> dict[str, int]:
    found = rules(sources, "wic_transitive")
    assert set(found) == {(1, 1, 1), (1, 0, 0), (0, 1, 0)}
    return {"same": found[1, 1, 1], "different": found[1, 0, 0], "too": found[0, 1, 0]}


def repeated_consequents(sources: Sources) -> dict[str, int]:
    rows = sources.rows("becel", "snli_transitive")[2::3]
    return {"n": len(rows) - len({(row["premise"], row["hypothesis"], row["group_id"]) for row in rows})}


def full_stops(sources: Sources) -> dict[str, float]:
    """How many of SNLI's originals lack the full stop that their paraphrase has, in per cent."""
    rows = sources.rows("becel", "snli_semantic")
    pairs = list(zip(rows[::2], rows[1::2], strict=True))
    lack = sum(
        not one["hypothesis"].rstrip().endswith(".") and two["hypothesis"].rstrip().endswith(".") for one, two in pairs
    )
    return {"share": 100 * lack / len(pairs)}


_BASE = tuple(name for name in configs("becel") if name.rsplit("_", 1)[1] in ("train", "validation", "test"))
BECEL = [
    *(
        Claim(card("becel"), f"| `{name}` | {{buckets:,}} | {{groups:,}} |", lambda sources, name=name: becel_row(name))
        for name in (*TEST_CASES, "wic_negational")
    ),
    *(
        Claim(card("becel"), f"| `{name}` | {becel_base(name)[0]} |", lambda sources, name=name: becel_base(name)[1])
        for name in _BASE
    ),
    *(
        label_claim(name)
        for name in (
            *("boolq_semantic", "mrpc_semantic", "rte_semantic", "snli_semantic"),
            *("wic_semantic", "sst2_semantic", "ag_news_semantic"),
        )
    ),
    Claim(card("becel"), "The {n} test cases of the paper's Table 1", lambda sources: {"n": len(TEST_CASES)}),
    Claim(
        card("becel"),
        "They ask for {n:,} predictions.",
        lambda sources: {"n": sum(sum(counted("becel", name).values()) for name in TEST_CASES)},
    ),
    Claim(
        card("becel"),
        "so X contradicts Y ({contradiction}); X is neutral to P and P contradicts Y, so X does not entail Y "
        "({not_entailment:,};",
        snli_rules,
        "data",
    ),
    Claim(
        card("becel"),
        "same and same give same ({same}); same and different give different ({different:,}), different and same too "
        "({too:,}).",
        wic_rules,
        "data",
    ),
    Claim(
        card("becel"),
        "BECEL mended a word of {n:word} originals",
        lambda sources: {"n": len(MENDED["snli_negational"])},
    ),
    Claim(
        card("becel"), "at most {sst2} (SST-2) or {ag_news} (AG-News) whitespace tokens", lambda sources: TOKEN_LIMITS
    ),
    Claim(card("becel"), "{share:.0f} % of SNLI's originals lack the full stop", full_stops, "data"),
    Claim(card("becel"), "{n} consequents occur twice with the same antecedents", repeated_consequents, "data"),
]
BECEL_QUOTES = [Quote(card("becel"), "about 53K each", "the paper states", "Jang et al. 2022, Table 1")]

# ------------------------------------------------------------------------------------------------- sample


def words_of(text: str) -> set[str]:
    return set(re.findall(r"[a-z']+", text.lower()))


def sample_file(name: str) -> dict[str, int]:
    lines = sample_lines(name)
    labels = Counter(line["label"] for line in lines)
    return {"n": len(lines), "contexts": len({line["context_id"] for line in lines}), **labels}


def sample_buckets(sources: Any) -> dict[str, int]:
    lines = sample_lines("buckets")
    sizes = Counter(len(line["paraphrases"]) for line in lines)
    contexts = Counter(Counter(line["context_id"] for line in lines).values())
    assert set(sizes) == {5, 6}
    assert set(contexts) == {1, 2}
    return {
        **sample_file("buckets"),
        "paraphrases": sum(len(line["paraphrases"]) for line in lines),
        "of_five": sizes[5],
        "of_six": sizes[6],
        "with_two": contexts[2],
        "with_one": contexts[1],
        "themes": len({line["theme"] for line in lines}),
        "others": len(sample_lines("test")) - len(lines),
    }


def sample_lengths(sources: Any) -> dict[str, int]:
    texts = [
        text
        for name in ("buckets", "test", "train", "validation")
        for line in sample_lines(name)
        for text in (
            line["premise"],
            line["hypothesis"],
            line["update"],
            *(p["text"] for p in line.get("paraphrases", ())),
        )
    ]
    lengths = [len(text.split()) for text in texts]
    return {"least": min(lengths), "most": max(lengths)}


def rewording(name: str) -> Callable[[Any], dict[str, float]]:
    def values(sources: Any) -> dict[str, float]:
        pairs = [
            (words_of(line["update"]), words_of(paraphrase["text"]))
            for line in sample_lines("buckets")
            for paraphrase in line["paraphrases"]
            if paraphrase["rewording"] == name
        ]
        return {"n": len(pairs), "overlap": sum(len(a & b) / len(a | b) for a, b in pairs) / len(pairs)}

    return values


def sample_config(name: str) -> dict[str, int]:
    said = {split: sum(found.values()) for split, found in configs("sample")[name].counts.items()}
    return {**said, **(counted("sample", name) if name == "defeasible_nli" else {})}


SAMPLE = [
    Claim(
        card("sample"),
        "| `defeasible_nli` | `test` | {test} | the bucket set: {original} originals and {paraphrase} paraphrases |",
        lambda sources: sample_config("defeasible_nli"),
    ),
    Claim(
        card("sample"), "| `test` | {test} | the full test set |", lambda sources: sample_config("defeasible_nli_test")
    ),
    Claim(
        card("sample"),
        "| `train`, `validation` | {train} + {validation} |",
        lambda sources: sample_config("defeasible_nli_train"),
    ),
    Claim(
        card("sample"),
        "| `buckets.jsonl` | {n} buckets, {paraphrases} paraphrases | {contexts} | {strengthener} | {weakener} |",
        sample_buckets,
    ),
    *(
        Claim(
            card("sample"),
            f"| `{name}.jsonl` | {{n}} | {{contexts}} | {{strengthener}} | {{weakener}} |",
            lambda sources, name=name: sample_file(name),
        )
        for name in ("test", "train", "validation")
    ),
    Claim(card("sample"), "the {n} bucket originals and {others} other updates", sample_buckets),
    Claim(card("sample"), "{of_five} buckets have five paraphrases and {of_six} have six.", sample_buckets),
    Claim(
        card("sample"),
        "{with_two} contexts have one strengthener bucket and one weakener bucket, the other {with_one} contexts",
        sample_buckets,
    ),
    Claim(card("sample"), "updates and paraphrases are {least} to {most} words long.", sample_lengths),
    Claim(card("sample"), "Every file has all {themes:word} themes", sample_buckets),
    Claim(card("sample"), "one of the {themes:word} themes.", sample_buckets),
    Claim(
        card("sample"),
        "Put as integers, weakener is {weakener} and strengthener is {strengthener}.",
        lambda sources: {name: class_of("sample", "defeasible_nli", name) for name in ("weakener", "strengthener")},
    ),
    *(
        Claim(card("sample"), f"| `{name}` | {{n}} | {said} | {{overlap:.2f}} |", rewording(name))
        for name, said in {
            "light": "a synonym or two, a small change of order",
            "syntactic": "voice, clause order, cleft sentences, negation of the opposite",
            "free": "idiomatic, longer or shorter, few words kept",
        }.items()
    ),
]

CLAIMS = [*BECEL, *SAMPLE]
QUOTES = BECEL_QUOTES
