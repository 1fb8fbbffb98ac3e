"""Quantised operators, bit for bit, against sums in 64-bit integers and scales in f32, for several machines."""

import functools
import itertools

import ml_dtypes
import numpy as np
import onnx
import perpend
import pytest

DATA = np.random.default_rng(7)
# The second-best level and the portable machines use other instructions than the host at its best.
VARIANTS = [("host", 3), ("host", 0), ("x86-64-v2", 3), ("x86-64-v3", 2), ("x86-64-v3", 3), ("x86-64-v4", 3)]
INT8, UINT8 = np.dtype(np.int8), np.dtype(np.uint8)


@functools.cache
def runs(target):
    """Whether this processor has the target's instructions."""
    model, _ = one_node("Relu", [np.zeros(1, np.float32)], opset=14)
    try:
        perpend.compile(model, target=target)
    except (ValueError, RuntimeError, OSError):
        return False
    return True


def one_node(op, arrays, opset=28, outputs=1, constants=(), **attributes):
    helper = onnx.helper
    names, inputs, initialisers, feeds = [], [], [], {}
    for position, array in enumerate(arrays):
        names.append("" if array is None else f"x{position}")
        if array is None:
            continue
        array = np.asarray(array)
        if position in constants:
            initialisers.append(onnx.numpy_helper.from_array(array, names[-1]))
            continue
        inputs.append(
            helper.make_tensor_value_info(names[-1], helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        )
        feeds[names[-1]] = array
    while names[-1] == "":
        names.pop()
    results = [helper.make_empty_tensor_value_info(f"y{i}") for i in range(outputs)]
    node = helper.make_node(op, names, [result.name for result in results], "node", **attributes)
    graph = helper.make_graph([node], "quantised", inputs, results, initialisers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=13), feeds


def check(model, feeds, *expected, without=()):
    for target, opt_level in VARIANTS:
        if target in without or not runs(target):
            continue
        results = perpend.compile(model, target=target, opt_level=opt_level)(**feeds)
        results = results if isinstance(results, (list, tuple)) else [results]
        for result, want in zip(results, expected, strict=True):
            assert result.dtype == want.dtype
            np.testing.assert_array_equal(result, want, err_msg=f"{target}, level {opt_level}")


def bytes_of(dtype, *shape):
    limits = np.iinfo(dtype)
    return DATA.integers(int(limits.min), int(limits.max) + 1, shape).astype(dtype)


def wrapped(accumulator):
    """The low 32 bits of an exact sum."""
    return accumulator.astype(np.int64).astype(np.int32)


def requantised(accumulator, factor, zero, dtype):
    limits = np.iinfo(dtype)
    rounded = np.rint(accumulator.astype(np.float32) * factor.astype(np.float32))
    return np.clip(rounded + np.float32(zero), limits.min, limits.max).astype(dtype)


SHAPES = [((1, 1), (1, 1)), ((3, 5), (5, 7)), ((17, 31), (31, 13)), ((1, 257), (257, 3)), ((2, 3, 5, 7), (7, 4)),
          ((2, 5, 7), (2, 7, 11)), ((7,), (7, 5)), ((4, 0), (0, 3)), ((0, 4), (4, 3))]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), itertools.product([INT8, UINT8], repeat=2), ids=str)
def test_matmul_integer(left, right):
    for (a_shape, b_shape), parameters in itertools.product(SHAPES, ["none", "scalar", "vectors"]):
        a, b = bytes_of(left, *a_shape), bytes_of(right, *b_shape)
        zeros = [None, None]
        if parameters != "none":
            zeros = [bytes_of(left), bytes_of(right)]
        if parameters == "vectors" and len(a_shape) == 2:
            zeros = [bytes_of(left, a_shape[0]), bytes_of(right, b_shape[1])]
        wide = [np.asarray(0 if zero is None else zero, np.int64) for zero in zeros]
        if wide[0].ndim:
            wide[0] = wide[0].reshape(-1, 1)
        expected = wrapped((a.astype(np.int64) - wide[0]) @ (b.astype(np.int64) - wide[1]))
        constants = (1,) if parameters == "scalar" else ()
        model, feeds = one_node("MatMulInteger", [a, b, *zeros], opset=10, constants=constants)
        if a_shape != (17, 31):  # one shape on all machines, the others on the host
            result = perpend.compile(model)(**feeds)
            np.testing.assert_array_equal(result, expected, err_msg=f"{a_shape} {parameters}")
        else:
            check(model, feeds, expected)


