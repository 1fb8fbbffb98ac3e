"""Small random language models with a tokenizer and a chat template, and what transformers says with them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import perpend
import torch
from frontend.checkpoint.gguf_file import Stored, write_gguf
from frontend.checkpoint.tiny_models import Case, make, save
from frontend.checkpoint.to_gguf import Array, Store, converted, metadata_of

FIXTURES = Path(__file__).parents[1] / "tokenizer" / "fixtures"
CONTEXT = 128
END = 602  # <|end|>
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}[{{ message['role'] }}] {{ message['content'] | trim }}<|end|>\n"
    "{% endfor %}{% if add_generation_prompt %}[assistant] {% endif %}"
)


def make_checkpoint(folder: Path, template: str | None = TEMPLATE, **settings: Any) -> Any:
    """Writes a folder; returns the model. `settings` go to config.json."""
    model = make(
        Case("llama", {"vocab_size": 640, "max_position_embeddings": CONTEXT, "pad_token_id": None} | settings)
    )
    save(model, folder)
    shutil.copy(FIXTURES / "byte-level.json", folder / "tokenizer.json")
    tokenizer: dict[str, Any] = {"bos_token": "<s>", "eos_token": {"content": "</s>", "special": True}}
    if template is not None:
        tokenizer["chat_template"] = template
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [1, END]}))
    return model


def greedy(model: Any, tokens: list[int], count: int, stops: tuple[int, ...] = (1, END)) -> list[int]:
    """What transformers generates, without a cache."""
    said: list[int] = []
    while len(said) < count:
        with torch.no_grad():
            logits = model(torch.tensor([tokens + said])).logits[0, -1].numpy()
        best = np.sort(logits)[-2:]
        assert best[1] - best[0] > 1e-4, "too near: choose another prompt"
        said.append(int(logits.argmax()))
        if said[-1] in stops:
            break
    return said


def tokenizer_of(folder: Path) -> perpend.tokenizer.Tokenizer:
    return perpend.tokenizer.load(folder)


def continuation(folder: Path, tokens: list[int], said: list[int]) -> str:
    """The text of the tokens behind others. `folder`: or a file. The model has more rows than there are tokens; these
    have no text."""
    tokenizer = tokenizer_of(folder)
    said = [token for token in said if token < len(tokenizer)]
    before: str = tokenizer.decode(tokens)
    whole: str = tokenizer.decode(tokens + said)
    assert whole.startswith(before)
    return whole[len(before) :]


def as_it_is(name: str, array: Array) -> Array | Stored:
    return array


def make_gguf(
    path: Path, extra: Mapping[str, Any] | None = None, kind: str = "llama", store: Store = as_it_is, **settings: Any
) -> Any:
    """The same model in one file, with its tokenizer and `extra` in the metadata. `store`: how tensors are stored."""
    model = make(Case(kind, {"vocab_size": 640, "max_position_embeddings": CONTEXT} | settings))
    vocabulary = json.loads((FIXTURES / "byte-level.json").read_text())
    tokens: dict[str, int] = vocabulary["model"]["vocab"]
    tokens |= {token["content"]: token["id"] for token in vocabulary["added_tokens"]}
    special = {token["id"] for token in vocabulary["added_tokens"] if token["special"]}
    pairs = [pair if isinstance(pair, str) else " ".join(pair) for pair in vocabulary["model"]["merges"]]
    tensors = converted(model)
    metadata = metadata_of(model, tensors) | {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "llama-bpe",
        "tokenizer.ggml.tokens": sorted(tokens, key=lambda token: tokens[token]),
        "tokenizer.ggml.token_type": [3 if id in special else 1 for id in range(len(tokens))],
        "tokenizer.ggml.merges": pairs,
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 1,
        "tokenizer.ggml.eot_token_id": END,
        "tokenizer.chat_template": TEMPLATE,
    }
    write_gguf(path, metadata | (extra or {}), {name: store(name, array) for name, array in tensors.items()})
    return model
