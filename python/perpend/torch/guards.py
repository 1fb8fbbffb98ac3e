"""Guards: what PyTorch took for granted of extents while it traced a model, as requirements of the compiled one.

A branch of Python that an extent decides, and a number that is made from extents (a scale of 1 / sqrt(n), a stride of
n // 7), are traced for the example inputs alone. A guard such as Eq(Mod(n, 2), 0) says for which others they hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import sympy
import torch

# Where PyTorch compares extents for itself; a part of it, Dynamo, interprets the model's Python code.
PYTORCH = Path(torch.__file__).parent
INTERPRETER = PYTORCH / "_dynamo"

# What extents are made of, by the names of the classes of sympy and PyTorch.
INTEGER = {"Symbol", "Add", "Mul", "Pow", "FloorDiv", "CleanDiv", "CeilDiv", "Mod", "PythonMod", "Max", "Min"}


def shape_env_of(extents: Iterable[Any]) -> Any:
    """Where PyTorch keeps what it knows of symbols; None when all extents are numbers."""
    return next((extent.node.shape_env for extent in extents if isinstance(extent, torch.SymInt)), None)


def limits_of_guards(env: Any, saved: Iterable[Any], symbols: set[sympy.Symbol], names: dict[Any, Any]) -> list[str]:
    """Expressions of `symbols` that must not be negative. saved: further conditions of the model."""
    guards = [(guard.expr, _is_of_model(guard)) for guard in (env.guards if env else ())]
    limits: dict[str, None] = {}
    for expression, is_of_model in [*guards, *((expression, True) for expression in saved)]:
        condition = sympy.to_nnf(env.replace(expression), simplify=False)
        if condition.free_symbols and condition.free_symbols <= symbols:
            limits |= {str(limit.xreplace(names)): None for limit in _limits(env, condition, is_of_model)}
    return list(limits)


def _is_of_model(guard: Any) -> bool:
    """Whether it is from a comparison in the model's code. (PyTorch writes a text where it compares for itself.)"""
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
    """What must not be negative where two integers compare so."""
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
    """Where numbers with fractions decide, the extents must be those of the example inputs."""
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
    """PyTorch compares extents with each other, with 0 and with 1 to know how tensors lie in memory and what repeats;
    no result follows from that. An extent that is unequal to another or to a number is taken for one of these (it
    compares with numbers, too, to broadcast), unless it is a remainder by a number; one that is greater than 0 or 1,
    unless it is a remainder or the difference of two: those the model made.
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
