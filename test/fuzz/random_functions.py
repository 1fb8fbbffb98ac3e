"""Further operators of random models that compute: functions of one number, bits, reductions, normalisations."""

import numpy as np
from onnx import TensorProto
from random_graph import BOOL, FLOAT, INT32, INT64, UINT8, Rejected, random_operator

# Elementwise


@random_operator(3)
def rarer_unary(g):
    op = g.choose(["Celu", "Gelu", "Swish", "HardSigmoid", "Elu", "Selu", "LeakyRelu"])
    attributes = {
        "Celu": {"alpha": 0.5},
        "Gelu": {"approximate": g.choose(["none", "tanh"])},
        "HardSigmoid": {"alpha": 0.3, "beta": 0.4},
        "Elu": {"alpha": 0.5},
        "LeakyRelu": {"alpha": 0.3},
        "Swish": {"alpha": 0.5},
    }
    g.add(op, g.pick(), **attributes.get(op, {}))


@random_operator(2)
def on_the_unit_interval(g):
    """Functions that are only defined, or only smooth, near 0 or above 1."""
    op = g.choose(["Acos", "Asin", "Atanh", "Tan", "Acosh"])
    bounded = g.add("Mul", g.add("Tanh", g.pick(), keep=False), g.constant(FLOAT(0.75)), keep=False)
    if op == "Acosh":
        bounded = g.add("Add", bounded, g.constant(FLOAT(2)), keep=False)
    g.add(op, bounded)


@random_operator()
def thresholds(g):
    a = g.pick(exact=True)
    if g.chance(0.5):
        return g.add("ThresholdedRelu", a, alpha=0.25, exact=True)
    g.add("Shrink", a, lambd=0.5, bias=g.choose([0.0, 0.25]))


@random_operator(2)
def bits(g):
    a = g.pick([INT32, INT64, UINT8], exact=True)
    op = g.choose(["BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitShift"])
    if op == "BitwiseNot":
        return g.add(op, a, exact=True)
    if op != "BitShift":
        return g.add(op, a, g.partner(a, exact=True), exact=True)
    number = a if a.type is UINT8 else g.add("Cast", a, to=TensorProto.UINT8, keep=False)
    g.add(op, number, g.constant(UINT8(g.number(0, 7))), direction=g.choose(["LEFT", "RIGHT"]), exact=True)


@random_operator()
def special_numbers(g):
    """Infinities and no-numbers among the elements, and which those are."""
    a = g.pick(exact=True)
    parts = np.where(g.random.random(a.shape) < 0.2, FLOAT(g.choose([np.inf, -np.inf, np.nan])), FLOAT(0))
    special = g.add("Add", a, g.constant(parts), keep=False)
    op = g.choose(["IsNaN", "IsInf", "Max", "Relu", "Less", "Sign"])
    if op == "IsInf":
        return g.add(op, special, detect_negative=g.number(0, 1), detect_positive=g.number(0, 1), exact=True)
    if op in ("Max", "Less"):
        return g.add(op, special, g.partner(a, exact=True), exact=True)
    if op == "Sign" and np.isnan(parts).any():
        raise Rejected
    g.add(op, special, exact=True)


@random_operator()
def in_double_precision(g):
    a = g.pick()
    wide = g.add("Cast", a, to=TensorProto.DOUBLE, keep=False)
    op = g.choose(["Mul", "Tanh", "Softmax", "MatMul", "ReduceMean", "Exp"])
    if op == "MatMul":
        weight = g.constant(g.array([a.shape[-1], g.number(1, 9)]).astype(np.float64))
        wide = g.add(op, wide, weight, keep=False)
    elif op == "Exp":
        wide = g.add(op, g.add("Tanh", wide, keep=False), keep=False)
    else:
        wide = g.add(op, *[wide] * (2 if op == "Mul" else 1), keep=False)
    g.add("Cast", wide, to=TensorProto.FLOAT)


@random_operator()
def cast_like(g):
    a = g.pick([FLOAT, INT32, INT64, UINT8, BOOL], exact=True)
    other = g.pick([FLOAT, INT32, INT64, BOOL])
    g.add("CastLike", a, other, exact=True)


# Reductions and normalisations


