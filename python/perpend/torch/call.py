"""One node of a torch graph during conversion, and the values of the nodes before it.

Operators are written in terms of a Call: it gives them the arguments by name, and builds composites.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import torch

from .._perpend import CompileError, GraphBuilder, Type, Value
from .types import Extent, dtype_name, extent_of, torch_dtype


class Complex(NamedTuple):
    real: Value
    imaginary: Value | None  # None: zero
    pairs: Value | None = None  # [.., 2] with the same numbers, if there is such a value


def has_effect(node: torch.fx.Node) -> bool:
    """Whether torch keeps the node in order among the others; its results are a token and those of the operator it
    calls."""
    return isinstance(node.target, torch._ops.HigherOrderOperator) and node.target.name() == "with_effects"


def called(node: torch.fx.Node) -> tuple[Any, Sequence[Any]]:
    """The operator and its arguments by position."""
    return (node.args[1], node.args[2:]) if has_effect(node) else (node.target, node.args)


def name_of(node: torch.fx.Node) -> str:
    """ "aten.add" for every overload of it."""
    target, _ = called(node)
    if isinstance(target, torch._ops.OpOverload):
        return f"{target.namespace}.{target._schema.name.split('::')[1]}"
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"higher_order.{target.name()}"
    return str(getattr(target, "__name__", target))


def arguments_of(node: torch.fx.Node) -> dict[str, Any]:
    """The arguments by the names of the operator's schema, which supplies defaults for absent ones."""
    target, given = called(node)
    arguments: dict[str, Any] = {}
    for index, argument in enumerate(target._schema.arguments):
        if index < len(given):
            value: Any = given[index]
        elif argument.name in node.kwargs:
            value = node.kwargs[argument.name]
        else:
            value = argument.default_value if argument.has_default_value() else None
        arguments[argument.name] = value
    return arguments


def place_of(node: torch.fx.Node) -> str:
    """Where the model's code calls the operator, if PyTorch recorded it."""
    places = re.findall(r'File "(.*)", line (\d+)', node.meta.get("stack_trace") or "")
    return f" at {places[-1][0]}:{places[-1][1]}" if places else ""


class Conversion:
    """The state of a torch graph's conversion."""

    def __init__(self, name: str) -> None:
        self.graph = GraphBuilder(name)
        self.values: dict[torch.fx.Node, Any] = {}
        self.kept: set[torch.fx.Node] = set()  # states
        self.keeps_order = False  # whether the dimensions of states lie in the order that PyTorch has them in
        self.seeds = 0  # the number of random operators so far
        self.failed: torch.fx.Node | None = None  # the last whose conversion raised an error
        self.constants: dict[int, tuple[torch.Tensor, Any]] = {}  # keeps the tensor, so that its id is not reused

    def input(self, node: torch.fx.Node, name: str) -> None:
        tensor = node.meta["val"]
        if tensor.dtype.is_complex:
            raise CompileError(
                f"input '{name}': complex numbers are not supported\n"
                "hint: take torch.view_as_real(...) of it as the input, and begin with torch.view_as_complex"
            )
        self.values[node] = self.graph.input(name, [extent_of(e) for e in tensor.shape], dtype_name(tensor.dtype))

    def constant(self, tensor: torch.Tensor) -> Any:
        """A parameter, buffer or constant; the module keeps its memory."""
        if id(tensor) not in self.constants:
            self.constants[id(tensor)] = (tensor, self._new_constant(tensor.detach().cpu()))
        return self.constants[id(tensor)][1]

    def _new_constant(self, tensor: torch.Tensor) -> Any:
        if tensor.dtype.is_complex:
            return Complex(*(self.graph.constant(part.contiguous()) for part in (tensor.real, tensor.imag)))
        dtype_name(tensor.dtype)
        return self.graph.constant(tensor)

    def map_argument(self, argument: Any) -> Any:
        if isinstance(argument, torch.fx.Node):
            value = argument.meta.get("val")
            if isinstance(value, (int, torch.SymInt)) and not isinstance(value, bool):
                return extent_of(value)
            if isinstance(value, torch.SymBool):
                raise CompileError(
                    f"node '{argument.name}': a condition that depends on shapes is not supported"
                    "\nhint: write it with torch.where or torch.cond"
                )
            return self.values[argument]
        if isinstance(argument, torch.SymInt):
            return extent_of(argument)
        if isinstance(argument, (list, tuple)):
            return [self.map_argument(element) for element in argument]
        return argument

    def inline(self, body: torch.fx.GraphModule, arguments: Sequence[Any]) -> Any:
        """Converts a region such as `with torch.no_grad()` in place; returns its results."""
        raise NotImplementedError


