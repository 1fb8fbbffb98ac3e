"""The result of perpend.compile for a torch.nn.Module: a compiled model that is a module as well.

It may be part of nn.Sequential, be copied, and accepts eval() and to("cpu"). It has no parameters: its code contains
them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .. import Model
from .structure import Structure
from .types import torch_dtype


class CompiledModule(Model, torch.nn.Module):  # type: ignore[misc]
    """Takes and returns what the original module does, such as a dict."""

    def __init__(self, path: str | Model, threads: int, structure: Structure, entry: str = "") -> None:
        torch.nn.Module.__init__(self)
        super().__init__(path, threads, entry=entry)
        self.allow_threads(torch.get_num_threads)
        self.structure = structure
        self.has_inputs = bool(self.inputs)
        self.training = False

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        if self._forward_hooks or self._forward_pre_hooks:
            return torch.nn.Module.__call__(self, *inputs, **named)
        return self.forward(*inputs, **named)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        flat, by_name = self.structure.arguments.flat(inputs, named)
        results = Model.__call__(self, *flat, **by_name)
        return self.structure(results if self.has_inputs else self._as_tensors(results))

    def _as_tensors(self, results: Any) -> Any:
        """Of a model that takes nothing, which does not see for whom it computes."""
        arrays = results if isinstance(results, tuple) else (results,)
        return tuple(
            torch.from_numpy(array.reshape(-1).view(np.uint8)).view(torch_dtype(info.dtype)).reshape(array.shape)
            for array, info in zip(arrays, self.outputs, strict=True)
        )

    def _of_entry(self, entry: str) -> Model:
        return CompiledModule(self, self.threads, self.structure, entry)

    def _again(self) -> CompiledModule:
        return CompiledModule(self, self.threads, self.structure, self.entry)

    def _apply(self, change: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> CompiledModule:
        """Applies to(), half() and so on. Errors: RuntimeError for other devices and types."""
        given = torch.zeros(1)
        made = change(given)
        if made.device != given.device or made.dtype != given.dtype:
            raise RuntimeError(
                f"model '{self.name}': expected to stay on {given.device} with {given.dtype} as it is, got "
                f"{made.device} and {made.dtype}\nhint: change the module, and compile it again"
            )
        return self
