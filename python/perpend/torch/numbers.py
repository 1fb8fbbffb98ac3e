"""Numbers that PyTorch computes from extents and from elements of tensors, between the operators on tensors."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, cast

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from .._perpend import CompileError, Type, Value
from .call import Conversion
from .types import extent_of, name_expression, named_expression, passes_floats

NUMBERS = (int, float, bool, torch.SymInt, torch.SymFloat, torch.SymBool)
READS = (torch.ops.aten._local_scalar_dense.default, torch.ops.aten.item.default)

# Operators on scalars of f64.
COMPOSITES: dict[Callable[..., Any], str] = {
    operator.add: "add",
    operator.sub: "sub",
    operator.mul: "mul",
    operator.truediv: "div",
    operator.floordiv: "floor_div",
    operator.mod: "mod",
    operator.pow: "pow",
    operator.neg: "neg",
    operator.lt: "less",
    operator.le: "less_equal",
    operator.gt: "greater",
    operator.ge: "greater_equal",
    operator.eq: "equal",
    operator.ne: "not_equal",
    torch.sym_not: "logical_not",
    torch.sym_ite: "where",
    torch.sym_float: "identity",
    torch.sym_int: "trunc",
    torch.sym_max: "max",
    torch.sym_min: "min",
    torch._sym_sqrt: "sqrt",
    math.floor: "floor",
    math.ceil: "ceil",
    math.trunc: "trunc",
    math.sqrt: "sqrt",
    round: "round",
}


def is_number(node: torch.fx.Node) -> bool:
    return isinstance(node.meta.get("val"), NUMBERS)


def convert(converter: Conversion, node: torch.fx.Node) -> None:
    """Integers stay symbolic expressions; others become scalars."""
    value = node.meta["val"]
    if node.target in READS:
        tensor = converter.values[cast(torch.fx.Node, node.args[0])]
        if isinstance(value, torch.SymInt):
            _name(converter, value, converter.graph.measure(_scalar(converter, tensor)))
        else:
            converter.values[node] = _scalar(converter, tensor)
    elif isinstance(value, torch.SymFloat):
        converter.values[node] = computed(converter, node)
    elif isinstance(value, torch.SymInt) and passes_floats(value):
        name_expression(value.node.expr, converter.graph.measure(_cast(converter, computed(converter, node), "i64")))


def _name(converter: Conversion, value: torch.SymInt, number: int | str) -> None:
    """Names a number that PyTorch knows only through a check of the model (torch._check(k == x.shape[0]))."""
    if free_unbacked_symbols(value):
        name_expression(value.node.expr, number)
        return
    extent = named_expression(value.node.expr)
    message = f"the model asserts that a number it reads is {extent}"
    converter.graph.require_here([f"({number}) - ({extent})", f"({extent}) - ({number})"], message)


def _scalar(converter: Conversion, tensor: Value) -> Value:
    return converter.graph.composite("reshape", [tensor], {"shape": []})[0] if tensor.shape else tensor


def _cast(converter: Conversion, value: Value, dtype: str) -> Value:
    return value if value.dtype == dtype else converter.graph.composite("cast", [value], {"to": Type(dtype)})[0]


def _operand(converter: Conversion, argument: Any) -> Value:
    if isinstance(argument, torch.fx.Node):
        if argument in converter.values:
            value: Value = converter.values[argument]
            return value if value.dtype == "bool" else _cast(converter, value, "f64")
        if isinstance(argument.meta["val"], torch.SymBool):
            return computed(converter, argument)
        argument = argument.meta["val"]
    if isinstance(argument, torch.SymInt):
        return _cast(converter, converter.graph.dims([extent_of(argument)], scalar=True), "f64")
    dtype = torch.bool if isinstance(argument, bool) else torch.float64
    return converter.graph.constant(torch.tensor(argument, dtype=dtype))


def result(converter: Conversion, node: Any) -> Any:
    """What a graph returns: a number that depends on extents or data is a scalar, or an expression if it is whole."""
    example = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
    if isinstance(example, (torch.SymBool, torch.SymFloat)) and node not in converter.values:
        return computed(converter, node)
    return converter.map_argument(node)


def computed(converter: Conversion, node: torch.fx.Node) -> Value:
    """A non-integer or a condition."""
    name = COMPOSITES.get(cast(Any, node.target))
    if name is None:
        raise CompileError(
            f"node '{node.name}' ({node.target}): this number is not supported"
            f"\nhint: the functions are {', '.join(sorted({other.__name__ for other in COMPOSITES}))}"
        )
    operands = [_operand(converter, argument) for argument in node.args]
    if name != "trunc":
        return converter.graph.composite(name, operands)[0]
    magnitude = converter.graph.composite("floor", [converter.graph.composite("abs", operands)[0]])
    return converter.graph.composite("mul", [converter.graph.composite("sign", operands)[0], magnitude[0]])[0]
