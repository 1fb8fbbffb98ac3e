"""Random valid ONNX models: graphs of 5 to 30 nodes over the operators that the importer knows.

Every operator is a function of RANDOM_OPERATORS: it picks operands among the values so far, draws attributes and adds
nodes; an invalid draw raises Rejected and leaves no trace. Shapes come from ONNX's own inference on concrete extents.
Operators that jump (rounding, comparisons, casts to integers) only read exact values, which no rounding has touched,
so that a difference between two runs is an error and not a tie broken the other way.
"""

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT32, INT64, UINT8, BOOL = np.float32, np.int32, np.int64, np.uint8, np.bool_
MOST_ELEMENTS = 6000
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
        model = helper.make_model(helper.make_graph([node], "g", infos, results, constants), opset_imports=OPSETS)
        try:
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
        return helper.make_model(graph, opset_imports=OPSETS, ir_version=8)


OPSETS = [helper.make_opsetid("", 18)]


def broadcasts(a, b):
    try:
        return np.prod(np.broadcast_shapes(a.shape, b.shape)) <= MOST_ELEMENTS
    except ValueError:
        return False


def random_model(seed):
    """The model, and its inputs by name."""
    graph = Graph(seed)
    wanted = graph.number(5, 30)
    for _ in range(10 * wanted):
        if len(graph.nodes) >= wanted:
            break
        graph.step()
    return graph.model(), graph.feeds, graph.symbols


# Elementwise


@random_operator(4)
def unary(g):
    names = (
        "Relu Sigmoid Tanh Abs Neg Erf Softplus Softsign Elu Selu LeakyRelu HardSigmoid HardSwish Identity Sin Cos Mish"
    )
    g.add(g.choose(names.split()), g.pick())


@random_operator()
def bounded_unary(g):
    bounded = g.add("Tanh", g.pick(), keep=False)
    g.add(g.choose(["Exp", "Atan", "Sinh", "Cosh", "Asinh"]), bounded)


@random_operator()
def root(g):
    positive = g.add("Abs", g.pick(), keep=False)
    shifted = g.add("Add", positive, g.constant(FLOAT(0.25)), keep=False)
    g.add(g.choose(["Sqrt", "Log", "Reciprocal"]), shifted)


@random_operator()
def rounding(g):
    g.add(g.choose(["Floor", "Ceil", "Round", "Sign"]), g.pick(exact=True), exact=True)


@random_operator()
def clip(g):
    low, high = sorted(g.random.standard_normal(2))
    limits = [g.constant(FLOAT(x)) if g.chance(0.8) else None for x in (low, high)]
    g.add("Clip", g.pick(), *limits)


@random_operator(6)
def binary(g):
    a = g.pick()
    pair = [a, g.partner(a)]
    if g.chance(0.3):
        pair.reverse()
    g.add(g.choose(["Add", "Sub", "Mul", "Max", "Min", "Add", "Mul"]), *pair)


@random_operator()
def divide(g):
    a = g.pick()
    positive = g.add("Abs", g.partner(a), keep=False)
    g.add("Div", a, g.add("Add", positive, g.constant(FLOAT(0.5)), keep=False))


@random_operator()
def power(g):
    g.add("Pow", g.pick(), g.constant(g.choose([FLOAT(2), FLOAT(3), FLOAT(0), INT64(2), INT32(1)])))


@random_operator()
def prelu(g):
    a = g.pick(low=2)
    g.add("PRelu", a, g.constant(g.array([a.shape[1]] + [1] * (a.rank - 2))))


@random_operator()
def variadic(g):
    a = g.pick()
    g.add(g.choose(["Sum", "Mean", "Max", "Min"]), a, *[g.partner(a) for _ in range(g.number(0, 3))])


@random_operator(2)
def integers(g):
    a = g.pick([INT32, INT64], exact=True)
    op = g.choose(["Add", "Sub", "Mul", "Max", "Min", "Div", "Mod", "Abs", "Neg"])
    if op in ("Abs", "Neg"):
        return g.add(op, a, exact=True)
    b = g.partner(a)
    if op in ("Div", "Mod"):
        b = g.constant(a.type(g.choose([-3, -2, 2, 3, 5])))
    bounded = g.add("Mod", a, g.constant(a.type(50)), keep=False)
    g.add(op, bounded, b, exact=True)


@random_operator(2)
def compare(g):
    a = g.pick([FLOAT, INT32, INT64], exact=True)
    g.add(
        g.choose(["Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"]), a, g.partner(a, exact=True), exact=True
    )


@random_operator()
def logic(g):
    a = g.pick([BOOL])
    if g.chance(0.3):
        return g.add("Not", a, exact=True)
    g.add(g.choose(["And", "Or", "Xor"]), a, g.partner(a), exact=True)


