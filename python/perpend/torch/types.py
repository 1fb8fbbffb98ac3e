"""Element types and extents of torch, as the compiler's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

import sympy
import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from .._perpend import CompileError

Extent = int | str

# Names of torch's symbols, and of expressions known only at run time, in the program under conversion.
_symbol_names: ContextVar[Mapping[Any, Any]] = ContextVar("symbol_names", default=MappingProxyType({}))


@contextmanager
def naming(names: Mapping[Any, Any]) -> Iterator[None]:
    """Uses `names`, and those that `name_expression` adds, within the `with`."""
    token = _symbol_names.set(names)
    try:
        yield
    finally:
        _symbol_names.reset(token)


def name_expression(expression: Any, extent: Extent) -> None:
    """Names an expression of torch's symbols `extent` from now on."""
    text = extent if isinstance(extent, int) or extent.isidentifier() else f"({extent})"
    value = sympy.Integer(text) if isinstance(text, int) else sympy.Symbol(text, integer=True)
    _symbol_names.set({**_symbol_names.get(), expression: value})


def least(value: int | torch.SymInt) -> Any:
    """What a number is at least, as far as PyTorch knows."""
    return value.node.shape_env.bound_sympy(value.node.expr).lower if isinstance(value, torch.SymInt) else value


def passes_floats(value: torch.SymInt) -> bool:
    """Whether the expression of an integer has non-integer parts, such as the scale of a resampled image."""
    return any(part.is_integer is not True and not part.is_Boolean for part in value.node.expr.args)


def is_unnamed(value: torch.SymInt) -> bool:
    """Whether it is an unnamed symbol that depends on data, or an unnamed number known only at run time."""
    expression = value.node.expr
    if expression in _symbol_names.get():
        return False
    return passes_floats(value) or (isinstance(expression, sympy.Symbol) and bool(free_unbacked_symbols(value)))


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


def names_in_use() -> Mapping[Any, Any]:
    return _symbol_names.get()


def named_expression(expression: Any) -> Any:
    """An expression of torch's symbols with the names of the program under conversion."""
    return expression.xreplace(_symbol_names.get())


def extent_of(value: Any) -> Extent:
    """An int, or the expression of a torch.SymInt as text."""
    if isinstance(value, torch.SymInt):
        expression = named_expression(value.node.expr)
        return int(expression) if expression.is_number else str(expression)
    return int(value)


def torch_dtype(name: str) -> torch.dtype:
    return next(dtype for dtype, other in DTYPES.items() if other == name)
