"""Small random checkpoints of each architecture, and what transformers computes with them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoConfig, AutoModelForCausalLM

VOCABULARY = 96
TOLERANCE = 1e-4
WIDTHS = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}
COMMON = {
    "vocab_size": VOCABULARY,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
} | WIDTHS


class Case(NamedTuple):
    """A configuration of transformers: the architecture, and what differs from COMMON."""

    type: str
    settings: Mapping[str, Any]


def rope(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 10000.0} | parameters}


LONG = {"short_factor": [1.0 + 0.1 * i for i in range(8)], "long_factor": [2.0 + 0.5 * i for i in range(8)]}
LATENT = {"kv_lora_rank": 24, "q_lora_rank": 40, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 12}
LATENT |= {"num_key_value_heads": 4, "num_hidden_layers": 3, "first_k_dense_replace": 1}
ROUTED = {"n_routed_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 32, "n_shared_experts": 2}
GROUPS = {"n_group": 4, "topk_group": 2}
YARN = {"factor": 4.0, "original_max_position_embeddings": 64, "beta_fast": 32.0, "beta_slow": 1.0}
CASES = {
    "llama": Case("llama", {}),
    "llama-biases": Case("llama", {"attention_bias": True, "mlp_bias": True, "num_key_value_heads": 1}),
    "llama-tied": Case("llama", {"tie_word_embeddings": True, "head_dim": 24}),
    "llama-linear": Case("llama", rope("linear", factor=4.0)),
    "llama-dynamic": Case("llama", rope("dynamic", factor=3.0) | {"max_position_embeddings": 32}),
    "llama-llama3": Case(
        "llama",
        rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64),
    ),
    "llama-yarn": Case("llama", rope("yarn", factor=4.0, original_max_position_embeddings=64)),
    "mistral": Case("mistral", {"sliding_window": 5, "head_dim": 16}),
    "mistral-full": Case("mistral", {"sliding_window": None}),
    "qwen2": Case("qwen2", {}),
    "qwen2-windows": Case("qwen2", {"use_sliding_window": True, "sliding_window": 6, "max_window_layers": 1}),
    "qwen3": Case("qwen3", {"head_dim": 32}),
    "qwen3-yarn": Case("qwen3", {"head_dim": 32} | rope("yarn", factor=2.0, original_max_position_embeddings=128)),
    "gemma": Case("gemma", {"head_dim": 32}),
    "gemma2": Case("gemma2", {"head_dim": 16, "query_pre_attn_scalar": 24, "sliding_window": 6}),
    "gemma3": Case(
        "gemma3_text",
        {"head_dim": 16, "query_pre_attn_scalar": 20, "sliding_window": 6, "num_hidden_layers": 3}
        | {"sliding_window_pattern": 3, "final_logit_softcapping": 25.0},
    ),
    "gemma3-linear": Case(
        "gemma3_text",
        {"head_dim": 16, "num_hidden_layers": 7, "sliding_window": 6, "query_pre_attn_scalar": 16}
        | {
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            }
        },
    ),
    "phi3": Case("phi3", {"sliding_window": 7}),
    "phi3-longrope": Case("phi3", {"original_max_position_embeddings": 32} | rope("longrope", **LONG)),
    "phi3-partial": Case("phi3", rope("default", partial_rotary_factor=0.5)),
    "gpt2": Case("gpt2", {"n_positions": 128, "n_embd": 64, "n_layer": 2, "n_head": 4}),
    "mixtral": Case("mixtral", {"num_local_experts": 4, "num_experts_per_tok": 2}),
    "qwen3-moe": Case(
        "qwen3_moe", {"head_dim": 16, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
    ),
    "qwen3-moe-mixed": Case(
        "qwen3_moe",
        {"head_dim": 16, "num_experts": 4, "num_experts_per_tok": 3, "moe_intermediate_size": 32}
        | {"norm_topk_prob": True, "mlp_only_layers": [1]},
    ),
    "deepseek2": Case("deepseek_v2", LATENT | ROUTED | {"q_lora_rank": None, "routed_scaling_factor": 1.5}),
    "deepseek2-groups": Case(
        "deepseek_v2",
        LATENT | ROUTED | GROUPS | {"topk_method": "group_limited_greedy", "attention_bias": True, "mlp_bias": True},
    ),
    "deepseek2-yarn": Case("deepseek_v2", LATENT | ROUTED | rope("yarn", **YARN, mscale=0.707, mscale_all_dim=0.707)),
    "deepseek3": Case("deepseek_v3", LATENT | ROUTED | GROUPS | {"routed_scaling_factor": 2.5}),
    "deepseek3-halves": Case(
        "deepseek_v3",
        LATENT | ROUTED | GROUPS | {"rope_interleave": False, "norm_topk_prob": False, "n_group": 1, "topk_group": 1},
    ),
    "deepseek3-yarn": Case(
        "deepseek_v3",
        LATENT | ROUTED | GROUPS | {"q_lora_rank": None} | rope("yarn", **YARN, mscale=1.0, mscale_all_dim=0.5),
    ),
}
# Whose rotations are those of the text's length; with a cache, of the longest text that it can hold.
DEPEND_ON_LENGTH = ("llama-dynamic", "phi3-longrope")


def make(case: Case) -> Any:
    """The model, with norms that are not all alike, and a head whose logits differ by more than tolerances."""
    common = {"vocab_size": VOCABULARY} if case.type == "gpt2" else COMMON
    torch.manual_seed(0)
    config = AutoConfig.for_model(case.type, **(common | dict(case.settings)))
    config._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name or "ln_" in name or name.endswith(".bias"):
                parameter.add_(0.2 * torch.randn_like(parameter))
            else:
                parameter.copy_(torch.randn_like(parameter) * (2 if "embed" in name or "wte" in name else 1) / 8)
        for name, buffer in model.named_buffers():
            if name.endswith("e_score_correction_bias"):
                buffer.add_(0.2 * torch.randn_like(buffer))
    return model


def save(model: Any, folder: Path, **settings: Any) -> Path:
    """The folder; `settings` replace entries of config.json, None removes them."""
    model.save_pretrained(folder)
    if settings:
        path = folder / "config.json"
        config = json.loads(path.read_text()) | settings
        path.write_text(json.dumps({key: value for key, value in config.items() if value is not None}))
    return folder


def agree(got: NDArray[np.float32], expected: NDArray[np.float32]) -> None:
    """Logits are within 1e-4, and the best token is the same where the next one is not that near."""
    np.testing.assert_allclose(got, expected, rtol=0, atol=TOLERANCE)
    best = np.sort(expected, -1)
    clear = best[..., -1] - best[..., -2] > 2 * TOLERANCE
    assert clear.any()
    np.testing.assert_array_equal(got.argmax(-1)[clear], expected.argmax(-1)[clear])


def generates_as_transformers(
    model: Any, logits_of: Callable[[NDArray[np.int64]], NDArray[np.float32]], depends_on_length: bool = False
) -> None:
    """64 greedy tokens behind a prompt of 7 are those of transformers, which computes the whole text at once (or, where
    its logits depend on the text's length, each beginning of it).

    logits_of: gives those of the token that follows a text, which is one token longer than in the call before, or a
        prompt. Of several prompts, the first one counts behind which no token is as near to another as the tolerance.
    """
    for number in range(12):
        text = prompt(7 + 1000 * number)[0, :7].tolist()
        for _ in range(64):
            text.append(int(logits_of(np.array(text)).argmax()))
        if depends_on_length:
            rows = np.stack([logits(model, np.array([text[:count]]))[0, -1] for count in range(7, 71)])
        else:
            rows = logits(model, np.array([text]))[0, 6:-1]
        best = np.sort(rows, -1)
        clear = best[:, -1] - best[:, -2] > 2 * TOLERANCE
        np.testing.assert_array_equal(np.array(text[7:])[clear], rows.argmax(-1)[clear])
        if clear.all():
            return
    raise AssertionError("tokens are too near to each other behind every prompt")


def prompt(length: int, batch: int = 1) -> NDArray[np.int64]:
    return np.random.default_rng(length).integers(1, VOCABULARY, (batch, length))


def logits(model: Any, tokens: NDArray[np.int64]) -> NDArray[np.float32]:
    with torch.no_grad():
        result: NDArray[np.float32] = model(torch.tensor(tokens)).logits.numpy()
    return result