@random_operator(2)
def where(g):
    condition = g.pick([BOOL])
    fits = [v for v in g.values if v.type in (FLOAT, INT64, UINT8, INT32) and broadcasts(v, condition)]
    a = g.choose(fits)
    b = g.partner(a)
    g.add("Where", condition, a, b, exact=a.exact and b.exact)


@random_operator(2)
def cast(g):
    a = g.pick([FLOAT, INT32, INT64, UINT8, BOOL], exact=True)
    if a.type is FLOAT:
        a = g.add("Mul", a, g.constant(FLOAT(4)), keep=False)
    kinds = [TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT]
    g.add("Cast", a, to=g.choose(kinds), exact=True)


# Windows


def image(g, window_dims=None, least=1):
    """A value [n, c, x...]; reshaped when there is none."""
    dims = window_dims or g.choose([1, 2, 2, 2, 3])
    fits = [v for v in g.values if v.type is FLOAT and v.rank == dims + 2 and min(v.shape[2:]) >= least]
    if fits and g.chance(0.8):
        return g.choose(fits[-3:])
    a = g.pick(high=dims + 2)
    axes = list(range(dims + 2 - a.rank))
    value = g.add("Unsqueeze", a, g.constant(np.array(axes, INT64)), exact=a.exact) if axes else a
    if min(value.shape[2:]) < least:
        raise Rejected
    return value


