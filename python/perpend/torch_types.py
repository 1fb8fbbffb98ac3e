"""Element types and extents of torch, in the compiler's terms."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

import torch

from ._perpend import CompileError

Extent = int | str

# The user's names of symbols, for the program that is being converted.
symbol_names: ContextVar[Mapping[Any, Any]] = ContextVar("symbol_names", default=MappingProxyType({}))

DTYPES = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.uint8: "u8",
    torch.uint16: "u16",
    torch.uint32: "u32",
    torch.uint64: "u64",
    torch.bool: "bool",
    torch.float8_e4m3fn: "f8e4m3fn",
    torch.float8_e4m3fnuz: "f8e4m3fnuz",
    torch.float8_e5m2: "f8e5m2",
    torch.float8_e5m2fnuz: "f8e5m2fnuz",
}


def dtype_name(dtype: torch.dtype) -> str:
    if dtype not in DTYPES:
        raise CompileError(
            f"elements of type {dtype} are not supported\nhint: the types are {', '.join(DTYPES.values())}"
        )
    return DTYPES[dtype]


def extent_of(value: Any) -> Extent:
    """An int, or the expression of a torch.SymInt as text."""
    if isinstance(value, torch.SymInt):
        expression = value.node.expr.xreplace(symbol_names.get())
        return int(expression) if expression.is_number else str(expression)
    return int(value)


def torch_dtype(name: str) -> torch.dtype:
    return next(dtype for dtype, other in DTYPES.items() if other == name)
