"""What a graph of PyTorch returns: outputs of the artifact, arguments, views of both, and numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Graph, Node
from torch.fx.node import map_arg

from .call import has_effect
from .layouts import Layout, layout_of
from .numbers import NUMBERS
from .parts import is_free, is_view
from .scalars import Sources, expression_of

# What makes a result of a call: of its arguments, and of the values of nodes that are made already.
Maker = Callable[[Sequence[Any], dict[Node, Any]], Any]
SCALARS: dict[type, Callable[[Any], Any]] = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}


def root_of(node: Node) -> Node:
    """What the node is a view of, through other views."""
    while is_view(node):
        node = node.all_input_nodes[0]
    return node


def is_tensor(node: Any) -> bool:
    return isinstance(node, Node) and isinstance(node.meta.get("val"), torch.Tensor)


@dataclass(frozen=True)
class Returned:
    """nodes: the outputs of the artifact. layouts: theirs. is_plain: they are the results, as they are."""

    nodes: Sequence[Node]
    layouts: Sequence[Layout | None]
    makers: Sequence[Maker]
    is_plain: bool

    def __call__(self, outputs: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        """The results of a call, of the artifact's outputs and the graph's arguments."""
        if self.is_plain:
            return list(outputs)
        made: dict[Node, Any] = {}
        for node, layout, output in zip(self.nodes, self.layouts, outputs, strict=True):
            made[node] = layout.place(output, inputs) if layout else output
        return [make(inputs, made) for make in self.makers]


class Results:
    """Decides how each result of a graph is made."""

    def __init__(self, graph: Graph, views: Sequence[Node], sources: Sources) -> None:
        """views: the results that are views of arguments."""
        self.results: Sequence[Any] = graph.output_node().args[0]
        self.placeholders = list(graph.find_nodes(op="placeholder"))
        self.sources = sources
        self.outputs: dict[Node, Layout | None] = {}
        self.viewed = set(views) | self._views_of_results()

    def returned(self) -> Returned:
        makers = [self._maker(result) for result in self.results]
        is_plain = list(self.outputs) == list(self.results) and not any(self.outputs.values())
        is_plain = is_plain and all(map(is_tensor, self.outputs))
        return Returned(list(self.outputs), list(self.outputs.values()), makers, is_plain)

    def _views_of_results(self) -> set[Node]:
        """Views that share their memory with one another or with what they are a view of, if that is a result or no
        larger: `y[0]` alone is computed alone."""
        by_root: dict[Node, set[Node]] = {}
        for node in filter(is_tensor, self.results):
            root = root_of(node)
            if is_tensor(root) and root.op == "call_function" and not root.meta["val"].is_complex():
                by_root.setdefault(root, set()).add(node)
        views = set()
        for root, nodes in by_root.items():
            is_shared = root in nodes or len(nodes) > 1 or _is_no_larger(root, *nodes)
            if is_shared and all(map(self._can_view, nodes)):
                views |= nodes - {root}
        return views

    def _can_view(self, node: Node) -> bool:
        """Whether a call knows all numbers that the views take."""
        while is_view(node):
            integers = [each.meta["val"] for each in node.all_input_nodes if is_free(each) and each.op != "get_attr"]
            if not self.sources.know(map(expression_of, integers)):
                return False
            node = node.all_input_nodes[0]
        return True

    def _output(self, node: Node) -> None:
        example = node.meta["val"]
        self.outputs.setdefault(node, layout_of(example, self.sources) if is_tensor(node) else None)

    def _maker(self, result: Any) -> Maker:
        if not isinstance(result, Node):
            return lambda inputs, made: result
        if result.op == "placeholder":
            position = self.placeholders.index(result)
            return lambda inputs, made: inputs[position]
        if result in self.viewed:
            if (root := root_of(result)).op != "placeholder":
                self._output(root)
            return self._view(result)
        example = result.meta.get("val")
        if example is None or _is_token(result):
            return lambda inputs, made: None
        if not isinstance(example, NUMBERS):
            self._output(result)
            return lambda inputs, made: made[result]
        return self._number(result, example)

    def _number(self, node: Node, example: Any) -> Maker:
        if isinstance(example, torch.SymInt) and self.sources.know([example.node.expr]):
            read = self.sources.reader([expression_of(example)])
            return lambda inputs, made: read(inputs)[0]
        if type(example) not in SCALARS:
            return lambda inputs, made: example
        self._output(node)
        return lambda inputs, made: SCALARS[type(example)](made[node].item())

    def _view(self, node: Node) -> Maker:
        """A view in PyTorch: its strides say how to make it again."""
        if node.op == "placeholder" or not is_view(node):
            position = self.placeholders.index(node) if node.op == "placeholder" else None
            return lambda inputs, made: made[node] if position is None else inputs[position]
        target: Any = node.target
        makers = {each: self._argument(each) for each in node.all_input_nodes}

        def make(inputs: Sequence[Any], made: dict[Node, Any]) -> Any:
            if node not in made:
                args, kwargs = map_arg((node.args, node.kwargs), lambda each: makers[each](inputs, made))
                made[node] = target(*args, **kwargs)
            return made[node]

        return make

    def _argument(self, node: Node) -> Maker:
        example = node.meta.get("val")
        return self._number(node, example) if isinstance(example, NUMBERS) else self._view(node)


def _is_no_larger(root: Node, view: Node) -> bool:
    sizes = [expression_of(node.meta["val"].numel()) for node in (root, view)]
    return bool((sizes[0] - sizes[1]).expand().is_nonpositive)


def _is_token(node: Node) -> bool:
    source = node.args[0] if node.args else None
    return isinstance(source, Node) and has_effect(source) and node.args[1] == 0
