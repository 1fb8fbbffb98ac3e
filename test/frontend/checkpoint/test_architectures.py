"""Logits of checkpoints of each architecture, compared with those of transformers."""

from pathlib import Path
from typing import Any

import numpy as np
import perpend
import pytest
from frontend.checkpoint.tiny_models import (
    CASES,
    DEPEND_ON_LENGTH,
    TOLERANCE,
    YARN,
    agree,
    generates_as_transformers,
    logits,
    make,
    prompt,
    rope,
    save,
)


@pytest.mark.parametrize("name", CASES)
def test_folder(name: str, tmp_path: Path) -> None:
    model = make(CASES[name])
    compiled = perpend.compile(save(model, tmp_path))
    for length in (1, 7, 128):
        tokens = prompt(length, batch=2 if length == 7 else 1)
        agree(compiled(tokens), logits(model, tokens))
    generates_as_transformers(model, lambda text: compiled(text[None])[0, -1], name in DEPEND_ON_LENGTH)


@pytest.mark.parametrize(
    "name, settings",
    [
        ("llama", {"rms_norm_eps": 0.01}),
        ("llama", {"hidden_act": "relu"}),
        ("llama", {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}}),
        ("mistral", {"sliding_window": 6}),
        ("qwen2-windows", {"layer_types": ["sliding_attention", "full_attention"]}),
        ("gemma2", {"attn_logit_softcapping": 2.0}),
        ("gemma2", {"final_logit_softcapping": 29.0}),
        ("gemma2", {"query_pre_attn_scalar": 25}),
        ("gemma2", {"sliding_window": 7}),
        ("gemma3", {"layer_types": ["full_attention"] * 3}),
        ("gpt2", {"scale_attn_by_inverse_layer_idx": True}),
        ("gpt2", {"layer_norm_epsilon": 0.01}),
        ("qwen3-moe", {"norm_topk_prob": True}),
        ("mixtral", {"num_experts_per_tok": 1}),
        ("deepseek2", {"num_experts_per_tok": 2}),
        ("deepseek2", {"routed_scaling_factor": 1.0}),
        ("deepseek2-groups", {"topk_group": 3}),
        ("deepseek2-groups", {"topk_method": "greedy"}),
        ("deepseek2-groups", {"n_group": 2, "topk_group": 1}),
        ("deepseek2-yarn", rope("yarn", **YARN, mscale=0.707, mscale_all_dim=0.5)),
        ("deepseek2-yarn", rope("yarn", **YARN, mscale=0.5, mscale_all_dim=0.707)),
        ("deepseek2-yarn", rope("yarn", **(YARN | {"factor": 8.0}), mscale=0.707, mscale_all_dim=0.707)),
        ("deepseek3", {"norm_topk_prob": False}),
        ("deepseek3", {"rope_interleave": False}),
        ("deepseek3", {"topk_group": 1, "num_experts_per_tok": 2}),
        ("deepseek3", {"topk_group": 3}),
    ],
)
def test_each_setting_matters(name: str, settings: dict[str, Any], tmp_path: Path) -> None:
    """Otherwise the comparison above would not notice that it is ignored."""
    model = make(CASES[name])
    got = perpend.import_model(save(model, tmp_path, **settings)).evaluate(prompt(60))
    assert np.abs(got[0] - logits(model, prompt(60))).max() > 4 * TOLERANCE
