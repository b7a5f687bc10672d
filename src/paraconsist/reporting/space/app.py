"""The gradio page: data, columns and options on one side, results on the other."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.resources import files
from typing import Any

import gradio as gr

from paraconsist.data.predictions import Predictions
from paraconsist.data.tables import ENDINGS
from paraconsist.errors import InputError
from paraconsist.reporting.space.forms import (
    MAX_BYTES,
    MAX_ROWS,
    Layout,
    Module,
    Query,
    guess_columns,
    guess_layout,
    read_text,
    read_upload,
)
from paraconsist.reporting.space.page import empty_page, header, preview, report_of, results_page

_NOTHING = "(none)"
_MOST_RESAMPLES = 20_000
_KEPT = 30 * 60  # seconds that a visitor's rows are kept after the last use
_UNFORESEEN = (
    "Unexpected error ({}): this could not be read or scored. The page takes CSV, TSV, JSON Lines and "
    "Parquet with a line of column names; for this measure the columns are: {}. Choose them on the left, or see the "
    "example. If yours are so, please report it in the discussions of this page, with the first lines of your file."
)


def looks() -> dict[str, Any]:
    """Return theme and style, for `launch`: system fonts only, so that nothing is loaded from elsewhere."""
    sans, mono = ["ui-sans-serif", "system-ui", "sans-serif"], ["ui-monospace", "Consolas", "monospace"]
    theme = gr.themes.Default(primary_hue="teal", secondary_hue="teal", neutral_hue="slate", font=sans, font_mono=mono)
    shades = {"body_text_color_subdued": 500, "body_text_color_subdued_dark": 400, "block_info_text_color": 500}
    shades |= {"block_info_text_color_dark": 400, "block_label_text_color": 600, "block_title_text_color": 600}
    shades["block_title_text_color_dark"] = 200
    theme = theme.set(**{name: f"*neutral_{shade}" for name, shade in shades.items()})
    return {"theme": theme, "css": _beside("style.css")}


def _beside(name: str) -> str:
    return files("paraconsist.reporting.space").joinpath(name).read_text(encoding="utf-8")


def build(module: Module) -> gr.Blocks:
    """Return the page of a module."""
    fields = {one.key: one for layout in module.layouts for one in layout.fields}
    title = f"{module.spec.title} · paraconsist"
    with gr.Blocks(title=title, analytics_enabled=False, delete_cache=(300, 300)) as demo:
        rows = gr.State(None, time_to_live=_KEPT)
        gr.HTML(header(module))
        with gr.Row(equal_height=False):
            with gr.Column(scale=4, min_width=300):
                file = gr.File(label="Predictions", file_types=list(ENDINGS), height=130, elem_id="upload")
                limits = f"up to {MAX_BYTES // 2**20} MB and {MAX_ROWS:,} rows"
                gr.HTML(f'<p class="pc-muted">CSV, TSV, JSON Lines or Parquet, {limits}.</p>')
                example = gr.Button("Try the example", elem_id="example", size="sm")
                with gr.Accordion("Or paste rows", open=False, elem_id="paste-panel"):
                    hint = "CSV with a line of column names, or JSON Lines"
                    text = gr.Textbox(label=hint, lines=6, max_lines=12, elem_id="paste")
                    paste = gr.Button("Use these rows", elem_id="use-paste", size="sm")
                first_rows = gr.HTML("", elem_id="preview")
                layout = gr.Radio(
                    [(one.label, one.key) for one in module.layouts],
                    value=module.layouts[0].key,
                    label="How the file is laid out",
                    visible=len(module.layouts) > 1,
                    elem_id="layout",
                )
                with gr.Group():
                    first = zip(fields.items(), _settings(module.layouts[0], list(fields), []), strict=True)
                    choices = {
                        key: gr.Dropdown(multiselect=one.many, interactive=True, elem_id=f"column-{key}", **settings)
                        for (key, one), settings in first
                    }
                with gr.Accordion("Options", open=False, elem_id="options"):
                    options: dict[str, Any] = {}
                    for one in module.options:
                        usual, looks_of = one.choices[0][1], {"interactive": True, "elem_id": f"option-{one.key}"}
                        options[one.key] = gr.Dropdown(list(one.choices), value=usual, label=one.label, **looks_of)
                    level = gr.Slider(0.5, 0.99, 0.95, step=0.01, label="Confidence level", elem_id="level")
                    most = f"Resamples, up to {_MOST_RESAMPLES:,}"
                    resamples = gr.Number(10_000, label=most, precision=0, elem_id="resamples")
                    seed = gr.Number(0, label="Seed", precision=0, elem_id="seed")
                    names = gr.Textbox(
                        label="Names of the labels 0, 1, …",
                        info="With commas between them; only where gold labels are names and predictions are numbers",
                        visible="label" in fields,
                        elem_id="label-names",
                    )
                go = gr.Button("Score", variant="primary", elem_id="score")  # sticks to the lower edge of the window
                gr.HTML(
                    '<p class="pc-muted">Your rows stay in the memory of this server for as long as you use the page. '
                    "They are not stored, logged or sent on.</p>"
                )
            with gr.Column(scale=9, min_width=300):
                download = gr.Button("Download the report", elem_id="download", size="sm", visible=False)
                results = gr.HTML(empty_page(), elem_id="results")

        keys = list(choices)
        views = [results, download]
        read_outputs = [rows, first_rows, layout, *choices.values(), *views]

        def dropdowns(layout: Layout, columns: Sequence[str]) -> list[Any]:
            return [gr.update(**settings) for settings in _settings(layout, keys, columns)]

        def loaded(predictions: Predictions, name: str) -> list[Any]:
            columns = predictions.table.column_names
            best = guess_layout(module.layouts, columns)
            shown = preview(predictions, name)
            return [predictions, shown, gr.update(value=best.key), *dropdowns(best, columns), *clear()]

        def forget() -> list[Any]:
            return [None, "", gr.update(), *dropdowns(module.layouts[0], []), *clear()]

        def upload(path: str) -> list[Any]:
            return loaded(read_upload(path), str(path).replace("\\", "/").rpartition("/")[2])

        def use_text(pasted: str) -> list[Any]:
            return loaded(read_text(pasted or ""), "Pasted rows")

        def show_example() -> list[Any]:
            example_rows = module.example()
            return [example_rows, *loaded(read_text(example_rows), "Example")]

        def relaid(predictions: Predictions | None, key: str) -> list[Any]:
            columns = predictions.table.column_names if predictions is not None else []
            return dropdowns(module.layout(key), columns)

        def score(predictions: Predictions | None, key: str, label_names: str, *values: Any) -> list[Any]:
            if predictions is None:
                raise InputError("There are no rows yet. Upload a file, paste rows, or try the example.")
            columns = dict(zip(keys, values, strict=False))
            chosen_level, n, chosen_seed, *chosen_options = values[len(keys) :]
            picked = module.layout(key)
            chosen = {one.key: columns[one.key] for one in picked.fields}
            query = Query(
                predictions=predictions,
                layout=picked,
                columns={key: None if value in (_NOTHING, "", []) else value for key, value in chosen.items()},
                label_names=[name.strip() for name in (label_names or "").split(",") if name.strip()],
                confidence_level=round(float(chosen_level), 4),
                n_resamples=_whole(n, "Resamples", 1, _MOST_RESAMPLES),
                seed=_whole(chosen_seed, "Seed", 0, 2**32 - 1),
                options=dict(zip(options, chosen_options, strict=True)),
            )
            result = module.measured(query)
            report = report_of(module, result, query.intervals)
            return [results_page(module, result, query.confidence_level, report), gr.update(visible=bool(report))]

        def clear() -> list[Any]:
            return [empty_page(), gr.update(visible=False)]

        safely = partial(_safely, columns=expected_columns(module))
        score_inputs = [rows, layout, names, *choices.values(), level, resamples, seed, *options.values()]
        quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}

        def scores(event: Any) -> None:
            how = {"api_visibility": "private", "show_progress": "minimal"}
            event.then(safely(score), score_inputs, views, **how).success(None, js=_beside("arrive.js"), **quiet)

        download.click(None, js=_beside("download.js"), api_visibility="private")
        file.upload(forget, None, read_outputs, **quiet).then(safely(upload), file, read_outputs, **quiet)
        file.clear(forget, None, read_outputs, **quiet)
        paste.click(forget, None, read_outputs, **quiet).then(safely(use_text), text, read_outputs, **quiet)
        layout.input(relaid, [rows, layout], list(choices.values()), **quiet)
        scores(go.click(clear, None, views, **quiet))
        scores(example.click(safely(show_example), None, [text, *read_outputs], **quiet))
    return demo


def _settings(layout: Layout, keys: Sequence[str], columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield choices and best guess of every dropdown; those of other layouts are hidden."""
    own, guesses = {one.key: one for one in layout.fields}, guess_columns(layout.fields, columns)
    for one in map(own.get, keys):
        if one is None:
            yield {"visible": False}
            continue
        listed = list(columns) if one.required or one.many or not columns else [_NOTHING, *columns]
        value = guesses[one.key] or ([] if one.many else None if one.required or not columns else _NOTHING)
        label = one.label + ("" if one.required else " (if there is one)")
        yield {"choices": listed, "value": value, "label": label, "info": one.info or None, "visible": True}


def _whole(value: Any, label: str, least: int, most: int) -> int:
    if value is None or not least <= value <= most or int(value) != value:
        raise InputError(f"{label} must be a whole number from {least:,} to {most:,}; got {value}.")
    return int(value)


def expected_columns(module: Module) -> str:
    """Return the required columns of a page's layouts, in words."""
    layouts = (", ".join(one.label for one in layout.fields if one.required) for layout in module.layouts)
    return "; or ".join(layouts)


def _safely(function: Callable[..., Any], columns: str) -> Callable[..., Any]:
    """Turn what is raised into a message for the visitor, with the `columns` that are expected; nothing is logged."""

    def wrapped(*values: Any) -> Any:
        try:
            return function(*values)
        except InputError as problem:
            problem.first_row = 1
            message = str(problem)
        except Exception as problem:
            message = _UNFORESEEN.format(type(problem).__name__, columns)
        raise gr.Error(html.escape(message), duration=None, print_exception=False)

    return wrapped
