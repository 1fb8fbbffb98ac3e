"""Programs of accelerators, which a simulator runs in this process: what `compile(..., target="quoin:t1")` gives."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from . import _perpend
from .temporary_folders import TemporaryFolder

_KINDS = {"f": "float", "i": "int", "u": "uint"}


def dtype_of(name: str) -> np.dtype[Any]:
    """NumPy's type of a type in a descriptor, such as f32 or bf16."""
    if name == "bool":
        return np.dtype(np.bool_)
    if name[1:].isdigit():
        return np.dtype(_KINDS[name[0]] + name[1:])
    import ml_dtypes

    named: Any = ml_dtypes.bfloat16 if name == "bf16" else getattr(ml_dtypes, f"float{name[1]}_{name[2:]}")
    dtype: np.dtype[Any] = np.dtype(named)
    return dtype


class AcceleratorModel:
    """A program for an accelerator. A call takes numpy arrays by position and returns a tuple of arrays.

    Errors: RuntimeError where the machine stops, with the node of the model; ValueError for another type or shape.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = os.fsdecode(path)
        self._program = _perpend.AcceleratorProgram(self.path)
        self.descriptor = self._program.descriptor
        facts = json.loads(self.descriptor)
        self._inputs: Sequence[dict[str, Any]] = facts["inputs"]
        self._outputs: Sequence[dict[str, Any]] = facts["outputs"]
        self.report: Any = None
        self.folder: TemporaryFolder | None = None
        self.operators: Any = None

    def _bytes(self, value: Any, info: dict[str, Any]) -> bytes:
        array = np.asarray(value)
        dtype, shape = dtype_of(info["type"]), _shape(info)
        if array.dtype != dtype or array.shape != shape:
            raise ValueError(
                f"input '{info['name']}': expected {dtype} {list(shape)}, got {array.dtype} {list(array.shape)}"
            )
        return array.tobytes()

    def __call__(self, *inputs: Any) -> tuple[np.ndarray[Any, Any], ...]:
        if len(inputs) != len(self._inputs):
            raise ValueError(f"expected {len(self._inputs)} inputs, got {len(inputs)}")
        values = [self._bytes(value, info) for value, info in zip(inputs, self._inputs, strict=True)]
        dtypes = [dtype_of(info["type"]) for info in self._outputs]
        wanted = [(dtype.itemsize, _shape(info)) for dtype, info in zip(dtypes, self._outputs, strict=True)]
        results = self._program.run_bytes(values, wanted)
        return tuple(
            np.frombuffer(bytearray(result), dtype).reshape(shape)
            for (result, shape), dtype in zip(results, dtypes, strict=True)
        )


def _shape(info: dict[str, Any]) -> tuple[int, ...]:
    """With -1 for what only a run knows."""
    return tuple(extent if isinstance(extent, int) else -1 for extent in info["shape"])
