"""A model's identity: whatever decides its answers is in it, and its weights are read once."""

import json
import os
import subprocess
import sys

import pytest
from helpers.language_models import save_language_model
from helpers.models import tiny_encoder

from paraconsist import files
from paraconsist.data.prompts import Prompt, templates
from paraconsist.data.tasks import get_task
from paraconsist.models.encoders import load_encoder
from paraconsist.models.loading import load_model
from paraconsist.models.pretrained import weights_hash
from paraconsist.models.prompted import PromptSettings

TASK = get_task("defeasible_nli")
OWN_CODE = """
from transformers import BertForSequenceClassification
class Own(BertForSequenceClassification):
    sign = 1
    def forward(self, *args, **kwargs):
        output = super().forward(*args, **kwargs)
        output.logits = self.sign * output.logits
        return output
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_language_model(folder / "causal", "llama", chat=True)
    save_language_model(folder / "seq2seq", "t5")
    encoder = tiny_encoder(folder / "encoder")
    config = json.loads((encoder / "config.json").read_text())
    config |= {"auto_map": {"AutoModelForSequenceClassification": "modeling_own.Own"}}
    (encoder / "config.json").write_text(json.dumps(config))
    (encoder / "modeling_own.py").write_text(OWN_CODE)
    return folder


def opened(folder, **options):
    if folder.name == "encoder":
        return load_model(folder, task=TASK, **options)
    prompt = Prompt(templates()["s24-delta"])
    return load_model(folder, task=TASK, ask=lambda: PromptSettings(prompt, **options))


@pytest.mark.parametrize(
    ("name", "file", "options"),
    [
        ("causal", "chat_template.jinja", {"chat": True}),
        ("causal", "generation_config.json", {"scoring": "generate"}),
        ("seq2seq", "generation_config.json", {}),
        ("encoder", "modeling_own.py", {"trust_remote_code": True}),
        *(("encoder", file, {}) for file in ("source.spm", "spm.model", "bpe.codes")),
    ],
)
def test_a_changed_file_is_another_model(models, name, file, options):
    folder = models / name
    before = opened(folder, **options).identity
    assert opened(folder, **options).identity == before
    path = folder / file
    kept = path.read_bytes() if path.exists() else None
    path.write_bytes((kept or b"{}") + b"\n")
    try:
        changed = opened(folder, **options).identity
    finally:
        path.unlink() if kept is None else path.write_bytes(kept)
    assert {key for key in changed if changed[key] != before.get(key)} in ({"files"}, {"prompt_files"})
    assert file in changed.get("files", "") + changed.get("prompt_files", "")


@pytest.mark.parametrize(
    ("name", "file"),
    [
        *(("causal", file) for file in ("chat_template.jinja", "generation_config.json")),
        *(("encoder", file) for file in ("modeling_own.py", "README.md", "training.json")),
    ],
)
def test_a_file_that_is_not_used_changes_nothing(models, name, file):
    """What older versions kept of such models is found again."""
    identity = opened(models / name).identity
    assert not {"files", "prompt_files"} & set(identity)
    path = models / name / file
    kept = path.read_bytes() if path.exists() else None
    path.write_bytes((kept or b"{}") + b"\n")
    try:
        assert opened(models / name).identity == identity
    finally:
        path.unlink() if kept is None else path.write_bytes(kept)


def test_vectors_are_kept_for_one_tokenizer(tmp_path):
    folder = tiny_encoder(tmp_path)
    before = load_encoder(folder).content_key(["a text"])
    assert load_encoder(folder).content_key(["a text"]) == before
    settings = folder / "tokenizer_config.json"
    settings.write_text(settings.read_text() + "\n")
    assert load_encoder(folder).content_key(["a text"]) != before


@pytest.fixture
def weights(tmp_path, monkeypatch):
    """A folder with two MiB of weights that are a minute old, and a list of the files that are read whole."""
    monkeypatch.setenv("PARACONSIST_CACHE", str(tmp_path / "cache"))
    reads, digest = [], files.digest
    monkeypatch.setattr(files, "digest", lambda path: reads.append(path.name) or digest(path))
    monkeypatch.setattr(files, "_SETTLED", -1)  # a file's ctime cannot be set back
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_bytes(b"w" * (1 << 21))
    return tmp_path / "model", reads


def test_weights_are_read_once(weights):
    folder, reads = weights
    file = folder / "model.safetensors"
    first = weights_hash(folder)
    assert weights_hash(folder) == first == files.digest(file)["sha256"]
    assert reads == ["model.safetensors"] * 2  # the second is this test's
    entry = next(files.cache_folder().rglob("*.json"))
    assert json.loads(entry.read_text())["path"] == str(file)
    for damage in ("", "[]", "{}", entry.read_text().replace(first, "")):
        entry.write_text(damage)
        assert weights_hash(folder) == first
    stat = file.stat()
    file.write_bytes(b"v" * stat.st_size)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # of the same size and date
    assert weights_hash(folder) != first


def test_young_weights_are_not_remembered(weights, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setenv("PARACONSIST_CACHE", str(weights[0].parent / "cache"))
    weights_hash(weights[0])
    assert not list(files.cache_folder().rglob("*.json"))


def test_a_cache_that_cannot_be_written(weights, monkeypatch):
    (weights[0] / "file").write_text("")
    first = weights_hash(weights[0])
    monkeypatch.setenv("PARACONSIST_CACHE", str(weights[0] / "file"))
    assert weights_hash(weights[0]) == first


READER = """
import sys, time
from pathlib import Path
from paraconsist import files
digest = files.digest
def slow(path):
    print("reads", flush=True)
    time.sleep(1)
    return digest(path)
files.digest, files._SETTLED = slow, -1
print(files.remembered_sha256(Path(sys.argv[1])), flush=True)
"""


@pytest.mark.slow
def test_of_several_processes_one_reads(weights):
    command = [sys.executable, "-c", READER, str(weights[0] / "model.safetensors")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    printed = [process.communicate(timeout=120)[0].split() for process in processes]
    assert len({lines[-1] for lines in printed}) == 1
    assert sum("reads" in lines for lines in printed) == 1