@pytest.mark.parametrize("values", [(-128, -128, 127, 127), (127, -128, -128, 127), (255, 255, 0, 0), (0, 0, 255, 255)])
def test_extreme_sums(values):
    """Pairs of products beyond 16 bits, which saturating instructions would clip."""
    dtype = INT8 if min(values) < 0 else UINT8
    a, b = np.full((5, 1031), values[0], dtype), np.full((1031, 9), values[1], dtype)
    zeros = np.array(values[2], dtype), np.array(values[3], dtype)
    for used in (zeros, (None, None)):
        shift = [0 if zero is None else int(zero) for zero in used]
        expected = wrapped((a.astype(np.int64) - shift[0]) @ (b.astype(np.int64) - shift[1]))
        check(*one_node("MatMulInteger", [a, b, *used], opset=10), expected)


def convolved(x, w, strides, pads, dilations, groups):
    """In 64-bit integers, 2-d."""
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    rows = (x.shape[2] - dilations[0] * (w.shape[2] - 1) - 1) // strides[0] + 1
    columns = (x.shape[3] - dilations[1] * (w.shape[3] - 1) - 1) // strides[1] + 1
    result = np.zeros((x.shape[0], w.shape[0], rows, columns), np.int64)
    per_group, outputs = w.shape[1], w.shape[0] // groups
    for o, c, i, j in np.ndindex(w.shape):
        plane = x[:, o // outputs * per_group + c]
        top, left = i * dilations[0], j * dilations[1]
        window = plane[:, top : top + rows * strides[0] : strides[0], left : left + columns * strides[1] : strides[1]]
        result[:, o] += w[o, c, i, j] * window[:, :rows, :columns]
    return result


CONVOLUTIONS = [
    ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    ((2, 3, 7, 11), (5, 3, 3, 2), (2, 1), (1, 0, 2, 1), (1, 2), 1),
    ((1, 6, 5, 5), (9, 2, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 3),
    ((1, 16, 9, 7), (16, 1, 3, 3), (1, 2), (1, 1, 1, 1), (1, 1), 16),
]


@pytest.mark.parametrize("geometry", CONVOLUTIONS, ids=lambda geometry: str(geometry[0]))
@pytest.mark.parametrize(("left", "right"), [(UINT8, INT8), (INT8, INT8), (UINT8, UINT8)], ids=str)
def test_convolutions(geometry, left, right):
    x_shape, w_shape, strides, pads, dilations, groups = geometry
    x, w = bytes_of(left, *x_shape), bytes_of(right, *w_shape)
    x_zero, w_zero = bytes_of(left), bytes_of(right, w_shape[0])
    attributes = {"strides": strides, "pads": pads, "dilations": dilations, "group": groups}
    wide = x.astype(np.int64) - int(x_zero), w.astype(np.int64) - w_zero.astype(np.int64).reshape(-1, 1, 1, 1)
    sums = convolved(*wide, strides, pads, dilations, groups)
    check(*one_node("ConvInteger", [x, w, x_zero, w_zero], opset=10, **attributes), wrapped(sums))
    x_scale, y_scale = np.float32(0.02), np.float32(0.9)
    w_scale, bias = DATA.random(w_shape[0]).astype(np.float32) + np.float32(0.01), bytes_of(np.int16, w_shape[0])
    factor = (x_scale * w_scale / y_scale).reshape(1, -1, 1, 1)
    sums = wrapped(sums + bias.astype(np.int64).reshape(1, -1, 1, 1))
    arrays = [x, x_scale, x_zero, w, w_scale, w_zero, y_scale, left.type(3), bias.astype(np.int32)]
    model, feeds = one_node("QLinearConv", arrays, opset=10, constants=(3, 4, 5, 8), **attributes)
    check(model, feeds, requantised(sums, factor, 3, left))


@pytest.mark.parametrize("dtype", [INT8, UINT8], ids=str)
def test_qlinear_matmul(dtype):
    a, b, zeros = bytes_of(dtype, 13, 37), bytes_of(dtype, 37, 11), (bytes_of(dtype), bytes_of(dtype, 11))
    sums = wrapped((a.astype(np.int64) - int(zeros[0])) @ (b.astype(np.int64) - zeros[1].astype(np.int64)))
    scales = np.float32(0.03), DATA.random(11).astype(np.float32), np.float32(7)
    for y_zero in (0, 5):
        arrays = [a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], dtype.type(y_zero)]
        expected = requantised(sums, scales[0] * scales[1] / scales[2], y_zero, dtype)
        check(*one_node("QLinearMatMul", arrays, opset=21), expected)


def spread(parameter, axis, block, shape):
    if parameter.ndim == 0:
        return parameter
    if not block:
        return parameter.reshape([-1 if dim == axis else 1 for dim in range(len(shape))])
    return np.repeat(parameter, block, axis).take(range(shape[axis]), axis)


GRANULARITIES = [("tensor", (), 0), ("axis", (7,), 0), ("block", (5, 3, 4), 3)]
QUANTISED = ["int8", "uint8", "int16", "uint16", "int4", "uint4", "int2", "uint2"]


@pytest.mark.parametrize("name", QUANTISED)
@pytest.mark.parametrize(("granularity", "shape", "block"), GRANULARITIES)
def test_linear_integers(name, granularity, shape, block):
    dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
    limits = ml_dtypes.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    x = (DATA.integers(-600, 600, (5, 7, 4)) / 4).astype(np.float32)  # halves of the scales
    x[0, 0] = [np.inf, -np.inf, 3e38, -3e38]
    scale = (2.0 ** DATA.integers(-2, 3, shape)).astype(np.float32)
    zero = DATA.integers(low, high + 1, shape).astype(dtype)
    scales, zeros = spread(scale, 1, block, x.shape), spread(zero.astype(np.int64), 1, block, x.shape)
    with np.errstate(all="ignore"):
        whole = np.clip(np.rint((x / scales).astype(np.float64)) + zeros, low, high)
    attributes = {"axis": 1, **({"block_size": block} if block else {})}
    quantised = whole.astype(np.int64).astype(dtype)
    check(*one_node("QuantizeLinear", [x, scale, zero], **attributes), quantised)
    back = (whole - zeros).astype(np.float32) * scales
    check(*one_node("DequantizeLinear", [quantised, scale, zero], **attributes), back.astype(np.float32))


@pytest.mark.parametrize(
    "name", ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn"]
)
def test_linear_floats(name):
    dtype = np.dtype(getattr(ml_dtypes, name))
    largest = float(ml_dtypes.finfo(dtype).max)
    x = np.concatenate([DATA.standard_normal(500) * 100, [1e30, -1e30, 0.0, -0.0]]).astype(np.float32)
    scale, zero = np.float32(0.37), np.zeros((), dtype)
    quantised = np.clip(x / scale, -largest, largest).astype(dtype)
    check(*one_node("QuantizeLinear", [x, scale, zero]), quantised)
    check(*one_node("DequantizeLinear", [quantised, scale, zero]), quantised.astype(np.float32) * scale)


@pytest.mark.parametrize("narrow", [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)], ids=str)
def test_precision_of_the_division(narrow):
    """x / scale is rounded to the type of the scale, or to `precision`."""
    x, scale = (DATA.standard_normal(2000) * 30).astype(narrow), narrow.type(0.37)
    limits = np.iinfo(np.int16)
    exact = x.astype(np.float32) / np.float32(scale)
    for precision, quotient in [(narrow, (x / scale).astype(np.float32)), (np.dtype(np.float32), exact)]:
        code = onnx.helper.np_dtype_to_tensor_dtype(precision)
        expected = np.clip(np.rint(quotient), limits.min, limits.max).astype(np.int16)
        # x86-64-v2 has no instructions for f16.
        check(*one_node("QuantizeLinear", [x, scale, np.int16(0)], precision=code), expected, without=["x86-64-v2"])


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("constants", [(), (1, 2)])
def test_numbers_that_are_none(name, constants):
    """ONNX Runtime's: a NaN is the least number, a quotient by 0 the end on its side; negative scales turn signs."""
    x = np.array([0, 1, -1, np.nan, np.inf, -np.inf, 7.6] * 5, np.float32)
    limits = np.iinfo(name)
    for scale in map(np.float32, [0.5, -0.5, 0, np.nan, np.inf]):
        with np.errstate(divide="ignore", invalid="ignore"):
            wide = np.rint(x / scale) + 3
        expected = np.where(np.isnan(wide), limits.min, np.clip(wide, limits.min, limits.max)).astype(name)
        check(*one_node("QuantizeLinear", [x, scale, limits.dtype.type(3)], constants=constants), expected)


