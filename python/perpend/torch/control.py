"""PyTorch's control flow: the functions passed to torch.cond, while_loop, scan and map become regions of the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from .._perpend import Value
from . import numbers
from .call import Conversion
from .types import name_expression

Arguments = Sequence[Any]


def tensor_of(converter: Conversion, argument: Any) -> Value:
    """An operand of control flow as a tensor; it may be a number or a condition on extents."""
    if isinstance(argument, torch.fx.Node) and isinstance(argument.meta.get("val"), torch.SymBool):
        return numbers.computed(converter, argument)
    value = converter.map_argument(argument)
    if isinstance(value, Value):
        return value
    if isinstance(value, str):
        return converter.graph.dims([value], scalar=True)
    return converter.graph.constant(torch.tensor(value))


def region(converter: Conversion, body: torch.fx.GraphModule, arguments: Sequence[Value]) -> list[Value]:
    """The results of `body`. Constants converted inside are not visible outside."""
    placeholders = [node for node in body.graph.nodes if node.op == "placeholder"]
    for placeholder, argument in zip(placeholders, arguments, strict=True):
        if isinstance(placeholder.meta.get("val"), torch.SymInt):
            name_expression(placeholder.meta["val"].node.expr, converter.graph.measure(argument))
    outside = dict(converter.constants)
    try:
        results = converter.inline(body, arguments)
    finally:
        converter.constants = outside
    results = results if isinstance(results, list) else [results]
    return [tensor_of(converter, result) for result in results]


def conditional(converter: Conversion, bodies: Callable[[Any], Any], arguments: Arguments) -> list[Value]:
    predicate, *branches, operands = arguments
    values = [tensor_of(converter, operand) for operand in operands]
    first, second = (partial(region, converter, bodies(branch), values) for branch in branches)
    return converter.graph.branch(tensor_of(converter, predicate), first, second)


def while_loop(converter: Conversion, bodies: Callable[[Any], Any], arguments: Arguments) -> list[Value]:
    condition, body = map(bodies, arguments[:2])
    initial = [tensor_of(converter, argument) for argument in arguments[2]]
    others = [tensor_of(converter, argument) for argument in arguments[3]]

    def goes_on(carried: Sequence[Value]) -> Value:
        return region(converter, condition, [*carried, *others])[0]

    def iterate(_number: Value, carried: list[Value]) -> tuple[Value, list[Value], list[Value]]:
        following = region(converter, body, [*carried, *others])
        return goes_on(following), following, []

    return converter.graph.loop(None, goes_on(initial), initial, iterate)


def over_elements(
    converter: Conversion, body: torch.fx.GraphModule, initial: list[Value], inputs: list[Value], others: list[Value]
) -> list[Value]:
    """A loop over the first dimension of `inputs`."""

    def iterate(number: Value, carried: list[Value]) -> tuple[None, list[Value], list[Value]]:
        elements = [converter.graph.composite("gather", [value, number], {"axis": 0})[0] for value in inputs]
        results = region(converter, body, [*carried, *elements, *others])
        return None, results[: len(initial)], results[len(initial) :]

    limit = converter.graph.dims([inputs[0].shape[0]], scalar=True)
    return converter.graph.loop(limit, None, initial, iterate)


def scan(converter: Conversion, bodies: Callable[[Any], Any], arguments: Arguments) -> list[Value]:
    operands = [[tensor_of(converter, argument) for argument in group] for group in arguments[1:]]
    return over_elements(converter, bodies(arguments[0]), *operands)


def mapped(converter: Conversion, bodies: Callable[[Any], Any], arguments: Arguments) -> list[Value]:
    inputs, others = ([tensor_of(converter, argument) for argument in group] for group in arguments[1:])
    return over_elements(converter, bodies(arguments[0]), [], inputs, others)


CONTROL: dict[str, Callable[[Any, Callable[[Any], Any], Arguments], list[Value]]] = {
    "higher_order.cond": conditional,
    "higher_order.while_loop": while_loop,
    "higher_order.scan": scan,
    "higher_order.map_impl": mapped,
}
