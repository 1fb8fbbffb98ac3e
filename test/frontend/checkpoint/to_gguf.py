"""Converts models of transformers to GGUF, as llama.cpp's converter does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from frontend.checkpoint.gguf_file import Stored, write_gguf
from numpy.typing import NDArray

Array = NDArray[Any]
Store = Callable[[str, Array], Array | Stored]

ARCHITECTURES = {"mistral": "llama", "mixtral": "llama", "gemma3_text": "gemma3", "qwen3_moe": "qwen3moe"}
ARCHITECTURES |= {"deepseek_v2": "deepseek2", "deepseek_v3": "deepseek2"}
PARTS = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.qkv_proj": "attn_qkv",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.gate_up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "mlp.gate": "ffn_gate_inp",
    "self_attn.q_a_proj": "attn_q_a",
    "self_attn.q_a_layernorm": "attn_q_a_norm",
    "self_attn.q_b_proj": "attn_q_b",
    "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa",
    "self_attn.kv_a_layernorm": "attn_kv_a_norm",
    "self_attn.kv_b_proj": "attn_kv_b",
    "mlp.shared_experts.gate_proj": "ffn_gate_shexp",
    "mlp.shared_experts.up_proj": "ffn_up_shexp",
    "mlp.shared_experts.down_proj": "ffn_down_shexp",
    "ln_1": "attn_norm",
    "attn.c_attn": "attn_qkv",
    "attn.c_proj": "attn_output",
    "ln_2": "ffn_norm",
    "mlp.c_fc": "ffn_up",
    "mlp.c_proj": "ffn_down",
}
SANDWICH = {
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
WHOLE = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}
WHOLE |= {"wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm"}


def interleaved(rows: Array, heads: int) -> Array:
    """Rows of each head so that pairs, which lie half a head apart, become neighbours."""
    split = rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:])
    return split.swapaxes(1, 2).reshape(rows.shape)


def renamed(name: str, kind: str) -> str:
    """A tensor's name in GGUF, for all but experts."""
    name, _, part = name.removeprefix("model.").removeprefix("transformer.").rpartition(".")
    pieces = name.split(".")
    if part == "e_score_correction_bias":
        return f"blk.{pieces[1]}.exp_probs_b.bias"
    if pieces[0] not in ("layers", "h"):
        return f"{WHOLE[name]}.{part}"
    parts = PARTS | (SANDWICH if kind in ("gemma2", "gemma3_text") else {})
    return f"blk.{pieces[1]}.{parts['.'.join(pieces[2:])]}.{part}"


def converted(model: Any) -> dict[str, Array]:
    config, kind = model.config, model.config.model_type
    tensors: dict[str, Array] = {}
    for name, parameter in model.state_dict().items():
        array = parameter.numpy()
        if ".experts." in name:
            layer = name.split(".")[2]
            if name.endswith("gate_up_proj"):
                gate, up = np.split(array, 2, axis=1)
                tensors[f"blk.{layer}.ffn_gate_exps.weight"], tensors[f"blk.{layer}.ffn_up_exps.weight"] = gate, up
            else:
                tensors[f"blk.{layer}.ffn_down_exps.weight"] = array
            continue
        new = renamed(name, kind)
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        if ARCHITECTURES.get(kind, kind) == "llama" and ".attn_q." in new:
            array = interleaved(array, config.num_attention_heads)
        if ARCHITECTURES.get(kind, kind) == "llama" and ".attn_k." in new:
            array = interleaved(array, config.num_key_value_heads)
        if kind.startswith("gemma") and "norm" in new:
            array = array + 1
        if kind == "gpt2" and ".c_" in name and name.endswith("weight"):
            array = array.T
        tensors[new] = np.ascontiguousarray(array)
    return tensors


def split_latent(config: Any, tensors: dict[str, Array]) -> dict[str, Array]:
    """With matrices for keys and values apart, as newer files have them."""
    result = dict(tensors)
    for name in [name for name in tensors if "attn_kv_b" in name]:
        both = result.pop(name).reshape(config.num_attention_heads, -1, config.kv_lora_rank)
        keys, values = np.split(both, [config.qk_nope_head_dim], axis=1)
        result[name.replace("kv_b", "k_b")] = np.ascontiguousarray(keys.swapaxes(1, 2))
        result[name.replace("kv_b", "v_b")] = np.ascontiguousarray(values)
    return result


