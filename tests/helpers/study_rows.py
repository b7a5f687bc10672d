"""Rows of the studies."""

from helpers.rows import easy_rows


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
