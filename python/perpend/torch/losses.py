"""Losses that PyTorch computes in chunks of the batch, to save memory: linear_cross_entropy. Here they have none.

They are of the namespace torch_nn, which exists once a program has called one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def reduced_loss(
    x: Tensor,
    layer: Tensor,
    target: Tensor,
    bias: Tensor | None,
    weight: Tensor | None,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
    chunk: int,
    policy: str,
    dtype: torch.dtype,
    is_kept: bool,
    *needs_gradients: bool,
) -> Any:
    """The loss. Its other results are gradients, which are empty in inference."""
    if any(needs_gradients):
        return NotImplemented
    loss = _loss(x, layer, target, bias, weight, ignore_index, dtype, reduction, label_smoothing)
    return loss, x.new_empty(0, 0), x.new_empty(0, 0), x.new_empty(0)


def loss_of_each(
    x: Tensor,
    layer: Tensor,
    target: Tensor,
    bias: Tensor | None,
    weight: Tensor | None,
    ignore_index: int,
    chunk: int,
    policy: str,
    dtype: torch.dtype,
) -> Tensor:
    return _loss(x, layer, target, bias, weight, ignore_index, dtype, "none")


def _loss(
    x: Tensor,
    layer: Tensor,
    target: Tensor,
    bias: Tensor | None,
    weight: Tensor | None,
    ignore_index: int,
    dtype: torch.dtype,
    reduction: str,
    label_smoothing: float = 0.0,
) -> Tensor:
    """In the type of the sums."""
    wide = torch.promote_types(torch.promote_types(x.dtype, dtype), torch.float32)
    x_wide, layer, bias, weight = (None if each is None else each.to(wide) for each in (x, layer, bias, weight))
    scores = functional.linear(x_wide, layer, bias)
    loss: Tensor = functional.cross_entropy(
        scores, target, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
    )
    return loss.to(x.dtype)


FORMULAS: dict[str, Callable[..., Any]] = {
    "_linear_cross_entropy_batch_chunked": reduced_loss,
    "_linear_cross_entropy_batch_chunked_no_reduction": loss_of_each,
}


def chunked_losses() -> dict[Any, Callable[..., Any]]:
    """Of the operators that the program has registered."""
    packets = ((getattr(torch.ops.torch_nn, name, None), formula) for name, formula in FORMULAS.items())
    return {packet.default: formula for packet, formula in packets if packet is not None}
