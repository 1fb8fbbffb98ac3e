"""The structure of a PyTorch module's arguments and results; the compiled model takes and returns flat lists of
tensors."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, SymIntArgument, TensorArgument
from torch.utils import _pytree as pytree


class Leaf(Enum):
    """What a module returns at one place: None has no output of the compiled model, a number has a scalar."""

    TENSOR = 0
    INTEGER = 1
    NONE = 2
    FLOAT = 3
    BOOLEAN = 4


NUMBERS: dict[Leaf | Result, Callable[[Any], Any]] = {Leaf.INTEGER: int, Leaf.FLOAT: float, Leaf.BOOLEAN: bool}


@dataclass(frozen=True)
class Result:
    """A number, a text or a truth value that the module returns whatever its arguments are: no output has it."""

    value: float | str | bool


class Constant:
    """An argument that is not a tensor, such as a number, a text or None: the compiled model contains its value."""

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)

    def check(self, given: Any) -> None:
        """Errors: ValueError for another value, or the same value of another type: 2 and 2.0 compute differently."""
        value = given.item() if isinstance(given, np.generic) else given
        is_nan = value != value and self.value != self.value if isinstance(value, float) else False
        is_same = is_nan or (value == self.value and repr(value) == repr(self.value))  # 0.0 is not -0.0
        if type(value) is type(self.value) and is_same:
            return
        got = f"an array of shape {list(given.shape)}" if is_array(given) else repr(given)
        raise ValueError(
            f"argument '{self.name}': expected the constant {self!r} that the module was compiled with, got {got}\n"
            "hint: compile it again with the other value among example_inputs"
        )


class Arguments:
    """The arguments of a module, in its own structure or flat; flat ones may omit constants."""

    def __init__(self, program: ExportedProgram, parameters: Sequence[str], spec: Any, first: int) -> None:
        """spec: the nesting of the arguments, which are the program's inputs from number `first` on."""
        self.spec = spec
        positional, named = self.spec.children()
        self.parameters = list(parameters or names_of_parameters(program))[: positional.num_children]
        self.keywords: list[str] = list(named.context)
        self.is_nested = not all(child.is_leaf() for part in (positional, named) for child in part.children())
        inputs = [spec.arg for spec in program.graph_signature.input_specs if spec.kind == InputKind.USER_INPUT]
        inputs = inputs[first:]
        arrays = (TensorArgument, SymIntArgument)
        self.names = [argument.name if isinstance(argument, arrays) else None for argument in inputs]
        self.has_numbers = any(isinstance(argument, SymIntArgument) for argument in inputs)
        self.constants = [Constant(a.name, a.value) if isinstance(a, ConstantArgument) else None for a in inputs]

    def flat(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        """What the compiled model takes: arrays, by position and by name."""
        flat, by_name = self._flat(inputs, named)
        if not self.has_numbers:
            return flat, by_name
        return [as_array(value) for value in flat], {name: as_array(value) for name, value in by_name.items()}

    def _flat(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        """Flattens the arguments. Dicts may have their keys in any order.

        Errors: TypeError if tuples, dicts and so on are not where the module has them; ValueError for a constant other
        than the one the module was compiled with.
        """
        if not self.is_nested and not any(self.constants):
            return inputs, named
        if not self.is_nested or not any(map(is_container, (*inputs, *named.values()))):
            return self._without_constants(inputs, named)
        names = self.parameters[len(inputs) :]
        if set(named) == {*names, *self.keywords}:
            inputs = (*inputs, *(named[name] for name in names))
            named = {name: named[name] for name in self.keywords}
        try:
            leaves = self.spec.flatten_up_to((inputs, named))
        except ValueError:
            leaves = None
        if leaves is None or any(map(is_container, leaves)):
            raise TypeError(f"expected the arguments {self}, got others\nhint: {self._flat_names()}")
        return self._tensors(leaves), {}

    def _tensors(self, leaves: Iterable[Any]) -> list[Any]:
        """The tensors among arguments that include constants; surplus arguments stay."""
        tensors = []
        for position, leaf in enumerate(leaves):
            constant = self.constants[position] if position < len(self.constants) else None
            if constant:
                constant.check(leaf)
            elif position >= len(self.names) or self.names[position]:
                tensors.append(leaf)
        return tensors

    def _without_constants(
        self, inputs: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        """Flat inputs include the constants if there are more values than tensors."""
        by_name = {constant.name: constant for constant in self.constants if constant}
        for name in by_name.keys() & named.keys():
            by_name[name].check(named[name])
        others = {name: value for name, value in named.items() if name not in by_name}
        tensors = len(self.names) - self.names.count(None)
        has_constants = by_name and len(inputs) + len(others) > tensors
        return self._tensors(inputs) if has_constants else inputs, others

    def _flat_names(self) -> str:
        return f"or flat, by position or name: {', '.join(filter(None, self.names))}"

    def __str__(self) -> str:
        leaves = [constant or Named(str(name)) for name, constant in zip(self.names, self.constants, strict=True)]
        inputs, named = pytree.tree_unflatten(leaves, self.spec)
        return ", ".join([*map(repr, inputs), *(f"{name}={value!r}" for name, value in named.items())])


def names_of_parameters(program: ExportedProgram) -> list[str]:
    """Parameters of the exported module's forward, if the program knows them."""
    called = program.module_call_graph[0].signature
    return (called.forward_arg_names if called else None) or []


class Named:
    """Prints as an input's name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


def is_array(value: Any) -> bool:
    return hasattr(value, "shape") and not isinstance(value, np.generic)


def as_array(value: Any) -> Any:
    return np.array(value, np.int64) if type(value) is int else value


def is_container(value: Any) -> bool:
    return not pytree.tree_structure(value).is_leaf()


class Structure:
    """Nests outputs as the module returns them: a tensor, tuples, lists, dicts, dataclasses and so on."""

    def __init__(self, spec: Any, leaves: Sequence[Leaf | Result], arguments: Arguments) -> None:
        self.spec = spec
        self.leaves = leaves
        self.arguments = arguments
        self.is_tensor = spec.is_leaf() and leaves[0] is Leaf.TENSOR

    def to_json(self) -> str:
        """The nesting, as perpend.results reads it. Empty if the compiled model's own results have it, or if PyTorch
        cannot serialise one of the classes."""
        count = len(self.leaves)
        flat = pytree.tree_structure(tuple(range(count)) if count > 1 else 0)
        if self.spec == flat and all(leaf is Leaf.TENSOR for leaf in self.leaves):
            return ""
        try:
            return json.dumps(_described(self.spec, iter(self.leaves)))
        except (NotImplementedError, TypeError, ValueError):
            return ""

    def __call__(self, results: Any) -> Any:
        """results: those of the compiled model, one array or a tuple of them."""
        if self.is_tensor:
            return results[0] if isinstance(results, tuple) else results
        rest = iter(results if isinstance(results, tuple) else (results,))
        return pytree.tree_unflatten([_value(leaf, rest) for leaf in self.leaves], self.spec)


def _value(leaf: Leaf | Result, rest: Iterator[Any]) -> Any:
    if isinstance(leaf, Result):
        return leaf.value
    return None if leaf is Leaf.NONE else NUMBERS.get(leaf, _same)(next(rest))


def _same(value: Any) -> Any:
    return value


def is_long(value: Any) -> bool:
    """Whether it is an integer that an output, or a number of the descriptor, has no room for."""
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def _described(spec: Any, leaves: Iterator[Leaf | Result]) -> Any:
    if spec.is_leaf():
        leaf = next(leaves)
        if isinstance(leaf, Leaf):
            return leaf.name.lower()
        value = leaf.value
        if isinstance(value, float):
            return {"float": value.hex()}  # JSON has no infinity
        return {"integer": str(value)} if is_long(value) else {"constant": value}
    children = [_described(child, leaves) for child in spec.children()]
    if spec.type in (tuple, list):
        return {spec.type.__name__: children}
    if spec.type is dict and all(type(key) in (str, int) and not is_long(key) for key in spec.context):
        return {"dict": [list(pair) for pair in zip(spec.context, children, strict=True)]}
    node = pytree.TreeSpec(spec.type, spec.context, [pytree.treespec_leaf() for _ in children])
    return {"pytree": pytree.treespec_dumps(node), "of": children}


def output_names(spec: Any, examples: Sequence[Any]) -> list[str]:
    """Keys of dicts, positions in tuples: "logits", "hidden_states_0"; "output" for a single tensor.

    examples: the outputs' examples in the program, as the user's classes may require tensors.
    """
    paths, _ = pytree.tree_flatten_with_path(pytree.tree_unflatten(examples, spec))
    names = []
    for path, _value in paths:
        keys = [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key)))) for key in path]
        text = "_".join(keys) or "output"
        names.append(f"output{text}" if text[0].isdigit() else text)
    if len(names) != len(examples):  # a class flattens to other members than it was built from
        names = [f"output{position}" for position in range(len(examples))]
    repeated = {name for name, times in Counter(names).items() if times > 1}
    return [f"{name}_{index}" if name in repeated else name for index, name in enumerate(names)]
