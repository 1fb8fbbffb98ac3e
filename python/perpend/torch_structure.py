"""The arguments and results of a PyTorch module, which are flat lists of tensors in the compiled model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import Enum
from typing import Any

from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, TensorArgument
from torch.utils import _pytree as pytree


class Leaf(Enum):
    """What a module returns at one place: None has no output of the compiled model, an integer has a scalar."""

    TENSOR = 0
    INTEGER = 1
    NONE = 2


class Arguments:
    """What a module is called with, in the form in which it takes it, or flat."""

    def __init__(self, program: ExportedProgram, parameters: Sequence[str]) -> None:
        self.spec = program.call_spec.in_spec
        positional, named = self.spec.children()
        self.parameters = list(parameters or names_of_parameters(program))[: positional.num_children]
        self.keywords: list[str] = list(named.context)
        self.is_nested = not all(child.is_leaf() for part in (positional, named) for child in part.children())
        inputs = [spec.arg for spec in program.graph_signature.input_specs if spec.kind == InputKind.USER_INPUT]
        self.names = [argument.name if isinstance(argument, TensorArgument) else None for argument in inputs]

    def flat(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        """Dicts have their keys in any order.
        Errors: TypeError for tuples, dicts and so on in other places than the module has them.
        """
        if not self.is_nested or not any(map(is_container, (*inputs, *named.values()))):
            return inputs, named
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
        return [leaf for leaf, name in zip(leaves, self.names, strict=True) if name], {}

    def _flat_names(self) -> str:
        return f"or flat, by position or name: {', '.join(filter(None, self.names))}"

    def __str__(self) -> str:
        inputs, named = pytree.tree_unflatten([Named(str(name)) for name in self.names], self.spec)
        return ", ".join([*map(repr, inputs), *(f"{name}={value!r}" for name, value in named.items())])


def names_of_parameters(program: ExportedProgram) -> list[str]:
    """Those of the exported module's forward, where the program knows them."""
    called = program.module_call_graph[0].signature
    return (called.forward_arg_names if called else None) or []


class Named:
    """Prints as an input's name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


def is_container(value: Any) -> bool:
    return not pytree.tree_structure(value).is_leaf()


class Structure:
    """Outputs in the form in which the module returns them: a tensor, tuples, lists, dicts, dataclasses and so on."""

    def __init__(self, spec: Any, leaves: Sequence[Leaf], arguments: Arguments) -> None:
        self.spec = spec
        self.leaves = leaves
        self.arguments = arguments

    def __call__(self, results: Any) -> Any:
        """results: those of the compiled model, one array or a tuple of them."""
        rest = iter(results if isinstance(results, tuple) else (results,))
        values: list[Any] = [None if leaf is Leaf.NONE else next(rest) for leaf in self.leaves]
        numbers = [leaf is Leaf.INTEGER for leaf in self.leaves]
        values = [int(value) if is_number else value for value, is_number in zip(values, numbers, strict=True)]
        return pytree.tree_unflatten(values, self.spec)


def output_names(spec: Any, count: int) -> list[str]:
    """Keys of dicts, positions in tuples: "logits", "hidden_states_0"; "output" for a single tensor."""
    paths, _ = pytree.tree_flatten_with_path(pytree.tree_unflatten(list(range(count)), spec))
    names = []
    for path, _value in paths:
        keys = [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key)))) for key in path]
        text = "_".join(keys) or "output"
        names.append(f"output{text}" if text[0].isdigit() else text)
    repeated = {name for name, times in Counter(names).items() if times > 1}
    return [f"{name}_{index}" if name in repeated else name for index, name in enumerate(names)]