@pytest.mark.parametrize("x", [DATA.standard_normal((3, 7)), np.zeros((2, 3)), np.ones((1, 5)), -np.ones((1, 5))])
def test_dynamic_quantisation(x):
    x = x.astype(np.float32)
    low, high = np.minimum(x.min(), np.float32(0)), np.maximum(x.max(), np.float32(0))
    scale = (np.float32(1) if low == high else high - low) / np.float32(255)
    zero = np.rint(np.clip(-low / scale, 0, 255))
    y = np.clip(np.rint(x / scale) + zero, 0, 255).astype(np.uint8)
    check(*one_node("DynamicQuantizeLinear", [x], opset=11, outputs=3), y, np.float32(scale), np.uint8(zero))


BYTES, WORDS, REALS = (np.ones((1, 1, 3, 3), kind) for kind in (np.int8, np.int16, np.float32))
ONE, BYTE, WORD = np.float32(1), np.int8(1), np.int16(1)


@pytest.mark.parametrize(
    ("op", "arrays", "message"),
    [
        ("MatMulInteger", [REALS, REALS], "integers of 8 bits"),
        ("MatMulInteger", [BYTES, WORDS], "integers of 8 bits"),
        ("MatMulInteger", [BYTES.astype(np.int32), BYTES], "integers of 8 bits"),
        ("MatMulInteger", [BYTES, BYTES, WORD], "expected inputs of one element type"),
        ("ConvInteger", [REALS, BYTES], "integers of 8 bits"),
        ("ConvInteger", [BYTES, BYTES, None, np.uint8(1)], "expected inputs of one element type"),
        ("QLinearMatMul", [BYTES, ONE, BYTE, WORDS, ONE, WORD, ONE, BYTE], "integers of 8 bits"),
        ("QLinearConv", [REALS, ONE, ONE, BYTES, ONE, BYTE, ONE, BYTE], "integers of 8 bits"),
        ("QuantizeLinear", [BYTES, ONE, BYTE], "expected inputs of one element type"),
        ("DequantizeLinear", [REALS, ONE], "integers of at most 32 bits"),
        ("DequantizeLinear", [REALS > 0, ONE], "integers of at most 32 bits"),
        ("DequantizeLinear", [BYTES, ONE, WORD], "expected inputs of one element type"),
    ],
)
def test_types_that_the_definition_excludes(op, arrays, message):
    model, _ = one_node(op, arrays, opset=21)
    with pytest.raises(perpend.CompileError, match=message):
        perpend.compile(model)


@pytest.mark.parametrize("op", ["QuantizeLinear", "DequantizeLinear"])
def test_a_zero_point_of_unknown_length_beside_one_scale(op):
    x = np.float32([-3, 0, 1.5, 4]) if op == "QuantizeLinear" else np.uint8([0, 7, 9, 255])
    model, feeds = one_node(op, [x, np.float32(0.5), np.uint8([7])])
    model.graph.input[2].type.tensor_type.shape.dim[0].dim_param = "z"
    run = perpend.compile(model)
    want = np.uint8([1, 7, 10, 15]) if op == "QuantizeLinear" else np.float32([-3.5, 0, 1, 124])
    np.testing.assert_array_equal(run(**feeds), want)
    with pytest.raises(ValueError, match=r"zero point: expected shape \[\], got \[z\]|dimension 0: expected 1, got 2"):
        run(**feeds | {"x2": np.uint8([7, 7])})
