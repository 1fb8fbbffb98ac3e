"""Detects changes of parameters that are constants of an artifact.

PyTorch counts most in-place changes. It does not count those through `.data`, a numpy view or the storage, nor the
steps of fused optimizers. Therefore a step of any optimizer makes the next call compare all parameters once, and each
call compares a sample of their elements (docs/decisions/0015-counted-changes.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from .._perpend import FrozenTensors

_steps = 0  # of all optimizers


def _count_step(*_: Any) -> None:
    global _steps
    _steps += 1


register_optimizer_step_post_hook(_count_step)


def is_static(value: Any) -> bool:
    """Whether it is a parameter or a buffer."""
    if isinstance(value, torch.nn.Parameter):
        return True
    return isinstance(value, torch.Tensor) and getattr(value, "_dynamo_static_input_type", None) is not None


def is_plain(value: torch.Tensor) -> bool:
    """Whether the elements can be read from memory."""
    is_other = isinstance(value, torch._subclasses.FakeTensor) or is_traceable_wrapper_subclass(value)
    return value.is_cpu and value.layout is torch.strided and not is_other


class Frozen:
    """The tensors that an artifact contains, with their contents. Keeps them alive. Thread-safe."""

    def __init__(self, inputs: Sequence[Any], positions: Sequence[int], is_thorough: bool) -> None:
        """positions: of the tensors among the inputs. is_thorough: every check reads all of the memory."""
        self.is_thorough = is_thorough
        self.steps = _steps  # before the memory is read
        self.tensors = FrozenTensors([inputs[position] for position in positions], positions)

    def changes(self, inputs: tuple[Any, ...]) -> list[int]:
        """The positions of tensors that were replaced or have changed."""
        steps = _steps
        if not self.is_thorough and self.steps == steps:
            return self.tensors.changes(inputs, False)
        changed = self.tensors.changes(inputs, True)
        if not changed:
            self.steps = steps
        return changed