@random_operator(2)
def rarer_reduction(g):
    a = g.pick()
    axes = sorted({axis % a.rank for axis in g.some_axes(a.rank)})
    op = g.choose(["ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceLogSum", "ReduceProd"])
    if op == "ReduceLogSum":
        a = g.add("Exp", g.add("Tanh", a, keep=False), keep=False)
    if op == "ReduceProd":
        a = g.add("Tanh", a, keep=False)
    none = g.chance(0.2)
    operands = [a] if none else [a, g.constant(np.array(axes, INT64))]
    g.add(op, *operands, keepdims=g.number(0, 1), **({"noop_with_empty_axes": g.number(0, 1)} if none else {}))


@random_operator()
def hardmax(g):
    a = g.pick(exact=True)
    g.add("Hardmax", a, axis=g.some_axis(a.rank), exact=True)


@random_operator()
def lp_normalisation(g):
    a = g.pick()
    g.add("LpNormalization", a, axis=g.some_axis(a.rank), p=g.number(1, 2))


@random_operator()
def mean_variance(g):
    a = g.pick(low=4, high=4)
    axes = g.choose([[0, 2, 3], [2, 3], [1, 2, 3]])
    if np.prod([a.shape[axis] for axis in axes]) < 4:
        raise Rejected
    a = g.add("Add", a, g.constant(g.array(a.shape)), keep=False)  # equal elements have no deviation to divide by
    g.add("MeanVarianceNormalization", a, axes=axes)


@random_operator(2)
def group_normalisation(g):
    a = g.pick(low=3)
    groups = g.choose([n for n in range(1, a.shape[1] + 1) if a.shape[1] % n == 0])
    if np.prod(a.shape[1:]) // groups < 4 or g.opset < 18:
        raise Rejected
    # One scale for each channel from operator set 21 on, for each group before.
    vectors = [g.constant(g.array([a.shape[1] if g.opset >= 21 else groups])) for _ in range(2)]
    operands = [x.name for x in (a, *vectors)]
    g.add_named("GroupNormalization", operands, FLOAT, a.shape, False, num_groups=groups, epsilon=0.01)


@random_operator()
def rms_normalisation(g):
    a = g.pick(low=2)
    axis = g.choose([-1, a.rank - 1, -2])
    g.add("RMSNormalization", a, g.constant(g.array(a.shape[axis:])), axis=axis, epsilon=0.01)


@random_operator()
def loss(g):
    a = g.pick(low=2, high=4)
    classes, shape = a.shape[1], (a.shape[0], *a.shape[2:])
    labels = g.constant(g.random.integers(0, classes, shape).astype(INT64))
    weights = [g.constant(np.abs(g.array([classes])) + FLOAT(0.1))] if g.chance(0.5) else []
    attributes = {"reduction": g.choose(["none", "sum", "mean"])}
    if g.chance(0.3):
        attributes["ignore_index"] = g.number(-1, classes - 1)
    if attributes["reduction"] == "mean" and "ignore_index" in attributes:
        raise Rejected  # all labels may be the ignored one
    if g.chance(0.5):
        return g.add("SoftmaxCrossEntropyLoss", a, labels, *weights, **attributes)
    g.add("NegativeLogLikelihoodLoss", g.add("LogSoftmax", a, axis=1, keep=False), labels, *weights, **attributes)


# Matrices


@random_operator()
def determinant(g):
    """Of matrices whose diagonal outweighs the rest, so that it is not rounding alone."""
    a = g.pick(low=2)
    size = min(a.shape[-2:])
    ends = g.constant(np.array([size, size], INT64))
    axes = g.constant(np.array([-2, -1], INT64))
    square = g.add("Slice", a, g.constant(np.array([0, 0], INT64)), ends, axes, keep=False)
    bounded = g.add("Tanh", square, keep=False)
    g.add("Det", g.add("Add", bounded, g.constant(np.eye(size, dtype=FLOAT) * size), keep=False))


@random_operator(2)
def einsum(g):
    a = g.pick(low=2, high=3)
    letters = "abc"[: a.rank]
    kind = g.choose(["trace", "sum", "product", "outer", "transpose"])
    if kind == "trace":
        return g.add("Einsum", a, equation=f"{letters}->{letters[0]}")
    if kind == "sum":
        return g.add("Einsum", a, equation=f"...{letters[-1]}->...")
    if kind == "transpose":
        return g.add("Einsum", a, equation=f"{letters}->{letters[::-1]}")
    weight = g.constant(g.array([a.shape[-1], g.number(1, 6)] if kind == "product" else [g.number(1, 6)]) / 2)
    right = letters[-1] + "z" if kind == "product" else "z"
    left = letters[:-1] if kind == "product" else letters
    g.add("Einsum", a, weight, equation=f"{letters},{right}->{left}z")
