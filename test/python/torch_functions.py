"""Compares one function of tensors, compiled and interpreted, with eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import perpend
import torch
from torch import nn
from torch.export import Dim

DYNAMIC = Dim.DYNAMIC


class Function(nn.Module):  # type: ignore[misc]
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def tensors(values: Any) -> list[torch.Tensor]:
    return [value for value in torch.utils._pytree.tree_leaves(values) if isinstance(value, torch.Tensor)]


def agrees(results: Any, expected: Any, tolerance: float = 1e-5) -> None:
    for position, (result, reference) in enumerate(zip(tensors(results), tensors(expected), strict=True)):
        torch.testing.assert_close(
            result,
            reference,
            atol=tolerance,
            rtol=tolerance,
            msg=lambda text, at=position: f"output {at}: {text}",
        )


def check(
    function: Callable[..., Any],
    *inputs: torch.Tensor,
    dynamic: Sequence[Sequence[int]] = (),
    more: Sequence[Sequence[torch.Tensor]] = (),
    is_interpreted: bool = True,
) -> perpend.Model:
    """`dynamic`: the dimensions of each input that are symbolic; `more`: other inputs for the same artifact."""
    shapes = (tuple(dict.fromkeys(dims, DYNAMIC) for dims in dynamic),) if dynamic else None
    module = perpend.import_model(Function(function).eval(), example_inputs=inputs, dynamic_shapes=shapes)
    model = perpend.compile(module)
    for values in (inputs, *more):
        agrees(model(*values), function(*values))
        if is_interpreted:
            agrees(module.evaluate(*values), function(*values))
    return model
