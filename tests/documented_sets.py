"""Claims of the cards of ParaNLU and PaRTE: counts that the builders declare, which a build checks, and from rows."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from documented_numbers import Claim, Quote
from documented_sources import Rows, Sources

from paraconsist.dataset_builders import builder_class


def card(name: str) -> str:
    return f"dataset_builders/{name}/README.md"


def configs(name: str) -> dict[str, Any]:
    return {config.name: config for config in builder_class(name).BUILDER_CONFIGS}


def counted(name: str, config: str, split: str = "test") -> dict[str, int]:
    return dict(configs(name)[config].counts[split])


def class_of(name: str, config: str, label: str) -> int:
    return list(configs(name)[config].label_names).index(label)


def distinct(rows: Rows, column: str) -> int:
    return len({row[column] for row in rows})


def originals(rows: Rows) -> Rows:
    return [row for row in rows if row["role"] == "original"]


def paraphrases(rows: Rows) -> Rows:
    return [row for row in rows if row["role"] == "paraphrase"]


# ------------------------------------------------------------------------------------------------ ParaNLU

HUMAN = ("alpha_nli", "delta_snli", "delta_atomic", "delta_social")
AUTOMATIC = tuple(f"{name}_automatic" for name in HUMAN)


def bucket_sizes(rows: Rows) -> Counter[str]:
    return Counter(row["bucket_id"] for row in paraphrases(rows))


def paranlu_row(sources: Sources, config: str) -> dict[str, Any]:
    rows = sources.rows("paranlu", config)
    sizes = bucket_sizes(rows).values()
    labels = Counter(row["label"] for row in originals(rows))
    return {
        "buckets": len(sizes),
        "n": len(paraphrases(rows)),
        "contexts": distinct(rows, "group_id"),
        "least": min(sizes),
        "most": max(sizes),
        "zero": labels[0],
        "one": labels[1],
    }


def paranlu_test_row(sources: Sources, config: str) -> dict[str, Any]:
    rows = sources.rows("paranlu", config)
    return {"n": len(rows), "contexts": distinct(rows, "group_id")}


def paranlu_labels(sources: Any) -> dict[str, int]:
    names = {"delta_snli": ("weakener", "strengthener"), "alpha_nli": ("hypothesis_1", "hypothesis_2")}
    return {label: class_of("paranlu", config, label) for config, labels in names.items() for label in labels}


def source_splits(sources: Sources) -> dict[str, int]:
    return dict(Counter(row["source_split"] for row in originals(sources.rows("paranlu", "alpha_nli"))))


def copies(sources: Sources) -> dict[str, int]:
    found = {
        name: sum(row["copies_original"] for row in sources.rows("paranlu", name)) for name in (*HUMAN, *AUTOMATIC)
    }
    found["all"] = sum(found[name] for name in AUTOMATIC)
    found["human"] = sum(found[name] for name in HUMAN)
    assert found["human"] == found["delta_atomic"]
    return found


def buckets_of_one(sources: Sources) -> dict[str, int]:
    def ones(config: str) -> int:
        return sum(size == 1 for size in bucket_sizes(sources.rows("paranlu", config)).values())

    assert not any(ones(name) for name in HUMAN if name != "delta_snli")
    return {"snli": ones("delta_snli"), "automatic": sum(ones(name) for name in AUTOMATIC)}


def outer_spaces(sources: Sources) -> dict[str, float]:
    def share(rows: Rows) -> float:
        texts = [[str(value) for key, value in row.items() if key in REWRITTEN] for row in rows]
        return 100 * sum(any(text != text.strip() for text in row) for row in texts) / len(texts)

    every = [row for name in HUMAN for row in sources.rows("paranlu", name)]
    assert share(originals(every)) == 0
    return {"share": share(paraphrases(every))}


REWRITTEN = ("update", "hypothesis_1", "hypothesis_2")


def code_length(sources: Sources) -> dict[str, int]:
    codes = {
        part
        for row in paraphrases(sources.rows("paranlu", "delta_snli"))
        for part in re.findall(r"[A-Z0-9]{25,}", row["example_id"])
    }
    (length,) = {len(code) for code in codes}
    return {"n": length}


def shared_with_test(sources: Sources) -> dict[str, int]:
    test = {row["example_id"] for row in sources.rows("paranlu", "alpha_nli_test")}
    return {"n": sum(row["example_id"] in test for row in originals(sources.rows("paranlu", "alpha_nli")))}


PARANLU = [
    *(
        Claim(
            card("paranlu"),
            f"| `{name}` | {{buckets}} | {{n:,}} | {{contexts}} | {{least}} to {{most}} | {{zero}} / {{one}} |",
            lambda sources, name=name: paranlu_row(sources, name),
            "data",
        )
        for name in (*HUMAN, *AUTOMATIC)
    ),
    *(
        Claim(
            card("paranlu"),
            f"| `{name}_test` | {{n:,}} | {{contexts:,}} |",
            lambda sources, name=name: paranlu_test_row(sources, f"{name}_test"),
            "data",
        )
        for name in HUMAN
    ),
    Claim(
        card("paranlu"),
        "Human paraphrases sum to {human:,} (the paper's Table 2), automatic ones to {automatic:,}.",
        lambda sources: {
            "human": sum(counted("paranlu", name)["paraphrase"] for name in HUMAN),
            "automatic": sum(counted("paranlu", name)["paraphrase"] for name in AUTOMATIC),
        },
    ),
    Claim(
        card("paranlu"),
        "delta: {weakener} `weakener`, {strengthener} `strengthener`; alpha: {hypothesis_1} `hypothesis_1`, "
        "{hypothesis_2} `hypothesis_2`",
        paranlu_labels,
    ),
    Claim(
        card("paranlu"), "(`train_easy`, {train_easy} buckets) or `anli.test` (`test`, {test})", source_splits, "data"
    ),
    Claim(card("paranlu"), "The {n}-character code inside a paraphrase's id", code_length, "data"),
    Claim(
        card("paranlu"),
        "but {n} of `alpha_nli_automatic`, which are by QCPG",
        lambda sources: {"n": sum(row["source"] == "qcpg" for row in sources.rows("paranlu", "alpha_nli_automatic"))},
        "data",
    ),
    Claim(
        card("paranlu"),
        "{buckets} delta-SNLI buckets share {contexts} contexts.",
        lambda sources: paranlu_row(sources, "delta_snli"),
        "data",
    ),
    Claim(
        card("paranlu"),
        "estimator: {snli:word} bucket in `delta_snli`; {automatic:word} in the automatic delta configs.",
        buckets_of_one,
        "data",
    ),
    Claim(
        card("paranlu"),
        "`delta_social_automatic` lacks {n:word} bucket.",
        lambda sources: {
            "n": counted("paranlu", "delta_social")["original"]
            - counted("paranlu", "delta_social_automatic")["original"]
        },
    ),
    Claim(
        card("paranlu"),
        "{all} automatic paraphrases copy the original ({alpha_nli_automatic} alpha, {delta_snli_automatic} SNLI, "
        "{delta_atomic_automatic} ATOMIC, {delta_social_automatic} SOCIAL), which flatters consistency; so does "
        "{human:word} human paraphrase (ATOMIC).",
        copies,
        "data",
    ),
    Claim(
        card("paranlu"), "About {share:.0f} % of the human paraphrases begin or end with a space", outer_spaces, "data"
    ),
    Claim(
        card("paranlu"),
        "and their buckets hold up to {most}.",
        lambda sources: paranlu_row(sources, "alpha_nli_automatic"),
        "data",
    ),
    Claim(card("paranlu"), "{n} originals of `alpha_nli` stand in `alpha_nli_test` as well.", shared_with_test, "data"),
]

# -------------------------------------------------------------------------------------------------- PaRTE


def parte(sources: Sources, config: str = "rte") -> dict[str, Any]:
    first = originals(sources.rows("parte", config))
    buckets_of = Counter(row["group_id"] for row in first)
    return {
        "rows": len(sources.rows("parte", config)),
        "buckets": len(first),
        **Counter(row["paraphrased"] for row in first),
        **Counter(row["source_task"] for row in first),
        "entailed": sum(row["gold_label"] == "entailment" for row in first),
        "originals": len(buckets_of),
        "repeated": sum(n > 1 for n in buckets_of.values()),
    }


_TASKS = ("IR", "QA", "SUM", "IE", "RC", "CD", "MT", "PP")
PARTE = [
    Claim(
        card("parte"),
        "of {rows:,} rows: {buckets:,} buckets of {roles:word}.",
        lambda s: {**parte(s), "roles": 2},
        "data",
    ),
    *(
        Claim(
            card("parte"),
            f"| `{name}` | {{buckets:,}} | {{premise}} | {{hypothesis}} | {{both}} | {{entailed}} | {{originals}} |",
            lambda sources, name=name: parte(sources, name),
            "data",
        )
        for name in ("rte", "rte_normalized")
    ),
    Claim(card("parte"), "| buckets | " + " | ".join(f"{{{task}}}" for task in _TASKS) + " |", parte, "data"),
    Claim(card("parte"), "{repeated} originals stand in more than one bucket", parte, "data"),
    Claim(
        card("parte"),
        "{entailment} `entailment`, {not_entailment} `not_entailment`, as in",
        lambda sources: {label: class_of("parte", "rte", label) for label in ("entailment", "not_entailment")},
    ),
    Claim(
        card("parte"),
        "{buckets:,} pairs with {originals} originals, the numbers of the table above",
        parte,
        "data",
    ),
    Claim(card("parte"), "independent: {originals} originals in {buckets:,} buckets.", parte, "data"),
]
PARTE_QUOTES = [Quote(card("parte"), "Jaccard index of at least 0.75", "the paper says", "Verma et al. 2023, 3.1")]

CLAIMS = [*PARANLU, *PARTE]
QUOTES = PARTE_QUOTES
