"""Every element type that a schema allows, for the operators below: compiled results against ONNX's reference.

The types come from onnx.defs, so a newer package tests newer types. Integers are compared exactly.
"""

import math
import warnings

import ml_dtypes
import numpy as np
import onnx
import perpend
import pytest
from onnx.reference import ReferenceEvaluator

OPSET = onnx.defs.onnx_opset_version()
# Types without a counterpart in Perpend.
FOREIGN = {"string", "complex64", "complex128"}


def dtype_of(name):
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.DataType.Value(name.upper())))


def is_float(dtype):
    return np.issubdtype(dtype, np.floating) or "float" in dtype.name


class Values:
    """Arrays of one type: any() has extremes, the others stay where an operator is defined."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.generator = np.random.default_rng(1)

    def small(self, *shape, low=-4, high=5):
        if self.dtype == bool:
            return self.generator.random(shape) > 0.5
        if is_float(self.dtype):
            return (self.generator.integers(4 * low, 4 * high, shape) / 4).astype(self.dtype)
        limits = ml_dtypes.iinfo(self.dtype)
        low, high = max(low, int(limits.min)), min(high, int(limits.max) + 1)
        return self.generator.integers(low, high, shape).astype(self.dtype)

    def any(self, *shape):
        values = self.small(*shape, low=-200, high=200)
        if is_float(self.dtype) or self.dtype == bool:
            return values
        limits = ml_dtypes.iinfo(self.dtype)
        values = values.reshape(-1)
        values[:2] = np.array([int(limits.min), int(limits.max)], np.uint64 if limits.min == 0 else np.int64).astype(
            self.dtype
        )[: values.size]
        return values.reshape(shape)

    def positive(self, *shape, high=5):
        return self.small(*shape, low=1, high=high)

    def unit(self, *shape):
        return self.small(*shape, low=-1, high=1)


def int64(*values):
    return np.array(values, np.int64)


def unary(v):
    return [v.any(3, 7)], {}


def tame(v):
    return [v.small(3, 7)], {}


def binary(v):
    return [v.any(3, 1, 7), v.any(5, 1)], {}


def reduction(v):
    return [v.small(3, 5, 7), int64(1)], {}


ANY_UNARY = [
    "Abs", "Neg", "Sign", "Relu", "Ceil", "Floor", "Round", "IsNaN", "IsInf", "Not", "BitwiseNot", "Identity",
    "Flatten", "Transpose", "Size", "Shape",
]  # fmt: skip
TAME_UNARY = [
    "Exp", "Sigmoid", "Tanh", "Erf", "Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Asinh", "Softplus", "Softsign",
    "HardSwish", "Elu", "Celu", "Selu", "LeakyRelu", "HardSigmoid", "ThresholdedRelu", "Mish", "Gelu", "Swish",
    "Shrink", "Softmax", "LogSoftmax", "Hardmax",
]  # fmt: skip
BINARY = (
    "Add Sub Mul Max Min Sum Less LessOrEqual Greater GreaterOrEqual Equal And Or Xor BitwiseAnd BitwiseOr BitwiseXor"
)
REDUCTIONS = (
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare"
)
# Operator -> inputs and attributes for the type of its first constraint. Arrays of int64 are indices and the like.
INPUTS = {
    **{name: unary for name in ANY_UNARY},
    **{name: tame for name in TAME_UNARY},
    **{name: binary for name in BINARY.split()},
    **{name: reduction for name in REDUCTIONS.split()},
    "ReduceLogSum": lambda v: ([v.positive(3, 5, 7), int64(1)], {}),
    "Sqrt": lambda v: ([v.positive(3, 7)], {}),
    "Log": lambda v: ([v.positive(3, 7)], {}),
    "Reciprocal": lambda v: ([v.positive(3, 7)], {}),
    "Asin": lambda v: ([v.unit(3, 7)], {}),
    "Acos": lambda v: ([v.unit(3, 7)], {}),
    "Atanh": lambda v: ([v.unit(3, 7) * v.dtype.type(0.5)], {}),
    "Acosh": lambda v: ([v.positive(3, 7)], {}),
    "Mean": lambda v: ([v.small(3, 7), v.small(3, 7)], {}),
    "Div": lambda v: ([v.any(3, 7), v.positive(3, 7)], {}),
    "Mod": lambda v: ([v.any(3, 7), v.positive(3, 7)], {"fmod": int(is_float(v.dtype))}),
    "Pow": lambda v: ([v.small(3, 7), v.positive(3, 7, high=4)], {}),
    "PRelu": lambda v: ([v.any(3, 7), v.small(7)], {}),
    "BitShift": lambda v: ([v.any(3, 7), v.positive(3, 7)], {"direction": "LEFT"}),
    "Where": lambda v: ([v.generator.random((3, 7)) > 0.5, v.any(3, 7), v.any(7)], {}),
    "Clip": lambda v: ([v.any(3, 7), v.dtype.type(1), v.dtype.type(3)], {}),
    "ArgMax": lambda v: ([v.any(3, 7)], {"axis": 1}),
    "ArgMin": lambda v: ([v.any(3, 7)], {"axis": 1, "select_last_index": 1}),
    "CumSum": lambda v: ([v.small(3, 7), np.int64(1)], {}),
    "CumProd": lambda v: ([v.positive(3, 5, high=3), np.int64(1)], {}),
    "Range": lambda v: ([v.dtype.type(1), v.dtype.type(17), v.dtype.type(3)], {}),
    "MatMul": lambda v: ([v.small(3, 5), v.small(5, 7)], {}),
    "Gemm": lambda v: ([v.small(5, 3), v.small(5, 7), v.small(7)], {"transA": 1}),
    "Concat": lambda v: ([v.any(3, 7), v.any(2, 7)], {"axis": 0}),
    "Reshape": lambda v: ([v.any(3, 8), int64(4, 6)], {}),
    "Slice": lambda v: ([v.any(5, 7), int64(1), int64(7), int64(1), int64(2)], {}),
    "Gather": lambda v: ([v.any(5, 7), int64(4, 0, -1)], {"axis": 0}),
    "GatherElements": lambda v: ([v.any(3, 3), int64(1, 0, 2).reshape(1, 3)], {"axis": 0}),
    "GatherND": lambda v: ([v.any(3, 7), int64(1, 0, 2, 6).reshape(2, 2)], {}),
    "Pad": lambda v: ([v.any(3, 5), int64(0, 1, 2, 3), v.dtype.type(1)], {}),
    "Tile": lambda v: ([v.any(3, 5), int64(2, 3)], {}),
    "Expand": lambda v: ([v.any(3, 1), int64(2, 3, 4)], {}),
    "Squeeze": lambda v: ([v.any(3, 1, 5), int64(1)], {}),
    "Unsqueeze": lambda v: ([v.any(3, 5), int64(1)], {}),
    "Trilu": lambda v: ([v.any(4, 5)], {}),
    "DepthToSpace": lambda v: ([v.any(1, 8, 2, 3)], {"blocksize": 2}),
    "SpaceToDepth": lambda v: ([v.any(1, 2, 4, 6)], {"blocksize": 2}),
    "MaxPool": lambda v: ([v.any(1, 2, 6, 7)], {"kernel_shape": [2, 3]}),
    "AveragePool": lambda v: ([v.any(1, 2, 6, 7)], {"kernel_shape": [2, 3]}),
    "GlobalMaxPool": lambda v: ([v.any(1, 2, 6, 7)], {}),
    "GlobalAveragePool": lambda v: ([v.any(1, 2, 6, 7)], {}),
    "Conv": lambda v: ([v.small(1, 2, 6, 7), v.small(3, 2, 2, 3)], {}),
    "Col2Im": lambda v: ([v.small(1, 6, 9), int64(4, 5), int64(2, 3)], {}),
    "DeformConv": lambda v: (
        [v.small(1, 2, 3, 4), v.small(3, 2, 2, 2) / v.dtype.type(3), v.small(1, 8, 2, 3, low=-1, high=2), v.small(3)],
        {},
    ),
    "LayerNormalization": lambda v: ([v.small(3, 7), v.small(7), v.small(7)], {}),
    "Dropout": lambda v: ([v.any(3, 7)], {}),
    "EyeLike": lambda v: ([v.any(3, 7)], {}),
    "Einsum": lambda v: ([v.small(3, 5), v.small(5, 7)], {"equation": "ij,jk->ik"}),
}


def windows(x):
    return np.lib.stride_tricks.sliding_window_view(x, (2, 3), axis=(2, 3))


erf = np.vectorize(math.erf)
# In f64, where ONNX's reference is not exact or has no kernel for a type.
EXACT = {
    "Erf": erf,
    "Gelu": lambda x: x / 2 * (1 + erf(x / math.sqrt(2))),
    "HardSigmoid": lambda x: np.clip(float(np.float32(0.2)) * x + 0.5, 0, 1),  # the attribute is a float
    "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "MaxPool": lambda x: windows(x).max((4, 5)),
    "AveragePool": lambda x: windows(x).mean((4, 5)),
}


def type_names(op):
    """Of the first input that is no index (Where: the second)."""
    schema = onnx.defs.get_schema(op, OPSET, "")
    variable = schema.inputs[1 if op == "Where" else 0].type_str
    for constraint in schema.type_constraints:
        if constraint.type_param_str == variable:
            variable = constraint.allowed_type_strs
            return sorted(t[7:-1] for t in variable if t.startswith("tensor(") and t[7:-1] not in FOREIGN)
    return []


# Inputs that decide about shapes: all after the first one of these.
SHAPED = {
    "Col2Im", "Reshape", "Slice", "Pad", "Tile", "Expand", "Squeeze", "Unsqueeze", "CumSum", "CumProd",
    *REDUCTIONS.split(),
}  # fmt: skip


def one_node(op, name):
    """A node with its inputs, of which those that decide about shapes are constants."""
    arrays, attributes = INPUTS[op](Values(dtype_of(name)))
    inputs, constants = {}, {}
    for position, array in enumerate(map(np.asarray, arrays)):
        is_constant = op == "Range" or (position and op in SHAPED)
        (constants if is_constant else inputs)[f"{name}_{position}"] = array
    names = [f"{name}_{position}" for position in range(len(arrays))]
    return onnx.helper.make_node(op, names, [f"y_{name}"], name, **attributes), inputs, constants


def build(nodes, inputs, constants):
    helper = onnx.helper
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in inputs.items()
    ]
    outputs = [helper.make_empty_tensor_value_info(node.output[0]) for node in nodes]
    initialisers = [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "operator", infos, outputs, initialisers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=13)


def expected(op, node, inputs, constants):
    if op in EXACT:
        return EXACT[op](*(array.astype(np.float64) for array in inputs.values()))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.asarray(ReferenceEvaluator(build([node], inputs, constants)).run(None, inputs)[0])


def tolerance(dtype):
    if dtype.name == "bfloat16":
        return 2e-2
    return {2: 4e-3, 4: 2e-5, 8: 1e-9}.get(dtype.itemsize, 0.15)


def assert_matches(got, want, what):
    assert got.shape == want.shape, what
    if not is_float(got.dtype):
        np.testing.assert_array_equal(got, want.astype(got.dtype), err_msg=what)
        return
    relative = tolerance(got.dtype)
    with np.errstate(all="ignore"):
        got, want = got.astype(np.float64), want.astype(got.dtype).astype(np.float64)
    np.testing.assert_allclose(got, want, rtol=relative, atol=relative, err_msg=what)


# Processors differ in what they have instructions for: the oldest have none for f16, most have none for bf16.
CONFIGURATIONS = [("host", 0), ("host", 3), ("x86-64", 3), ("x86-64-v3", 0)]


def run_all(model, inputs, target, opt_level):
    results = perpend.compile(model, target=target, opt_level=opt_level)(**inputs)
    return results if isinstance(results, (list, tuple)) else [results]


@pytest.mark.parametrize("op", sorted(INPUTS))
def test_element_types(op):
    cases = {name: one_node(op, name) for name in type_names(op)}
    inputs = {key: array for _, arrays, _ in cases.values() for key, array in arrays.items()}
    constants = {key: array for _, _, arrays in cases.values() for key, array in arrays.items()}
    wanted = {name: expected(op, *case) for name, case in cases.items()}
    model = build([node for node, _, _ in cases.values()], inputs, constants)
    for target, opt_level in CONFIGURATIONS:
        for (name, want), got in zip(wanted.items(), run_all(model, inputs, target, opt_level), strict=True):
            assert_matches(got, want, f"{op} of {name} for {target}, level {opt_level}")


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_numbers_of_attributes_beyond_the_type(name: str) -> None:
    """They are floats in old operator sets: the nearest number of the type counts."""
    dtype = dtype_of(name)
    limits, x = np.iinfo(dtype), np.array([3, 0, 7], dtype)

    def run(op: str, version: int, **attributes: object) -> np.ndarray:
        node = onnx.helper.make_node(op, ["x"], ["y"], **attributes)
        kind = onnx.helper.np_dtype_to_tensor_dtype(dtype)
        values = [onnx.helper.make_tensor_value_info(*value) for value in [("x", kind, [3]), ("y", kind, None)]]
        graph = onnx.helper.make_graph([node], "g", values[:1], values[1:])
        sets = [onnx.helper.make_opsetid("", version)]
        return perpend.compile(onnx.helper.make_model(graph, opset_imports=sets, ir_version=8))(x)

    np.testing.assert_array_equal(run("Clip", 6, min=1.0), [3, 1, 7])
    np.testing.assert_array_equal(run("Clip", 6, max=1e30, min=-1e30), x)
    for value, wanted in [(1e30, limits.max), (-1e30, limits.min), (2.9, 2), (-1.0, max(-1, limits.min))]:
        np.testing.assert_array_equal(run("Pad", 2, pads=[1, 0], value=value), [wanted, 3, 0, 7])


@pytest.mark.parametrize(("stash", "wanted"), [(None, "float32"), (1, "float32"), (16, "bfloat16")])
@pytest.mark.parametrize("name", ["float", "double", "float16"])
def test_statistics_of_a_normalisation_have_the_type_that_they_ask_for(
    name: str, stash: int | None, wanted: str
) -> None:
    x = np.array([[1.0, 2.0, 4.0]], dtype_of(name))
    given = {} if stash is None else {"stash_type": stash}
    node = onnx.helper.make_node("LayerNormalization", ["x", "scale"], ["y", "mean", "inverse"], **given)
    model = build([node], {"x": x, "scale": x[0]}, {})
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in ("mean", "inverse"))
    y, *statistics = perpend.compile(model)(x, x[0])
    assert y.dtype == x.dtype and [each.dtype.name for each in statistics] == [wanted] * 2
    np.testing.assert_allclose([float(each[0, 0]) for each in statistics], [7 / 3, (9 / 14) ** 0.5], rtol=2e-2)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int64", "uint64", "bool"])
def test_positions_between_elements_without_fractions(name: str, mode: str) -> None:
    """As of the same numbers in double precision, whose result is cast."""
    x = np.arange(12).reshape(1, 1, 3, 4) % (2 if name == "bool" else 12)
    grid = np.array([-1.0, -0.6, -0.1, 0.3, 0.35, 0.9, 0.5, -0.45], np.float32).reshape(1, 2, 2, 2)
    results = []
    for dtype in (dtype_of(name), np.dtype(np.float64)):
        node = onnx.helper.make_node("GridSample", ["x", "grid"], ["y"], mode=mode)
        inputs = {"x": x.astype(dtype), "grid": grid}
        results.append(perpend.compile(build([node], inputs, {}))(**inputs))
    np.testing.assert_array_equal(results[0], results[1].astype(dtype_of(name)))
    assert len(np.unique(results[1])) > 1