class Call:
    """A node under conversion: its arguments by the names of the operator's schema, and the builder."""

    def __init__(self, converter: Conversion, node: torch.fx.Node) -> None:
        self.converter = converter
        self.node = node
        self.result = node.meta.get("val")
        self.part: int | None = None  # which part of complex operands `[]` returns
        self._arguments = arguments_of(node)
        self._as_vectors: dict[str, Value] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._arguments

    def raw(self, name: str) -> Any:
        """The argument as it is in the torch graph."""
        return self._arguments[name]

    def __getitem__(self, name: str) -> Any:
        """The argument with tensors as values and symbolic integers as text."""
        if name in self._as_vectors:
            return self._as_vectors[name]
        return self._of_part(self.converter.map_argument(self._arguments[name]))

    def get(self, name: str, otherwise: Any = None) -> Any:
        if name not in self:
            return otherwise
        value = self[name]
        return otherwise if value is None else value

    def _of_part(self, value: Any) -> Any:
        if self.part is None:
            return value
        if isinstance(value, list):
            return [self._of_part(element) for element in value]
        is_number = isinstance(value, (Complex, complex)) or (isinstance(value, Value) and is_float(value))
        return component(self, value, self.part) if is_number else value

    def rank(self, name: str = "self") -> int:
        return len(self.example(name).shape)

    def example(self, name: str) -> Any:
        """The (fake) tensor or number that the argument stands for."""
        value = self._arguments[name]
        value = value.meta["val"] if isinstance(value, torch.fx.Node) else value
        return value.reshape(1) if name in self._as_vectors else value

    def of_vectors(self) -> Call:
        """The same call with tensors of rank 0 replaced by vectors of one element."""
        call = Call(self.converter, self.node)
        call.part = self.part
        for name, value in self._arguments.items():
            example = value.meta.get("val") if isinstance(value, torch.fx.Node) else None
            if isinstance(example, torch.Tensor) and example.dim() == 0:
                call._as_vectors[name] = self.reshape(self[name], [1])
        return call

    def is_read(self, index: int) -> bool:
        """Whether the model uses this result of the operator."""
        return any(user.args[1] == index and user.users for user in self.node.users)

    def ints(self, name: str, count: int, otherwise: int = 0) -> list[int]:
        """A list with one entry per window dimension; one entry stands for all."""
        values = self.get(name, [])
        values = list(values) if isinstance(values, list) else [values]
        if not values:
            values = [otherwise]
        for value in values:
            if not isinstance(value, int):
                raise self.fail(f"{name}: expected numbers, got {value}\nhint: export with these dimensions fixed")
        return values * count if len(values) == 1 else values

    @property
    def dtype(self) -> torch.dtype:
        """Element type of the (first) result."""
        result = self.result[0] if isinstance(self.result, (list, tuple)) else self.result
        return cast(torch.dtype, result.dtype.to_real() if result.dtype.is_complex else result.dtype)

    def op(self, name: str, *inputs: Value | None, **attributes: Any) -> Value:
        return self.converter.graph.composite(name, list(inputs), attributes)[0]

    def ops(self, name: str, *inputs: Value | None, **attributes: Any) -> list[Value]:
        return self.converter.graph.composite(name, list(inputs), attributes)

    def cast(self, value: Value, dtype: torch.dtype) -> Value:
        name = dtype_name(dtype)
        if value.dtype == name:
            return value
        if name == "bool":
            return self.op("not_equal", value, self.number(0, torch_dtype(value.dtype)))
        # Beyond the range of a float of 8 bits are its infinities, or NaN; PyTorch saturates this one alone.
        saturates = dtype == torch.float8_e4m3fn
        return self.op("cast", value, to=Type(name), saturate=int(saturates))

    def of_type(self, value: Value, dtype: torch.dtype) -> Value:
        """An operand in another type. Whole numbers among complex ones have the imaginary part 0."""
        if self.part == 1 and dtype.is_floating_point and not is_float(value):
            return self.op("expand", self.number(0, dtype), shape=list(value.shape))
        return self.cast(value, dtype)

    def number(self, value: float | Extent | Value, dtype: torch.dtype) -> Value:
        """A number, possibly made of extents or data, as a tensor of rank 0."""
        if isinstance(value, str):
            value = self.converter.graph.dims([value], scalar=True)
        if isinstance(value, Value):
            return self.cast(value, dtype)
        if isinstance(value, int) and not dtype.is_floating_point and dtype.itemsize < 8:
            return self.converter.graph.constant(torch.tensor(value).to(dtype))  # the low bits, as in PyTorch
        return self.converter.graph.constant(torch.tensor(value, dtype=dtype))

    def tensor(self, name: str, dtype: torch.dtype | None = None) -> Value:
        """An argument that is a tensor, a number or a symbolic integer, as a tensor of `dtype`."""
        value = self[name]
        if isinstance(value, Value):
            return value if dtype is None else self.of_type(value, dtype)
        if self.part == 1:
            value = 0  # a real number
        return self.number(value, dtype or (torch.int64 if isinstance(value, str) else self.dtype))

    def reshape(self, value: Value, shape: Sequence[Extent]) -> Value:
        return self.op("reshape", value, shape=list(shape))

    def fail(self, message: str) -> CompileError:
        return CompileError(f"node '{self.node.name}' ({self.node.target}): {message}")


def is_float(value: Value) -> bool:
    return value.dtype[0] == "f" or value.dtype == "bf16"


def component(call: Call, value: Any, index: int) -> Any:
    """One part of an operand that may be real."""
    if not isinstance(value, Complex):
        if isinstance(value, complex):
            return call.number((value.real, value.imag)[index], call.dtype)
        value = Complex(value if isinstance(value, Value) else call.number(value, call.dtype), None)
    if index == 0:
        return value.real
    if value.imaginary is not None:
        return value.imaginary
    zero = call.number(0, torch_dtype(value.real.dtype))
    return call.op("expand", zero, shape=list(value.real.shape))


def torch_of(value: Value) -> torch.dtype:
    return torch.float64 if value.dtype == "f64" else torch.float32
