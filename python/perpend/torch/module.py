"""The results of perpend.compile for a torch.nn.Module.

On the CPU: a compiled model that is a module as well. It may be part of nn.Sequential, be copied, and accepts eval()
and to("cpu"). It has no parameters: its code contains them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .. import Model
from ..accelerators import AcceleratorModel, dtype_of
from .structure import Structure
from .types import dtype_name, torch_dtype


def tensor_of(array: np.ndarray[Any, Any], dtype: str) -> torch.Tensor:
    """The array's own memory. NumPy has other types than torch, such as that of bf16."""
    return torch.from_numpy(array.reshape(-1).view(np.uint8)).view(torch_dtype(dtype)).reshape(array.shape)


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
        return tuple(tensor_of(array, info.dtype) for array, info in zip(arrays, self.outputs, strict=True))

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


class AcceleratorModule(AcceleratorModel):
    """A program of an accelerator that takes and returns what the original module does. Results are tensors if an
    argument is one, or there are none; else arrays of NumPy."""

    def __init__(self, path: str, structure: Structure) -> None:
        super().__init__(path)
        self.structure = structure

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        flat, by_name = self.structure.arguments.flat(inputs, named)
        names = [info["name"] for info in self._inputs]
        if unknown := [name for name in by_name if name not in names[len(flat) :]]:
            raise TypeError(f"expected the inputs {', '.join(names)}, got also '{unknown[0]}'")
        given = [*flat, *(by_name[name] for name in names[len(flat) :] if name in by_name)]
        has_tensors = not given or any(isinstance(value, torch.Tensor) for value in given)
        results: Any = super().__call__(*map(self._as_array, given))
        if has_tensors:
            results = tuple(tensor_of(array, info["type"]) for array, info in zip(results, self._outputs, strict=True))
        return self.structure(results)

    def _as_array(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        elements = value.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
        return elements.view(dtype_of(dtype_name(value.dtype))).reshape(tuple(value.shape))