def latent_metadata(config: Any, tensors: dict[str, Array]) -> dict[str, Any]:
    """Settings of DeepSeek; of newer files, which name the sizes of attention to latents, if the matrices are apart."""
    key_size, value_size = config.qk_nope_head_dim + config.qk_rope_head_dim, config.v_head_dim
    is_split = any("attn_k_b" in name for name in tensors)
    is_third = config.model_type == "deepseek_v3"
    has_groups = is_third or config.topk_method == "group_limited_greedy"
    result = {
        "attention.head_count_kv": 1 if is_split else config.num_attention_heads,
        "attention.q_lora_rank": config.q_lora_rank,
        "attention.kv_lora_rank": config.kv_lora_rank,
        "attention.key_length": config.kv_lora_rank + config.qk_rope_head_dim if is_split else key_size,
        "attention.value_length": config.kv_lora_rank if is_split else value_size,
        "attention.key_length_mla": key_size if is_split else None,
        "attention.value_length_mla": value_size if is_split else None,
        "rope.dimension_count": config.qk_rope_head_dim,
        "leading_dense_block_count": config.first_k_dense_replace,
        "expert_count": config.n_routed_experts,
        "expert_shared_count": config.n_shared_experts,
        "expert_weights_scale": float(config.routed_scaling_factor),
        "expert_weights_norm": is_third and config.norm_topk_prob,
        "expert_gating_func": 2 if is_third else 1,
        "expert_group_count": config.n_group if has_groups else None,
        "expert_group_used_count": config.topk_group if has_groups else None,
    }
    if all_heads := config.rope_parameters.get("mscale_all_dim"):
        result["rope.scaling.yarn_log_multiplier"] = 0.1 * all_heads
    return result


def rope_metadata(config: Any, tensors: dict[str, Array]) -> dict[str, Any]:
    parameters = getattr(config, "rope_parameters", None) or {}
    result: dict[str, Any] = {}
    if "full_attention" in parameters:
        parameters = parameters["full_attention"]
    if "rope_theta" in parameters:
        result["rope.freq_base"] = float(parameters["rope_theta"])
    kind = parameters.get("rope_type", "default")
    if part := parameters.get("partial_rotary_factor"):
        result["rope.dimension_count"] = int(part * (config.hidden_size // config.num_attention_heads))
    if kind in ("linear", "yarn"):
        result |= {"rope.scaling.type": kind, "rope.scaling.factor": float(parameters["factor"])}
    if kind in ("yarn", "longrope"):
        result["rope.scaling.original_context_length"] = parameters["original_max_position_embeddings"]
    if kind == "longrope":
        old = parameters["original_max_position_embeddings"]
        ratio = config.max_position_embeddings / old
        result["rope.scaling.attn_factor"] = float(np.sqrt(1 + np.log(ratio) / np.log(old)))
        tensors["rope_factors_short.weight"] = np.float32(parameters["short_factor"])
        tensors["rope_factors_long.weight"] = np.float32(parameters["long_factor"])
    return result


def metadata_of(model: Any, tensors: dict[str, Array]) -> dict[str, Any]:
    config, kind = model.config, model.config.model_type
    get: Callable[..., Any] = lambda name, otherwise=None: getattr(config, name, otherwise)  # noqa: E731
    values = {
        "vocab_size": config.vocab_size,
        "context_length": config.max_position_embeddings,
        "embedding_length": config.hidden_size,
        "block_count": config.num_hidden_layers,
        "feed_forward_length": get("intermediate_size") or 4 * config.hidden_size,
        "attention.head_count": config.num_attention_heads,
        "attention.head_count_kv": get("num_key_value_heads") or config.num_attention_heads,
        "attention.key_length": get("head_dim"),
        "attention.value_length": get("head_dim"),
        "attention.layer_norm_rms_epsilon": get("rms_norm_eps"),
        "attention.layer_norm_epsilon": get("layer_norm_epsilon"),
        "attention.sliding_window": get("sliding_window") if kind.startswith("gemma") else None,
        "attention.sliding_window_pattern": get("_sliding_window_pattern"),
        "attn_logit_softcapping": get("attn_logit_softcapping"),
        "final_logit_softcapping": get("final_logit_softcapping"),
        "expert_count": get("num_local_experts") or get("num_experts"),
        "expert_used_count": get("num_experts_per_tok"),
        "expert_feed_forward_length": get("moe_intermediate_size"),
    } | rope_metadata(config, tensors)
    if get("kv_lora_rank"):
        values |= latent_metadata(config, tensors)
    prefix = ARCHITECTURES.get(kind, kind)
    return {"general.architecture": prefix} | {f"{prefix}.{key}": value for key, value in values.items() if value}


def save_gguf(model: Any, path: Path, store: Store = lambda name, array: array, **settings: Any) -> Path:
    """The path. `store`: how each tensor is stored; `settings` are further metadata behind the architecture's name."""
    tensors = converted(model)
    metadata = metadata_of(model, tensors)
    prefix = metadata["general.architecture"]
    metadata |= {f"{prefix}.{key.replace('__', '.')}": value for key, value in settings.items()}
    return write_gguf(path, metadata, {name: store(name, array) for name, array in tensors.items()})
