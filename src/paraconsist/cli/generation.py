"""What `paraphrase` and `sensitivity` share: the endpoint of a generator, and what is printed of generators."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from paraconsist.cli.ends import say_status
from paraconsist.cli.options import Given, endpoint_fields, endpoint_settings
from paraconsist.cli.run import say_usage
from paraconsist.errors import renamed
from paraconsist.models.endpoint.settings import EndpointSettings

if TYPE_CHECKING:
    from paraconsist.transforms.paraphrase.generators import Generator, GeneratorSettings
    from paraconsist.transforms.paraphrase.refining import Refined

#: The endpoint's `tries` are of a request, the generator's of candidates.
GENERATOR_ENDPOINT = endpoint_fields(tries="request_tries")


def generator_endpoint(options: Given) -> EndpointSettings | None:
    """Return what the options of `GENERATOR_ENDPOINT` say of an endpoint; None where there is none."""
    with renamed(tries="request_tries"):
        return endpoint_settings(options)


def say_generator(generator: Generator) -> None:
    """Print what a generator behind an endpoint came to."""
    from paraconsist.transforms.paraphrase.generators import EndpointGenerator

    if isinstance(generator, EndpointGenerator):
        usage = generator.usage()
        say_usage(usage, f"{generator.model}: {usage.n_requests:,} requests answered in all")
        kept = f"What it wrote is kept in {generator.answers}; the same command does not ask for it again."
        say_status(kept)


def say_refined(refined: Refined, settings: GeneratorSettings, skipped: Counter[str]) -> None:
    """Print what was generated and kept, and why the rest was not."""
    for reason, n in skipped.most_common():
        say_status(f"rows left out {n:,}: {reason}")
    say_status(
        f"{refined.n_accepted:,} of {refined.n_judged:,} candidates accepted ({100 * refined.acceptance_rate:.1f} %), "
        f"for {len(refined.accepted):,} distinct originals, up to {settings.keep} each; {refined.n_calls} calls"
        + (f", {refined.n_unused:,} candidates not needed" if refined.n_unused else ""),
    )
    for reason, n in refined.reasons.most_common():
        say_status(f"  left out {n:,}: {reason}")
    sizes = Counter(len(texts) for texts in refined.accepted.values())
    say_status("  originals by paraphrases: " + ", ".join(f"{k}: {sizes[k]:,}" for k in sorted(sizes)))
