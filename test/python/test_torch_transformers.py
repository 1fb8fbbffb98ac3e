"""Architectures of transformers, small and with random weights: one artifact agrees with eager execution for every
batch and, but for recurrent ones, every length. What takes PyTorch long to trace is run by `./dev test --long`."""

from __future__ import annotations

import os
from typing import Any

import perpend
import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.utils import _pytree as pytree

os.environ["HF_HUB_OFFLINE"] = "1"
transformers = pytest.importorskip("transformers")

DYNAMIC = Dim.DYNAMIC
SLOW = pytest.mark.skipif(not os.environ.get("PERPEND_LONG"), reason="for --long")
WORDS = {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "use_cache": False}
LAYERS = {"intermediate_size": 64, "num_attention_heads": 4, "max_position_embeddings": 64, "pad_token_id": 0}
GROUPED = {**WORDS, **LAYERS, "num_key_value_heads": 2}
LATENT = {"q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8}
EXPERTS = {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1, "first_k_dense_replace": 1}

# The name of an architecture and what its configuration says.
DECODERS: dict[str, dict[str, Any]] = {
    "Qwen2": {**GROUPED, "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1},
    "Qwen3": {**GROUPED, "head_dim": 8},
    "Mistral": {**GROUPED, "sliding_window": 4},
    "Gemma2": {**GROUPED, "head_dim": 8, "sliding_window": 4},
    "Phi3": GROUPED,
    "DeepseekV3": {**GROUPED, **LATENT, **EXPERTS, "num_key_value_heads": 4, "moe_intermediate_size": 16},
    "Bloom": {"vocab_size": 100, "hidden_size": 32, "n_layer": 2, "n_head": 4, "use_cache": False},
    "Mamba": {**WORDS, "state_size": 8, "time_step_rank": 4},
    "Rwkv": {**WORDS, "attention_hidden_size": 32, "context_length": 64, "rescale_every": 0},
}

# Their layers take one step after the other, which PyTorch unrolls.
RECURRENT = {"Mamba", "Rwkv"}
TRACED_LONG = {"DeepseekV3"}


def tokens(batch: int, length: int) -> torch.Tensor:
    return torch.randint(1, 100, (batch, length))


def agrees(model: perpend.Model, net: nn.Module, inputs: dict[str, torch.Tensor]) -> None:
    with torch.no_grad():
        wanted = net(**inputs)
    got = model(**inputs)
    results, expected = ([v for v in pytree.tree_leaves(all_) if v is not None] for all_ in (got, wanted))
    assert type(got) is type(wanted) and len(results) == len(expected)
    for result, reference in zip(results, expected, strict=True):
        torch.testing.assert_close(result, reference, atol=1e-4, rtol=1e-4)


def made(kind: str, name: str, options: dict[str, Any]) -> nn.Module:
    torch.manual_seed(0)
    net: nn.Module = getattr(transformers, name + kind)(getattr(transformers, name + "Config")(**options))
    return net.eval()


@pytest.mark.parametrize("name", [pytest.param(n, marks=SLOW if n in TRACED_LONG else ()) for n in DECODERS])
def test_decoder(name: str) -> None:
    net = made("ForCausalLM", name, DECODERS[name])
    shapes = {"input_ids": {0: DYNAMIC} if name in RECURRENT else {0: DYNAMIC, 1: DYNAMIC}}
    model = perpend.compile(net, example_inputs={"input_ids": tokens(2, 7)}, dynamic_shapes=shapes)
    for batch, length in ((2, 7), (1, 13), (3, 4)):
        agrees(model, net, {"input_ids": tokens(batch, 7 if name in RECURRENT else length)})


def test_clip() -> None:
    part = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    text = {**part, "vocab_size": 100, "max_position_embeddings": 16, "eos_token_id": 99}
    net = made("Model", "CLIP", {"text_config": text, "vision_config": {**part, "image_size": 16, "patch_size": 8}})

    def inputs(texts: int, length: int, images: int) -> dict[str, torch.Tensor]:
        mask = torch.ones(texts, length, dtype=torch.long)
        return {
            "input_ids": tokens(texts, length),
            "pixel_values": torch.randn(images, 3, 16, 16),
            "attention_mask": mask,
        }

    rows = {0: DYNAMIC, 1: DYNAMIC}
    shapes = {"input_ids": rows, "pixel_values": {0: DYNAMIC}, "attention_mask": rows}
    model = perpend.compile(net, example_inputs=inputs(2, 7, 3), dynamic_shapes=shapes)
    for extents in ((2, 7, 3), (4, 16, 2), (1, 5, 1)):
        agrees(model, net, inputs(*extents))
