"""Assertions of a PyTorch program: the run ends with an error where they do not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
import torch

from . import torch_numbers
from .torch_call import Call
from .torch_guards import is_of_integers, limits_of_integers
from .torch_types import named_expression


def end_unless_true(call: Call) -> None:
    """torch._assert_async of one number and a message; without one, torch.export drops it."""
    call.op("require_all", call.tensor("self", torch.bool), message=call.get("assert_msg", "an assertion fails"))


def end_unless_holds(call: Call) -> None:
    """_assert_scalar: a condition on extents and numbers that PyTorch could not decide when it traced the program, such
    as torch._check(mask.sum().item() > 3)."""
    condition = call.raw("self")
    value = condition.meta["val"] if isinstance(condition, torch.fx.Node) else condition
    expression = sympy.sympify(value.node.expr if isinstance(value, torch.SymBool) else bool(value))
    parts = sympy.And.make_args(sympy.to_nnf(expression, simplify=False))
    message = f"the model asserts {named_expression(expression)}"
    if all(map(is_of_integers, parts)):
        limits = [named_expression(limit) for part in parts for limit in limits_of_integers(part)]
        call.converter.graph.require_here([str(limit) for limit in limits], message)
    elif isinstance(value, torch.SymBool):
        call.op("require_all", torch_numbers.computed(call.converter, condition), message=message)
    elif not value:
        raise call.fail(f"{call['assert_msg']}\nhint: the assertion fails for all inputs; correct the model")


ASSERTIONS: dict[str, Callable[[Call], Any]] = {
    "aten._assert_async": end_unless_true,
    "aten._assert_scalar": end_unless_holds,
}
