"""Operators that only torch.compile meets, in terms of core ATen: normalisations with statistics, fused layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._decomp import get_decompositions
from torch.nn import functional

aten: Any = torch.ops.aten


def _attention_mask(mask: Tensor | None, kind: int | None, dtype: torch.dtype) -> Tensor | None:
    """What is added to the scores. kind: 0 is [query, key], 1 is [batch, key], 2 has all four dimensions."""
    if mask is None:
        return None
    mask = mask.to(torch.bool)
    mask = mask[:, None, None, :] if kind == 1 else mask
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(mask, float("-inf"))


def _attention(
    value: Tensor, heads: int, qkv: tuple[Tensor, Tensor], projection: tuple[Tensor, Tensor], mask: Tensor | None
) -> Tensor:
    batch, length, width = value.shape
    joint = functional.linear(value, *qkv).view(batch, length, 3, heads, width // heads)
    query, key, content = (joint.select(2, part).transpose(1, 2) for part in range(3))
    result = functional.scaled_dot_product_attention(query, key, content, attn_mask=mask)
    return functional.linear(result.transpose(1, 2).reshape(batch, length, width), *projection)


def encoder_layer(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    """aten._transformer_encoder_layer_fwd: the fast path of nn.TransformerEncoderLayer in eval mode."""
    added = _attention_mask(mask, mask_type, src.dtype)

    def attend(value: Tensor) -> Tensor:
        return _attention(value, num_heads, (qkv_weight, qkv_bias), (proj_weight, proj_bias), added)

    def feed(value: Tensor) -> Tensor:
        hidden = functional.linear(value, ffn_weight_1, ffn_bias_1)
        hidden = functional.gelu(hidden) if use_gelu else functional.relu(hidden)
        return functional.linear(hidden, ffn_weight_2, ffn_bias_2)

    def first(value: Tensor) -> Tensor:
        return functional.layer_norm(value, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def second(value: Tensor) -> Tensor:
        return functional.layer_norm(value, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        src = src + attend(first(src))
        return src + feed(second(src))
    src = first(src + attend(src))
    return second(src + feed(src))


DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    **get_decompositions([aten._native_batch_norm_legit]),
    aten._transformer_encoder_layer_fwd.default: encoder_layer,
}
