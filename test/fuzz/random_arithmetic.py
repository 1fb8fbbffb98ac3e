"""The operators of random models that compute: elementwise, windows, products, reductions and normalisations."""

import numpy as np
from onnx import TensorProto
from random_graph import BOOL, FLOAT, INT32, INT64, UINT8, Rejected, broadcasts, random_operator

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


def image(g, window_dims=None, least=1, exact=False):
    """A value [n, c, x...]; reshaped when there is none."""
    dims = window_dims or g.choose([1, 2, 2, 2, 3])
    fits = [v for v in g.values if v.type is FLOAT and v.rank == dims + 2 and min(v.shape[2:]) >= least]
    fits = [v for v in fits if v.exact or not exact]
    if fits and g.chance(0.8):
        return g.choose(fits[-3:])
    a = g.pick(high=dims + 2, exact=exact)
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
