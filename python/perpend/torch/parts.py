"""A graph of PyTorch in parts: what can be compiled, and around it what PyTorch runs itself.

Each operator has a level: even ones are compiled, odd ones stay with PyTorch, and an operator's level is at least that
of what it reads. So there are as few parts as the order allows, and those of equal level are one.

    y = users.op(relu(x)); z = y + tanh(x)    level 0: relu, tanh; level 1: users.op; level 2: +
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node
from torch.utils import _pytree as pytree

from . import numbers

Function = Callable[..., Sequence[Any]]


@dataclass
class Part:
    """Some nodes of a graph as a graph of its own, whose inputs and outputs are nodes of the whole one."""

    is_compiled: bool
    module: GraphModule
    inputs: list[Node]
    outputs: list[Node]


def is_free(node: Node) -> bool:
    """Whether it is a number made of others and of extents: each part that needs it computes it again."""
    return node.op == "get_attr" or (
        node.op == "call_function" and numbers.is_number(node) and node.target not in numbers.READS
    )


def is_view(node: Node) -> bool:
    """Whether it computes nothing: a view of its first argument, or one of several."""
    if node.target is operator.getitem:
        return is_view(node.all_input_nodes[0])
    return node.op == "call_function" and bool(getattr(node.target, "is_view", False))


def _needs(nodes: Sequence[Node]) -> Iterator[Node]:
    """What the nodes read, through free ones."""
    seen = set()
    rest = list(nodes)
    while rest:
        for source in rest.pop().all_input_nodes:
            if source in seen:
                continue
            seen.add(source)
            yield source
            if is_free(source):
                rest.append(source)


def levels(graph: Graph, stays: Callable[[Node], bool]) -> dict[Node, int]:
    """Of the nodes that are operators. Those that stay with PyTorch stay in their order: they may have effects."""
    result: dict[Node, int] = {}
    last = 1
    for node in graph.nodes:
        if node.op != "call_function" or is_free(node):
            continue
        if node.target is operator.getitem and node.args[0] in result:
            result[node] = result[node.args[0]]
            continue
        kind = int(stays(node))
        level = max([kind, *(result[source] for source in _needs([node]) if source in result)])
        level += level % 2 != kind
        if kind:
            level = last = max(level, last)
        result[node] = level
    return result


def split(module: GraphModule, stays: Callable[[Node], bool]) -> list[Part]:
    """In the order in which they run. What would only make views stays with PyTorch.

    stays: whether PyTorch runs a node.
    """
    results = [node for node in module.graph.output_node().args[0] if isinstance(node, Node)]
    by_level: dict[int, list[Node]] = defaultdict(list)
    for node, level in levels(module.graph, stays).items():
        by_level[level].append(node)
    if numbers_returned := [node for node in results if is_free(node)]:
        by_level[max(by_level, default=0) // 2 * 2 + 1] += numbers_returned
    symbols = _symbols_of(module.graph)
    parts: list[Part] = []
    read = set(results)
    for level in sorted(by_level, reverse=True):
        nodes = _with_free(module.graph, by_level[level])
        outputs = [node for node in by_level[level] if node in read]
        is_compiled = level % 2 == 0 and bool(outputs) and not all(map(is_view, by_level[level]))
        inputs = _inputs_of(nodes, symbols if is_compiled else {})
        parts.insert(0, Part(is_compiled, _module_of(module, nodes, inputs, outputs), inputs, outputs))
        read.update(inputs)
    return parts


def _symbols_of(graph: Graph) -> dict[Any, Node]:
    """The nodes that say what symbols are: inputs, and elements that are read."""
    integers = [node for node in graph.nodes if isinstance(node.meta.get("val"), torch.SymInt) and not is_free(node)]
    return {node.meta["val"].node.expr: node for node in integers}


def _with_free(graph: Graph, nodes: Sequence[Node]) -> list[Node]:
    """Nodes and the free ones that they need, in the graph's order."""
    chosen = {*nodes, *filter(is_free, _needs(nodes))}
    return [node for node in graph.nodes if node in chosen]


def _inputs_of(nodes: Sequence[Node], symbols: Mapping[Any, Node]) -> list[Node]:
    """What the nodes read, and what says their symbols where no extent of a tensor among the inputs does."""
    inside = set(nodes)
    inputs = dict.fromkeys(source for node in nodes for source in node.all_input_nodes if source not in inside)
    given = {extent for node in inputs for extent in _expressions(node)}
    needed = {symbol for node in (*nodes, *inputs) for part in _expressions(node) for symbol in part.free_symbols}
    for symbol in sorted(needed - given, key=str):
        if symbol in symbols and symbols[symbol] not in inside:
            inputs[symbols[symbol]] = None
    return list(inputs)


def _expressions(node: Node) -> list[Any]:
    """Of the extents of a tensor, or of several, or of a number."""
    found: list[Any] = []
    for value in pytree.tree_leaves(node.meta.get("val")):
        parts = value.shape if isinstance(value, torch.Tensor) else (value,)
        found += [part.node.expr for part in parts if isinstance(part, (torch.SymInt, torch.SymFloat, torch.SymBool))]
    return found


def _module_of(
    whole: GraphModule, nodes: Sequence[Node], inputs: Sequence[Node], outputs: Sequence[Node]
) -> GraphModule:
    graph = Graph()
    made: dict[Node, Node] = {}
    for node in inputs:
        made[node] = graph.placeholder(node.name)
        made[node].meta = dict(node.meta)
    for node in nodes:
        made[node] = graph.node_copy(node, made.__getitem__)
    graph.output([made[node] for node in outputs])
    return GraphModule(whole, graph)


class Parts:
    """Runs the parts of a graph one after another. Threads: those of the functions."""

    def __init__(self, whole: GraphModule, parts: Sequence[Part], functions: Sequence[Function]) -> None:
        """functions: what runs each part, with its inputs as arguments."""
        self.placeholders = list(whole.graph.find_nodes(op="placeholder"))
        self.results = list(whole.graph.output_node().args[0])
        read = {node for node in self.results if isinstance(node, Node)}
        self.steps: list[tuple[Function, list[Node], list[Node], list[Node]]] = []
        for part, function in reversed(list(zip(parts, functions, strict=True))):
            unread = [node for node in (*part.inputs, *part.outputs) if node not in read]
            self.steps.insert(0, (function, part.inputs, part.outputs, unread))
            read.update(part.inputs)

    def __call__(self, *inputs: Any) -> list[Any]:
        values = dict(zip(self.placeholders, inputs, strict=True))
        for function, read, made, unread in self.steps:
            values.update(zip(made, function(*[values[node] for node in read]), strict=True))
            for node in unread:
                del values[node]
        return [values[node] if isinstance(node, Node) else node for node in self.results]
