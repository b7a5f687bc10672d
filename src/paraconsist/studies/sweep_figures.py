"""A sweep's figures and its table: accuracy against P_C, and every figure against data and size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paraconsist.reporting.plots.accuracy_consistency import Point, accuracy_consistency_plot
from paraconsist.reporting.plots.canvas import Plot, write_plot
from paraconsist.studies.plots import curve_plot
from paraconsist.studies.summary import FIGURES, configuration_name

_P_C = "paraphrastic_consistency"
_AXES = (("n_rows", "rows", "training rows"), ("n_parameters", "size", "parameters"))


def sweep_plots(said: Mapping[str, Any]) -> list[Plot]:
    """Return every plot of what `sweep` returned: those of S24's Figures 5 and 6 and of J22's Figure 4."""
    cells = sorted(said["cells"], key=lambda cell: (str(cell["model"]), str(cell["varied"]), cell["share"]))
    sets = list(dict.fromkeys(name for cell in cells for name in cell["sets"]))
    plots = []
    for name in sets:
        points = [
            Point(configuration_name(cell), name, values["bucket_accuracy"], values[_P_C])
            for cell in cells
            if (values := cell["sets"].get(name, {}).get(_P_C)) is not None
        ]
        if points:
            plots.append(_renamed(accuracy_consistency_plot(points), f"accuracy-consistency-{_slug(name)}"))
        for axis, word, label in _AXES:
            plots += _against(cells, name, axis, word, label)
    return plots


def _against(cells: Sequence[Mapping[str, Any]], name: str, axis: str, word: str, label: str) -> list[Plot]:
    by_configuration: dict[str, list[float]] = {}  # shares are drawn by group: the seeds' rows differ a little
    for cell in cells:
        by_configuration.setdefault(configuration_name(cell), []).append(float(cell[axis]))
    place = {name: sum(values) / len(values) for name, values in by_configuration.items()}
    if len(set(place.values())) < 2:
        return []
    kinds = {"P_C": ("A", "P_C", "P_C unb.", "A_T"), "tau": tuple(f[2] for f in FIGURES if f[2].startswith("tau"))}
    plots = []
    for kind, labels in kinds.items():
        series: dict[str, list[tuple[float, float]]] = {}
        for measure, key, figure in FIGURES:
            for cell in cells if figure in labels else ():
                value = cell["sets"].get(name, {}).get(measure, {}).get(key)
                if value is not None:
                    series.setdefault(figure, []).append((place[configuration_name(cell)], float(value)))
        if series:
            plots.append(
                curve_plot(
                    f"{kind.lower().replace('_', '')}-by-{word}-{_slug(name)}",
                    f"{kind} against {label}: {name}",
                    series,
                    xlabel=label,
                    ylabel="per cent",
                    log=True,
                    caption=f"Small marks are single trainings, lines go through their means. {name}.",
                )
            )
    return plots


def write_sweep_plots(said: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write every plot as PNG and SVG."""
    return [file for plot in sweep_plots(said) for file in write_plot(plot, folder)]


def markdown_table(said: Mapping[str, Any]) -> str:
    """Return the summary as a Markdown table: mean over seeds, standard deviation behind it, in per cent."""
    out = []
    for name in dict.fromkeys(row["set"] for row in said["summary"]):
        rows = [row for row in said["summary"] if row["set"] == name]
        labels = [figure[2] for figure in FIGURES if any(figure[2] in row["figures"] for row in rows)]
        out += [
            f"**{name}**",
            "",
            f"| training | rows | seeds | {' | '.join(labels)} |",
            "|---" * (3 + len(labels)) + "|",
        ]
        for row in sorted(rows, key=lambda row: (str(row["model"]), str(row["varied"]), row["share"])):
            values = [_cell(row["figures"].get(label)) for label in labels]
            out.append(f"| {row['configuration']} | {row['n_rows']:,.0f} | {row['n_seeds']} | {' | '.join(values)} |")
        out.append("")
    return "\n".join(out)


def _cell(value: Mapping[str, float] | None) -> str:
    if value is None:
        return "-"
    mean = f"{100 * value['mean']:.1f}"
    return mean if value["sd"] != value["sd"] else f"{mean} ± {100 * value['sd']:.1f}"


def _renamed(plot: Plot, name: str) -> Plot:
    return Plot(name, plot.title, plot.caption, plot.description, plot.draw)


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in name).strip("-").lower()