def window_attributes(g, shape, kernel, may_dilate=True):
    dims = len(kernel)
    attributes = {"strides": g.numbers(dims, 1, 3) if g.chance(0.6) else [1] * dims}
    dilations = g.numbers(dims, 1, 2) if may_dilate and g.chance(0.3) else [1] * dims
    if may_dilate:
        attributes["dilations"] = dilations
    padding = g.choose(["none", "pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if padding == "pads":
        limits = [min(3, (k - 1) * d) for k, d in zip(kernel, dilations, strict=True)]
        attributes["pads"] = [g.number(0, limit) for limit in limits * 2]
    elif padding != "none":
        attributes["auto_pad"] = padding
    if padding.startswith("SAME") and max(dilations) > 1:
        raise Rejected
    pads = attributes.get("pads", [0] * 2 * dims)
    for i in range(dims):
        room = shape[i] + pads[i] + pads[dims + i]
        if room < (kernel[i] - 1) * dilations[i] + 1 and not padding.startswith("SAME"):
            raise Rejected
    return attributes


@random_operator(6)
def convolution(g):
    x = image(g)
    channels = x.shape[1]
    groups = g.choose([1, 1, channels] + [n for n in range(1, channels + 1) if channels % n == 0])
    outputs = groups * g.choose([1, 1, 2, 3, 4, 8, 17] if groups < 4 else [1, 2])
    kernel = [g.number(1, min(4, extent)) if g.chance(0.7) else 1 for extent in x.shape[2:]]
    attributes = window_attributes(g, x.shape[2:], kernel)
    weight = g.constant(g.array([outputs, channels // groups, *kernel]) / 2)
    bias = [g.constant(g.array([outputs]))] if g.chance(0.6) else []
    y = g.add("Conv", x, weight, *bias, group=groups, kernel_shape=kernel, **attributes)
    if g.chance(0.3):
        g.add("Relu", y)


@random_operator(2)
def transposed_convolution(g):
    x = image(g)
    channels = x.shape[1]
    groups = g.choose([n for n in range(1, channels + 1) if channels % n == 0])
    kernel = [g.number(1, 4) for _ in x.shape[2:]]
    attributes = window_attributes(g, [9] * len(kernel), kernel)
    attributes.pop("auto_pad", None)
    if g.chance(0.3):
        attributes["output_padding"] = [g.number(0, s - 1) for s in attributes["strides"]]
    weight = g.constant(g.array([channels, g.number(1, 5), *kernel]) / 2)
    bias = [g.constant(g.array([weight.shape[1] * groups]))] if g.chance(0.5) else []
    g.add("ConvTranspose", x, weight, *bias, group=groups, kernel_shape=kernel, **attributes)


@random_operator(3)
def pool(g):
    x = image(g)
    kernel = [g.number(1, min(5, extent)) for extent in x.shape[2:]]
    op = g.choose(["MaxPool", "AveragePool"])
    attributes = window_attributes(g, x.shape[2:], kernel, may_dilate=op == "MaxPool")
    pads = attributes.get("pads", [])
    if any(p >= k for p, k in zip(pads, kernel * 2, strict=False)):
        raise Rejected
    if "auto_pad" not in attributes and g.chance(0.3):
        attributes["ceil_mode"] = 1
    if op == "AveragePool":
        attributes["count_include_pad"] = g.number(0, 1) if not attributes.get("ceil_mode") else 0
    g.add(op, x, kernel_shape=kernel, exact=op == "MaxPool" and x.exact, **attributes)


@random_operator()
def global_pool(g):
    g.add(g.choose(["GlobalAveragePool", "GlobalMaxPool"]), image(g))


# Products


@random_operator(4)
def product(g):
    a = g.pick()
    fits = [v for v in g.values if v.type is FLOAT]
    b = g.choose(fits)
    try:
        np.empty(a.shape, np.bool_) @ np.empty(b.shape, np.bool_)
    except ValueError:
        columns = g.choose([1, 2, 3, 5, 8, 16, 17, 40])
        shape = g.choose(
            [[a.shape[-1], columns], [a.shape[-1]]] + ([[*a.shape[:-2], a.shape[-1], columns]] if a.rank > 2 else [])
        )
        b = g.constant(g.array(shape) / 2)
    if a.rank == 1 and b.rank == 1:
        raise Rejected
    g.add("MatMul", a, b)


@random_operator(2)
def gemm(g):
    a = g.pick(low=2, high=2)
    trans_a, trans_b = g.number(0, 1), g.number(0, 1)
    rows, depth = a.shape[::-1] if trans_a else a.shape
    columns = g.choose([1, 3, 4, 9, 16, 33])
    b = g.constant(g.array([columns, depth] if trans_b else [depth, columns]))
    c = (
        [g.constant(g.array(g.choose([[], [columns], [1, columns], [rows, 1], [rows, columns]])))]
        if g.chance(0.7)
        else []
    )
    g.add("Gemm", a, b, *c, transA=trans_a, transB=trans_b, alpha=g.choose([1.0, 0.5]), beta=g.choose([1.0, -2.0]))


# Reductions and normalisations


@random_operator(3)
def reduction(g):
    a = g.pick()
    op = g.choose(["Sum", "Mean", "Max", "Min", "L1", "L2", "SumSquare", "LogSumExp", "Sum", "Mean"])
    axes = g.some_axes(a.rank)
    if len({axis % a.rank for axis in axes}) < len(axes):
        raise Rejected
    operands = [a, g.constant(np.array(axes, INT64))] if g.chance(0.85) else [a]
    if op not in ("Sum", "Mean", "Max", "Min", "L1", "L2", "SumSquare", "LogSumExp"):
        raise Rejected
    g.add("Reduce" + op, *operands, keepdims=g.number(0, 1), exact=op in ("Max", "Min") and a.exact)


@random_operator()
def integer_reduction(g):
    a = g.pick([INT32, INT64])
    bounded = g.add("Mod", a, g.constant(a.type(9)), keep=False)
    g.add(g.choose(["ReduceSum", "ReduceMax", "ReduceMin"]), bounded, keepdims=g.number(0, 1), exact=True)


@random_operator()
def argument(g):
    a = g.pick([FLOAT, INT32], exact=True)
    g.add(g.choose(["ArgMax", "ArgMin"]), a, axis=g.some_axis(a.rank), keepdims=g.number(0, 1), exact=True)


@random_operator(2)
def softmax(g):
    a = g.pick()
    g.add(g.choose(["Softmax", "Softmax", "LogSoftmax"]), a, axis=g.some_axis(a.rank))


@random_operator(2)
def normalisation(g):
    a = g.pick(low=2)
    channels = a.shape[1]
    vector = lambda: g.constant(g.array([channels]))  # noqa: E731
    op = g.choose(["batch", "instance", "layer", "lrn"])
    if op == "batch":
        variance = g.constant(np.abs(g.array([channels])) + FLOAT(0.5))
        g.add("BatchNormalization", a, vector(), vector(), vector(), variance)
    elif op == "instance" and a.rank > 2 and np.prod(a.shape[2:]) > 3:
        g.add("InstanceNormalization", a, vector(), vector(), epsilon=0.01)
    elif op == "layer" and np.prod(a.shape[-1:]) > 3:
        axis = g.choose([-1, a.rank - 1, a.rank - 2])
        shape = a.shape[axis:]
        shift = [g.constant(g.array(shape))] if g.chance(0.5) else []
        g.add("LayerNormalization", a, g.constant(g.array(shape)), *shift, axis=axis, epsilon=0.01)
    elif op == "lrn" and a.rank == 4:
        g.add("LRN", a, size=3, alpha=0.1)


@random_operator()
def cumulative(g):
    a = g.pick(high=3)
    axis = g.constant(INT64(g.some_axis(a.rank)))
    g.add("CumSum", a, axis, exclusive=g.number(0, 1), reverse=g.number(0, 1))
