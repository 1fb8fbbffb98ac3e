"""Symbols of torch.export: the user's names for them, and their limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
import torch
from torch.export import Dim, ExportedProgram
from torch.export.dynamic_shapes import _combine_args, _tree_map_with_path
from torch.export.graph_signature import InputKind, SymIntArgument, TensorArgument

from .._perpend import symbol_of_dimension
from .guards import limits_of_guards, shape_env_of

RESERVED = {"min", "max", "mod", "floordiv", "ceildiv"}


def input_names(program: ExportedProgram) -> list[str]:
    """Of each user input."""
    placeholders = program.graph.find_nodes(op="placeholder")
    pairs = zip(placeholders, program.graph_signature.input_specs, strict=True)
    return [node.name for node, spec in pairs if spec.kind == InputKind.USER_INPUT]


def input_extents(program: ExportedProgram) -> list[list[Any]]:
    """The expressions of the extents of each user input; empty for one that is not a tensor."""
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    extents: list[list[Any]] = []
    for node, spec in zip(placeholders, program.graph_signature.input_specs, strict=True):
        if spec.kind == InputKind.USER_INPUT:
            shape = node.meta["val"].shape if isinstance(spec.arg, TensorArgument) else ()
            extents.append([e.node.expr if isinstance(e, torch.SymInt) else sympy.Integer(e) for e in shape])
    return extents


def input_numbers(program: ExportedProgram) -> dict[str, Any]:
    """The expressions of the user's inputs that are integers, by name."""
    placeholders = program.graph.find_nodes(op="placeholder")
    pairs = zip(placeholders, program.graph_signature.input_specs, strict=True)
    return {node.name: node.meta["val"].node.expr for node, spec in pairs if isinstance(spec.arg, SymIntArgument)}


def given_dims(net: Any, positional: Any, named: Any, dynamic_shapes: Any) -> list[Any]:
    """The user's dynamic_shapes for each leaf of the inputs, in order."""
    if not dynamic_shapes:
        return []
    inputs = _combine_args(net, positional, named)
    if isinstance(dynamic_shapes, (tuple, list)):
        inputs = type(dynamic_shapes)(inputs.values())
    leaves: list[Any] = []
    _tree_map_with_path(lambda path, leaf, *given: leaves.append(given[0]), inputs, dynamic_shapes, tree_name="inputs")
    return leaves


def dims_of_symbols(program: ExportedProgram, leaves: list[Any]) -> dict[Any, Any]:
    """The named Dim of each symbol. An extent such as 2 * n + 1 belongs to the Dim it is derived from."""
    dims: dict[Any, Any] = {}
    for extents, given in zip(input_extents(program), leaves, strict=False):
        if not isinstance(given, (dict, tuple, list)):
            continue  # an integer input
        pairs = given.items() if isinstance(given, dict) else enumerate(given)
        for axis, dim in pairs:
            symbols = extents[axis].free_symbols if isinstance(dim, Dim) and axis < len(extents) else ()
            if len(symbols) == 1:
                dims.setdefault(next(iter(symbols)), getattr(dim, "root", dim))
    return dims


def names_of(program: ExportedProgram, dims: dict[Any, Any]) -> dict[Any, Any]:
    """New symbols for those of the inputs: the name of their Dim if it is free, otherwise x_dim0 and so on."""
    used = {str(symbol) for symbol in program.range_constraints} | RESERVED
    names: dict[Any, Any] = {}

    def give(symbol: Any, name: str) -> None:
        if symbol not in names and name not in used:
            used.add(name)
            names[symbol] = sympy.Symbol(name, integer=True, nonnegative=True)

    for symbol, dim in dims.items():
        give(symbol, dim.__name__)
    for name, extents in zip(input_names(program), input_extents(program), strict=True):
        for axis, extent in enumerate(extents):
            for symbol in sorted(extent.free_symbols, key=str):
                give(symbol, symbol_of_dimension(name, axis))
    return names


def env_of(program: ExportedProgram) -> Any:
    """PyTorch's knowledge of the inputs' symbols, or None."""
    values = [node.meta["val"] for node in program.graph.find_nodes(op="placeholder")]
    return shape_env_of(extent for value in values for extent in getattr(value, "shape", (value,)))


def limits_of_numbers(
    program: ExportedProgram, names: dict[Any, Any], conditions: Sequence[Any]
) -> dict[str, list[str]]:
    """As limits_of, for integer inputs, by name. PyTorch's range of such a number is respected: the model's code
    compares numbers with 0 and 1 more often than it does extents.

    names: includes the inputs' symbols.
    """
    numbers = input_numbers(program)
    extents = {symbol for extents in input_extents(program) for extent in extents for symbol in extent.free_symbols}
    env = env_of(program)
    known = set(limits_of_guards(env, conditions, extents, names))
    limits: dict[str, list[str]] = {}
    for name, expression in numbers.items():
        symbols = extents | expression.free_symbols
        limits[name] = [limit for limit in limits_of_guards(env, conditions, symbols, names) if limit not in known]
        constraint, own = program.range_constraints.get(expression), names.get(expression, expression)
        if constraint and constraint.lower > -(2**62):
            limits[name].append(f"({own}) - ({constraint.lower})")
        if constraint and constraint.upper < 2**62:
            limits[name].append(f"{constraint.upper} - ({own})")
    return limits


def limits_of(
    program: ExportedProgram, dims: dict[Any, Any], names: dict[Any, Any], conditions: Sequence[Any]
) -> list[str]:
    """Expressions that must be >= 0. PyTorch's own minimal extent, 2, is not the user's limit.

    conditions: those of a program from a file (saved_guards.saved_conditions).
    """
    symbols = {symbol for extents in input_extents(program) for extent in extents for symbol in extent.free_symbols}
    limits = limits_of_guards(env_of(program), conditions, symbols, names)
    for symbol, constraint in program.range_constraints.items():
        if symbol not in symbols:
            continue
        name = names.get(symbol, symbol)
        given = dims[symbol].min if symbol in dims else 0
        least = constraint.lower if constraint.lower > 2 else given
        if least > 0:
            limits.append(f"{name} - {least}")
        if constraint.upper < 2**62:
            limits.append(f"{constraint.upper} - {name}")
    return limits
