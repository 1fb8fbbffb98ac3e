"""Guards: what PyTorch assumed about extents while it traced a model, as requirements of the compiled model.

PyTorch traces a branch on an extent, and a Python number computed from extents (a scale of 1 / sqrt(n), a stride of
n // 7), for the example inputs only. A guard such as Eq(Mod(n, 2), 0) says for which other extents the trace holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import sympy
import torch

# Files in which PyTorch itself compares extents. Dynamo, a part of it, interprets the model's Python code.
PYTORCH = Path(torch.__file__).parent
INTERPRETER = PYTORCH / "_dynamo"

# The nodes of expressions on extents, by the class names of sympy and PyTorch.
INTEGER = {"Symbol", "Add", "Mul", "Pow", "FloorDiv", "CleanDiv", "CeilDiv", "Mod", "PythonMod", "Max", "Min"}


def shape_env_of(extents: Iterable[Any]) -> Any:
    """PyTorch's knowledge of symbols; None if all extents are numbers."""
    return next((extent.node.shape_env for extent in extents if isinstance(extent, torch.SymInt)), None)


def limits_of_guards(env: Any, saved: Iterable[Any], symbols: set[sympy.Symbol], names: dict[Any, Any]) -> list[str]:
    """Expressions of `symbols` that must be >= 0. saved: further conditions of the model."""
    guards = [(guard.expr, _is_of_model(guard)) for guard in (env.guards if env else ())]
    limits: dict[str, None] = {}
    for expression, is_of_model in [*guards, *((expression, True) for expression in saved)]:
        condition = sympy.to_nnf(env.replace(expression), simplify=False)
        if condition.free_symbols and condition.free_symbols <= symbols:
            limits |= {str(limit.xreplace(names)): None for limit in _limits(env, condition, is_of_model)}
    return list(limits)


def _is_of_model(guard: Any) -> bool:
    """Whether a comparison in the model's code caused it. (PyTorch gives a text for its own comparisons.)"""
    place = guard.sloc.framework_loc
    if place is None or isinstance(place, str):
        return False
    folders = Path(place.filename).parents
    return PYTORCH not in folders or INTERPRETER in folders


def _limits(env: Any, condition: Any, is_of_model: bool) -> Iterator[Any]:
    if isinstance(condition, sympy.And):
        for part in condition.args:
            yield from _limits(env, part, is_of_model)
    elif isinstance(condition, sympy.Or):
        sides = [list(_limits(env, part, is_of_model)) for part in condition.args]
        if all(sides):
            yield sympy.Max(*(sympy.Min(*side) for side in sides), evaluate=False)
    elif isinstance(condition, sympy.core.relational.Relational) and (is_of_model or not _is_of_layout(condition)):
        if is_of_integers(condition):
            yield from limits_of_integers(condition)
        elif is_of_model or not _holds_of_long(condition):
            yield from _as_traced(env, condition)


def limits_of_integers(condition: Any) -> Iterator[Any]:
    """Expressions that are >= 0 exactly if the comparison of two integers holds."""
    difference = condition.lhs - condition.rhs
    if isinstance(condition, sympy.Ne):
        yield sympy.Max(difference - 1, -difference - 1)
    elif isinstance(condition, sympy.Eq):
        yield from (difference, -difference)
    else:
        is_greater = isinstance(condition, (sympy.Ge, sympy.Gt))
        is_strict = isinstance(condition, (sympy.Gt, sympy.Lt))
        yield (difference if is_greater else -difference) - int(is_strict)


def is_of_integers(condition: Any) -> bool:
    return isinstance(condition, sympy.core.relational.Relational) and all(map(_is_integer, condition.args))


def _as_traced(env: Any, condition: Any) -> Iterator[Any]:
    """If non-integers decide, the extents must equal those of the example inputs."""
    for symbol in sorted(condition.free_symbols, key=str):
        difference = symbol - int(env.backed_var_to_val[symbol])
        yield from (difference, -difference)


def _holds_of_long(condition: Any) -> bool:
    """Whether it holds where all extents are at least 2, those among them that are computed from fractions, too (a
    resampled image has floor(0.3 n) rows). PyTorch takes that for granted of every extent, as _is_of_layout says."""
    longer: dict[Any, Any] = {}
    for part in sympy.preorder_traversal(condition):
        is_extent = part.is_Symbol or (part.is_Function and type(part).__name__ not in INTEGER)
        if is_extent and part.is_integer:
            longer.setdefault(part, sympy.Dummy(integer=True, nonnegative=True) + 2)
    difference = sympy.expand((condition.lhs - condition.rhs).xreplace(longer))
    if isinstance(condition, sympy.Eq):
        return bool(difference.is_zero)
    if isinstance(condition, sympy.Ne):
        return bool(difference.is_nonzero)
    if isinstance(condition, (sympy.Le, sympy.Lt)):
        difference = -difference
    is_strict = isinstance(condition, (sympy.Gt, sympy.Lt))
    return bool(difference.is_positive if is_strict else difference.is_nonnegative)


def _is_integer(expression: Any) -> bool:
    if expression.is_Integer:
        return True
    if isinstance(expression, sympy.Pow) and not (expression.exp.is_Integer and expression.exp > 0):
        return False
    return type(expression).__name__ in INTEGER and all(map(_is_integer, expression.args))


def _is_of_layout(condition: Any) -> bool:
    """Whether a condition only concerns PyTorch's memory layout or broadcasting. For these PyTorch compares extents
    with each other, with 0 and with 1; no result depends on them. An inequality of extents and numbers counts as one
    (PyTorch compares for broadcasting, too) unless it has a remainder by a number; "greater than 0 or 1" counts as one
    unless it has a remainder or the difference of two extents: those come from the model.
    """
    left, right = condition.args
    if isinstance(condition, sympy.Ne):
        return not (right.is_number and type(left).__name__ in ("Mod", "PythonMod") and left.args[1].is_number)
    if isinstance(condition, (sympy.Le, sympy.Lt)):
        left, right = right, left
    if isinstance(condition, sympy.Eq) or not right.is_Integer:
        return False
    factor, _ = left.as_content_primitive()
    least = sympy.ceiling((right + int(isinstance(condition, (sympy.Gt, sympy.Lt)))) / factor)
    is_remainder = any(type(part).__name__ in ("Mod", "PythonMod") for part in sympy.preorder_traversal(left))
    is_difference = len(left.free_symbols) > 1 and not left.is_positive
    return bool(not (is_remainder or is_difference) and factor > 0 and 0 <= least <= 2)
