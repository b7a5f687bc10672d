"""Rows and commands of the studies."""

import pytest
from helpers.rows import easy_rows

from paraconsist.cli.app import main

# the command of training and the command of running


def call(*arguments: object) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert ended.value.code == 0


def refused(capsys, *arguments: object) -> str:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert ended.value.code == 2
    return capsys.readouterr().err


def bucket_rows(n: int) -> list[dict]:
    rows = []
    for i, row in enumerate(easy_rows(n)):
        bucket = f"b{i}"
        rows.append({**row, "bucket_id": bucket, "role": "original", "example_id": f"{bucket}.o"})
        for k in range(2):
            text = row["update"].replace("the ", ("a ", "every ")[k])
            place = {"bucket_id": bucket, "role": "paraphrase", "example_id": f"{bucket}.{k}"}
            rows.append({**row, "update": text, **place})
    return rows
