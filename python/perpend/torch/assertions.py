"""Assertions of a PyTorch program: a run ends with an error if one does not hold."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Any

import sympy
import torch

from . import numbers
from .call import Call, place_of
from .guards import is_of_integers, limits_of_integers
from .types import named_expression

FROM_TENSORS = (torch.SymInt, torch.SymFloat)
SIGNS = {"==": "=", "!=": "is not"}


def end_unless_true(call: Call) -> None:
    """torch._assert_async of a number and a message; torch.export drops the form without a message."""
    call.op("require_all", call.tensor("self", torch.bool), message=call.get("assert_msg", "an assertion fails"))


def end_unless_holds(call: Call) -> None:
    """_assert_scalar: a condition on extents and numbers that PyTorch could not decide during tracing, such as
    torch._check(mask.sum().item() > 3)."""
    condition = call.raw("self")
    if limits_selection(condition):
        return
    value = condition.meta["val"] if isinstance(condition, torch.fx.Node) else condition
    expression = sympy.sympify(value.node.expr if isinstance(value, torch.SymBool) else bool(value))
    parts = sympy.And.make_args(sympy.to_nnf(expression, simplify=False))
    message = f"the model asserts {_readable(call, expression)}{place_of(call.node)}"
    if all(map(is_of_integers, parts)):
        limits = [named_expression(limit) for part in parts for limit in limits_of_integers(part)]
        call.converter.graph.require_here([str(limit) for limit in limits], message)
    elif isinstance(value, torch.SymBool):
        call.op("require_all", numbers.computed(call.converter, condition), message=message)
    elif not value:
        raise call.fail(f"{call['assert_msg']}\nhint: the assertion fails for all inputs; correct the model")


def limits_selection(condition: Any) -> bool:
    """Whether PyTorch asserts that masked_select takes no more elements than the tensor has, which may be fewer than
    the mask has."""
    aten = torch.ops.aten
    if not isinstance(condition, torch.fx.Node) or condition.target is not operator.le:
        return False
    size, limit = condition.args
    selection = size.args[0] if isinstance(size, torch.fx.Node) and size.target is aten.sym_size.int else None
    if not isinstance(selection, torch.fx.Node) or selection.target is not aten.masked_select.default:
        return False
    shape, mask = (operand.meta["val"].shape for operand in selection.args[:2])
    is_fixed = all(isinstance(extent, int) for extent in (limit, *shape, *mask))
    return is_fixed and limit == math.prod(shape) < math.prod(torch.broadcast_shapes(shape, mask))


def _readable(call: Call, expression: Any) -> str:
    """The expression with the names of inputs' dimensions, and item() for a number read from a tensor."""
    reads = [node for node in call.node.graph.nodes if node.target in numbers.READS]
    values = ((node.meta.get("val"), "item()" if len(reads) == 1 else f"item() of '{node.name}'") for node in reads)
    names = {value.node.expr: sympy.Symbol(name) for value, name in values if isinstance(value, FROM_TENSORS)}
    named = named_expression(expression.xreplace(names))
    is_relation = isinstance(named, sympy.core.relational.Relational)
    parts = (named.lhs, SIGNS.get(named.rel_op, named.rel_op), named.rhs) if is_relation else (named,)
    text = " ".join(sympy.sstr(part, full_prec=False) for part in parts)
    return re.sub(r"\b(Python)?Mod\b", "mod", text)


ASSERTIONS: dict[str, Callable[[Call], Any]] = {
    "aten._assert_async": end_unless_true,
    "aten._assert_scalar": end_unless_holds,
}
