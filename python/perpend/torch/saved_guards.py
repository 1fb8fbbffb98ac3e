"""The guards of a program read from a file: conditions on its inputs' extents, as Python text.

PyTorch writes them (`L['x'].size()[0] % 2 == 0`) and executes them as part of the program. Files are not trusted, so
this parses them as expressions of extents and numbers, and executes nothing.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy
import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree

from .._perpend import CompileError
from .guards import shape_env_of
from .structure import names_of_parameters

OPERATIONS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.Pow: operator.pow,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f"torch.{name}": getattr(torch, name) for name in dir(torch) if name.startswith(("sym_", "_sym_"))},
    **{f"math.{name}": getattr(math, name) for name in ("ceil", "floor", "trunc")},
    "math.sqrt": torch._sym_sqrt,
    "min": torch.sym_min,
    "max": torch.sym_max,
    "abs": abs,
    "round": round,
    "int": torch.sym_int,
    "float": torch.sym_float,
}
METHODS = {"size", "stride", "dim", "storage_offset", "numel"}


def saved_conditions(program: ExportedProgram) -> list[Any]:
    """The conditions of a program from a file. The file does not tell their origin, so all count as the model's;
    PyTorch checks them all, too."""
    pairs = zip(program.graph.find_nodes(op="placeholder"), program.graph_signature.input_specs, strict=True)
    inputs = [node.meta.get("val") for node, spec in pairs if spec.kind == InputKind.USER_INPUT]
    env = shape_env_of(extent for value in inputs for extent in getattr(value, "shape", (value,)))
    if not env or env.guards or not getattr(program, "_guards_code", None):
        return []
    positional, named = pytree.tree_unflatten(inputs, program.call_spec.in_spec)
    parameters = dict(zip(names_of_parameters(program), positional, strict=False))
    scope = {"flat_args": inputs, **_starred(parameters), **parameters, **named}
    return [_read(text, scope) for text in program._guards_code]


def _starred(parameters: Mapping[str, Any]) -> dict[str, dict[int, Any]]:
    """The values of *args, by position; a program names them args_0, args_1 and so on."""
    values: dict[str, dict[int, Any]] = {}
    for name, value in parameters.items():
        base, _, position = name.rpartition("_")
        if position.isdigit():
            values.setdefault(base, {})[int(position)] = value
    return values


def _read(text: str, scope: Mapping[str, Any]) -> Any:
    try:
        return _condition(ast.parse(text, mode="eval").body, scope)
    except Exception as error:
        raise CompileError(
            f"the program was traced for inputs with {text}, which cannot be read: {type(error).__name__}: {error}"
            "\nhint: compile what torch.export.export returns, without saving it"
        ) from error


def _condition(node: ast.expr, scope: Mapping[str, Any]) -> Any:
    """A condition of and, or, not and comparisons, in sympy."""
    if isinstance(node, ast.BoolOp):
        parts = [_condition(part, scope) for part in node.values]
        return (sympy.And if isinstance(node.op, ast.And) else sympy.Or)(*parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return sympy.Not(_condition(node.operand, scope))
    if isinstance(node, ast.Compare):
        sides = [_value(side, scope) for side in (node.left, *node.comparators)]
        compared = zip(node.ops, sides, sides[1:], strict=False)
        return sympy.And(*(_of_sympy(OPERATIONS[type(relation)](a, b)) for relation, a, b in compared))
    return _of_sympy(_value(node, scope))


def _of_sympy(value: Any) -> Any:
    return value.node.expr if isinstance(value, torch.SymBool) else sympy.sympify(bool(value))


def _value(node: ast.expr, scope: Mapping[str, Any]) -> Any:
    """A number, an extent, an input, or a container of them."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name) and node.id == "L":
        return scope
    if isinstance(node, ast.Subscript):
        container = _value(node.value, scope)
        if isinstance(container, (Mapping, Sequence)):
            return container[_value(node.slice, scope)]
    if isinstance(node, ast.BinOp):
        return OPERATIONS[type(node.op)](_value(node.left, scope), _value(node.right, scope))
    if isinstance(node, ast.UnaryOp):
        return OPERATIONS[type(node.op)](_value(node.operand, scope))
    if isinstance(node, ast.Call) and not node.keywords:
        return _called(node.func, scope)(*(_value(argument, scope) for argument in node.args))
    if isinstance(node, (ast.Tuple, ast.List)):
        return [_value(element, scope) for element in node.elts]
    raise ValueError(f"'{ast.unparse(node)}' is neither a number nor an extent")


def _called(node: ast.expr, scope: Mapping[str, Any]) -> Callable[..., Any]:
    name = ast.unparse(node)
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    if isinstance(node, ast.Attribute) and node.attr in METHODS:
        owner = _value(node.value, scope)
        if isinstance(owner, torch.Tensor):
            method: Callable[..., Any] = getattr(owner, node.attr)
            return method
    raise ValueError(f"'{name}' is no function of extents")
