"""Language models of transformers continue a text: their caches are states of the compiled model."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import perpend
import pytest
import torch
from cli.tool import succeed
from torch import nn
from torch.export import Dim

os.environ["HF_HUB_OFFLINE"] = "1"
transformers = pytest.importorskip("transformers")

SIZES = {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "pad_token_id": 0}
LAYERS = {**SIZES, "intermediate_size": 64, "max_position_embeddings": 64}
GROUPED = {**LAYERS, "num_key_value_heads": 2}

# The name of an architecture and what its configuration says.
DECODERS: dict[str, dict[str, Any]] = {
    "Llama": GROUPED,
    "Mistral": {**GROUPED, "sliding_window": 4},
    "Gemma2": {**GROUPED, "head_dim": 8, "sliding_window": 4},
    "GPT2": {"vocab_size": 100, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
}


def made(name: str) -> nn.Module:
    torch.manual_seed(0)
    config = getattr(transformers, name + "Config")(**DECODERS[name])
    kind = "GPT2LMHeadModel" if name == "GPT2" else name + "ForCausalLM"
    return getattr(transformers, kind)(config).eval()


def tokens(batch: int, length: int) -> torch.Tensor:
    return torch.randint(3, 100, (batch, length))


def compiled(net: nn.Module, batch: int = 1, cache: int = 48, **options: Any) -> Any:
    inputs, shapes = {"input_ids": tokens(batch, 4)}, {"input_ids": {1: Dim.DYNAMIC}}
    return perpend.compile(net, example_inputs=inputs, dynamic_shapes=shapes, cache=cache, **options)


@pytest.mark.parametrize("name", DECODERS)
def test_a_text_in_pieces_as_in_torch(name: str) -> None:
    net = made(name)
    model, text = compiled(net, batch=2), tokens(2, 20)
    with torch.no_grad():
        whole = net(text).logits
    at = 0
    for count in (7, 1, 1, 5, 1, 5):
        results = model(text[:, at : at + count])
        assert results.past_key_values is None
        at += count
        torch.testing.assert_close(results.logits, whole[:, at - count : at], atol=1e-4, rtol=1e-4)
    assert {array.shape[0] for array in model.states.values()} == {20}


def test_a_generated_text_as_in_torch(tmp_path: Path) -> None:
    net = made("Llama")
    model, prompt = compiled(net), tokens(1, 6)
    expected = net.generate(prompt, max_new_tokens=12, do_sample=False)
    for _ in range(2):
        model.reset()
        text, logits = prompt, model(input_ids=prompt).logits
        for _ in range(12):
            text = torch.cat([text, logits[:, -1:].argmax(-1)], 1)
            logits = model(text[:, -1:]).logits
        assert torch.equal(text, expected)
    assert list(model.states) == ["past_keys_0", "past_values_0", "past_keys_1", "past_values_1"]
    with pytest.raises(ValueError, match=r"state 'past_keys_0' needs .* <= 48"):
        model(tokens(1, 40))
    model.save(tmp_path / "model.so")
    loaded = perpend.load(tmp_path / "model.so")
    logits = loaded(prompt.numpy()).logits
    model.reset()
    torch.testing.assert_close(torch.as_tensor(logits), model(prompt).logits)


def test_keys_are_written_where_they_stay(tmp_path: Path) -> None:
    inputs, shapes = (tokens(1, 4),), ({1: Dim.DYNAMIC},)
    module = perpend.import_model(made("Llama"), example_inputs=inputs, dynamic_shapes=shapes, cache=48)
    path = tmp_path / "model.mlir"
    path.write_bytes(module.to_bytes())
    said = succeed("inspect", path, "--stage", "plan", folder=tmp_path)
    assert len(re.findall(r"host\.state .* growing 0", said)) == 4
    assert said.count("host.in_place") == 4
    assert "host.copy" not in said


def test_what_has_no_such_cache_is_refused() -> None:
    with pytest.raises(perpend.CompileError, match="expected a module whose forward takes past_key_values, got Linear"):
        perpend.compile(nn.Linear(3, 4), example_inputs=(torch.ones(2, 3),), cache=8)
    options = {**SIZES, "state_size": 8, "time_step_rank": 4}
    net = transformers.MambaForCausalLM(transformers.MambaConfig(**options)).eval()
    with pytest.raises(perpend.CompileError, match=r"cache: expected a module whose forward takes past_key_values"):
        perpend.compile(net, example_inputs=(tokens(1, 4),), cache=8)
