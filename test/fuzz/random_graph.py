"""Random valid graphs: what the random operators are written with.

Every operator is a function of RANDOM_OPERATORS: it picks operands among the values so far, draws attributes and adds
nodes; an invalid draw raises Rejected and leaves no trace. Shapes come from ONNX's own inference on concrete extents.
Operators that jump (rounding, comparisons, casts to integers) only read exact values, which no rounding has touched,
so that a difference between two runs is an error and not a tie broken the other way.
"""

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper, numpy_helper

FLOAT, INT32, INT64, UINT8, BOOL = np.float32, np.int32, np.int64, np.uint8, np.bool_
MOST_ELEMENTS = 6000
OPERATOR_SETS = [13, 16, 18, 18, 21, 23, 23]
RANDOM_OPERATORS = []


class Rejected(Exception):
    """A draw that gives no valid node."""


@dataclass(frozen=True)
class Value:
    name: str
    type: type
    shape: tuple
    exact: bool

    @property
    def rank(self):
        return len(self.shape)


def random_operator(weight=1):
    def register(function):
        RANDOM_OPERATORS.extend([function] * weight)
        return function

    return register


class Graph:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.values, self.nodes, self.constants, self.feeds, self.symbols = [], [], [], {}, {}
        self.inputs, self.used, self.count = [], set(), 0
        self.is_symbolic = self.chance(0.4)
        self.opset = self.choose(OPERATOR_SETS)
        self.opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        for _ in range(self.number(1, 3)):
            self.add_input()

    # Draws

    def number(self, low, high):
        """Both ends included."""
        return int(self.random.integers(low, high + 1))

    def chance(self, probability):
        return bool(self.random.random() < probability)

    def choose(self, items):
        items = list(items)
        if not items:
            raise Rejected
        return items[self.number(0, len(items) - 1)]

    def numbers(self, count, low, high):
        return [self.number(low, high) for _ in range(count)]

    def some_axes(self, rank):
        axes = [axis for axis in range(rank) if self.chance(0.5)] or [self.number(0, rank - 1)]
        return [axis - rank if self.chance(0.3) else axis for axis in axes]

    def some_axis(self, rank):
        return self.number(-rank, rank - 1)

    def array(self, shape, kind=FLOAT):
        if kind is FLOAT:
            return self.random.standard_normal(shape).astype(FLOAT)
        if kind is BOOL:
            return self.random.random(shape) < 0.5
        low, high = (0, 9) if kind is UINT8 else (-6, 7)
        return self.random.integers(low, high, shape).astype(kind)

    # Parts of the graph

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def add_input(self):
        rank = self.choose([1, 2, 2, 3, 3, 4, 4, 4, 5])
        extents = [1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 33] if rank < 4 else [1, 2, 3, 4, 5, 6, 7, 9, 11]
        shape = tuple(self.choose(extents) for _ in range(rank))
        kind = self.choose([FLOAT] * 8 + [INT32, INT64, UINT8, BOOL])
        name = self.name("input")
        dims = list(shape)
        for position, extent in enumerate(shape):
            if self.is_symbolic and self.chance(0.5):
                dims[position] = self.name("n")
                self.symbols[dims[position]] = extent
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), dims))
        self.feeds[name] = self.array(shape, kind)
        self.values.append(Value(name, kind, shape, True))

    def constant(self, array):
        array = np.asarray(array)
        name = self.name("constant")
        self.constants.append(numpy_helper.from_array(array, name))
        return Value(name, array.dtype.type, array.shape, True)

    def add(self, op, *operands, outputs=1, exact=False, keep=True, **attributes):
        """One node; its results, whose shapes inference must know and whose sizes are bounded."""
        names = [self.name("value") for _ in range(outputs)]
        node = helper.make_node(op, [x.name if x else "" for x in operands], names, self.name("node"), **attributes)
        operands = [x for x in operands if x]
        known = {constant.name: constant for constant in self.constants}
        infos = [
            helper.make_tensor_value_info(x.name, helper.np_dtype_to_tensor_dtype(np.dtype(x.type)), x.shape)
            for x in {x.name: x for x in operands}.values()
        ]
        constants = [known[x.name] for x in operands if x.name in known]
        results = [helper.make_empty_tensor_value_info(name) for name in names]
        model = helper.make_model(helper.make_graph([node], "g", infos, results, constants), opset_imports=self.opsets)
        model.ir_version = 10
        try:
            onnx.checker.check_model(model)
            inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        except Exception as error:
            raise Rejected from error
        added = []
        for info in inferred.graph.output:
            tensor = info.type.tensor_type
            shape = tuple(d.dim_value for d in tensor.shape.dim)
            size = np.prod(shape, dtype=np.int64)
            if not tensor.HasField("shape") or any(not d.HasField("dim_value") for d in tensor.shape.dim):
                raise Rejected
            if not 0 < size <= MOST_ELEMENTS or len(shape) > 6:
                raise Rejected
            added.append(Value(info.name, helper.tensor_dtype_to_np_dtype(tensor.elem_type).type, shape, exact))
        self.nodes.append(node)
        self.used.update(x.name for x in operands)
        if keep:
            self.values.extend(added)
        return added[0] if outputs == 1 else added

    def keep(self, name, kind, shape, exact):
        """A result of a node, of a shape that inference would not know."""
        self.values.append(Value(name, kind, tuple(shape), exact))

    def add_hidden(self, op, operands, name, **attributes):
        """A node whose result no other draw may use."""
        self.nodes.append(helper.make_node(op, [x.name for x in operands], [name], self.name("node"), **attributes))
        self.used.update(x.name for x in operands)

    def add_named(self, op, operands, kind, shape, exact, **attributes):
        name = self.name("value")
        self.nodes.append(helper.make_node(op, operands, [name], self.name("node"), **attributes))
        self.used.update(operands)
        self.keep(name, kind, shape, exact)

    def pick(self, kinds=(FLOAT,), low=1, high=5, exact=False):
        """A value, rather a recent one."""
        fits = [v for v in self.values if v.type in kinds and low <= v.rank <= high and (v.exact or not exact)]
        return self.choose(fits[-4:] if self.chance(0.7) else fits)

    def partner(self, value, exact=False):
        """Something that broadcasts with `value`."""
        fits = [v for v in self.values if v.type is value.type and (v.exact or not exact) and broadcasts(v, value)]
        if fits and self.chance(0.5):
            return self.choose(fits)
        shape = [1 if self.chance(0.4) else extent for extent in value.shape][self.number(0, value.rank) :]
        return self.constant(self.array(shape, value.type))

    def step(self):
        saved = (len(self.values), len(self.nodes), len(self.constants), set(self.used))
        try:
            self.choose(RANDOM_OPERATORS)(self)
        except Rejected:
            values, nodes, constants, self.used = saved
            del self.values[values:], self.nodes[nodes:], self.constants[constants:]

    def model(self):
        names = {name for node in self.nodes for name in node.output}
        results = [v for v in self.values if v.name in names and (v.name not in self.used or self.chance(0.1))]
        outputs = [helper.make_tensor_value_info(v.name, helper.np_dtype_to_tensor_dtype(np.dtype(v.type)),
                                                 None if self.is_symbolic else v.shape) for v in results]  # fmt: skip
        graph = helper.make_graph(self.nodes, "random", self.inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=self.opsets, ir_version=10)


def broadcasts(a, b):
    try:
        return np.prod(np.broadcast_shapes(a.shape, b.shape)) <= MOST_ELEMENTS
    except ValueError:
        return False
