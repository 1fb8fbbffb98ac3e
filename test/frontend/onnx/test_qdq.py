"""Float operators between conversions of quantised numbers, bit for bit (docs/decisions/0028)."""

import functools

import numpy as np
import onnx
import perpend
import pytest
from cli.tool import succeed

DATA = np.random.default_rng(11)
TARGETS = ["x86-64", "x86-64-v3", "x86-64-v4", "x86-64-v4,+avx512vnni", "host"]
INT8, UINT8 = np.dtype(np.int8), np.dtype(np.uint8)
F32 = np.float32


@functools.cache
def runs(target):
    """Whether this processor has the target's instructions."""
    model = Model()
    model.add("Relu", model.input(np.zeros(1, F32)))
    try:
        perpend.compile(model.proto(), target=target)
    except (ValueError, RuntimeError, OSError):
        return False
    return True


class Quantised:
    """A tensor of bytes with its scale and zero point, as the name of a float value of a model."""

    def __init__(self, name, bytes_, scale, zero):
        self.name, self.bytes, self.scale, self.zero = name, bytes_, F32(scale), zero

    @property
    def whole(self):
        return self.bytes.astype(np.int64) - int(self.zero)


class Model:
    """Nodes and their inputs; the last one's result is the model's."""

    def __init__(self):
        self.nodes, self.inputs, self.weights, self.feeds = [], [], [], {}

    def add(self, op, *names, **attributes):
        result = f"v{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(op, names, [result], result, **attributes))
        return result

    def constant(self, array):
        name = f"c{len(self.weights)}"
        self.weights.append(onnx.numpy_helper.from_array(np.asarray(array), name))
        return name

    def input(self, array):
        name = f"x{len(self.inputs)}"
        kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        self.inputs.append(onnx.helper.make_tensor_value_info(name, kind, array.shape))
        self.feeds[name] = array
        return name

    def dequantised(self, bytes_, scale, zero, **attributes):
        return self.add("DequantizeLinear", bytes_, self.constant(scale), self.constant(zero), **attributes)

    def quantised_input(self, dtype, shape, scale):
        limits = np.iinfo(dtype)
        bytes_ = DATA.integers(limits.min, limits.max + 1, shape).astype(dtype)
        zero = dtype.type(DATA.integers(limits.min, limits.max + 1))
        return Quantised(self.dequantised(self.input(bytes_), F32(scale), zero), bytes_, scale, zero)

    def weight(self, shape, axis=None, dtype=INT8):
        """Values, scales (along `axis`, or one) and the name of the float value."""
        numbers = DATA.integers(-127, 128, shape).astype(dtype)
        scales = (DATA.random(() if axis is None else shape[axis]) / 50 + 0.001).astype(F32)
        axes = {} if axis is None else {"axis": axis}
        return (
            numbers.astype(np.int64),
            scales,
            self.dequantised(self.constant(numbers), scales, np.zeros(scales.shape, dtype), **axes),
        )

    def quantise(self, value, dtype, scale, zero):
        self.add("QuantizeLinear", value, self.constant(F32(scale)), self.constant(dtype.type(zero)))

    def proto(self):
        result = onnx.helper.make_empty_tensor_value_info(self.nodes[-1].output[0])
        graph = onnx.helper.make_graph(self.nodes, "quantised", self.inputs, [result], self.weights)
        return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)


def rounded(values, dtype, zero):
    """Of f32, which are divided by the result's scale."""
    limits = np.iinfo(dtype)
    return np.clip(np.rint(values) + F32(zero), limits.min, limits.max).astype(dtype)


def check(model, expected):
    """The same bytes on every machine; a step more or less where nothing is optimised."""
    proto = model.proto()
    for target, level in [("host", 1), *((target, 3) for target in filter(runs, TARGETS))]:
        result = perpend.compile(proto, target=target, opt_level=level)(**model.feeds)
        np.testing.assert_array_equal(result, expected, err_msg=f"{target}, level {level}")
    plain = perpend.compile(proto, opt_level=0)(**model.feeds)
    assert np.abs(plain.astype(int) - expected.astype(int)).max(initial=0) <= 1


def padded(x, pads):
    return np.pad(x, ((0, 0), (0, 0), (pads, pads), (pads, pads)))


def convolved(x, w, stride, pads, groups):
    """In 64-bit integers, 2-d."""
    x = padded(x, pads)
    rows, columns = ((x.shape[2 + i] - w.shape[2 + i]) // stride + 1 for i in range(2))
    result = np.zeros((x.shape[0], w.shape[0], rows, columns), np.int64)
    per_group, outputs = w.shape[1], w.shape[0] // groups
    for o, c, i, j in np.ndindex(w.shape):
        plane = x[:, o // outputs * per_group + c]
        window = plane[:, i : i + rows * stride : stride, j : j + columns * stride : stride]
        result[:, o] += w[o, c, i, j] * window[:, :rows, :columns]
    return result


# input, filter, stride, padding, groups
CONVOLUTIONS = [
    ((1, 3, 9, 8), (8, 3, 3, 3), 2, 1, 1),
    ((2, 16, 5, 7), (33, 16, 1, 1), 1, 0, 1),
    ((1, 24, 9, 7), (24, 1, 3, 3), 1, 1, 24),
    ((1, 40, 9, 9), (40, 1, 5, 5), 2, 2, 40),
    ((1, 8, 6, 6), (12, 4, 3, 3), 1, 1, 2),
    ((1, 5, 4, 4), (10, 1, 3, 3), 1, 1, 5),
]


@pytest.mark.parametrize("geometry", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("dtype", [UINT8, INT8], ids=str)
@pytest.mark.parametrize("axis", [None, 0], ids=["tensor", "channel"])
def test_convolution(geometry, dtype, axis):
    limits = (0, 6) if dtype == INT8 else None
    x_shape, w_shape, stride, pads, groups = geometry
    model = Model()
    x = model.quantised_input(dtype, x_shape, 0.02)
    w, scales, filters = model.weight(w_shape, axis)
    numbers = DATA.integers(-9999, 10000, w_shape[0]).astype(np.int32)
    bias_scale = np.broadcast_to(x.scale * scales, w_shape[0]) if axis == 0 else x.scale * scales
    axes = {"axis": 0} if axis == 0 else {}
    bias = model.dequantised(model.constant(numbers), bias_scale, np.zeros(np.shape(bias_scale), np.int32), **axes)
    y = model.add("Conv", x.name, filters, bias, strides=[stride] * 2, pads=[pads] * 4, group=groups)
    if limits:
        y = model.add("Clip", y, *(model.constant(F32(limit)) for limit in limits))
    scale, zero = F32(0.11), 17
    model.quantise(y, dtype, scale, zero)
    sums = convolved(x.whole, w, stride, pads, groups) + numbers.reshape(1, -1, 1, 1)
    factors = (x.scale * scales / scale).reshape(1, -1, 1, 1) if axis == 0 else x.scale * scales / scale
    values = sums.astype(F32) * factors
    if limits:
        values = np.clip(values, *(F32(limit) / scale for limit in limits))
    check(model, rounded(values, dtype, zero))


@pytest.mark.parametrize("dtype", [UINT8, INT8], ids=str)
@pytest.mark.parametrize("axis", [None, 1], ids=["tensor", "column"])
def test_product(dtype, axis):
    model = Model()
    x = model.quantised_input(dtype, (3, 19, 37), 0.02)
    w, scales, columns = model.weight((37, 23), axis)
    model.quantise(model.add("MatMul", x.name, columns), dtype, 0.2, 3)
    sums = x.whole @ w
    check(model, rounded(sums.astype(F32) * (x.scale * scales / F32(0.2)), dtype, 3))


def test_product_of_inputs():
    """Both zero points are subtracted, and both operands are known only at run time."""
    model = Model()
    a, b = model.quantised_input(UINT8, (2, 5, 33), 0.02), model.quantised_input(UINT8, (2, 33, 18), 0.03)
    model.quantise(model.add("MatMul", a.name, b.name), UINT8, 0.7, 120)
    check(model, rounded((a.whole @ b.whole).astype(F32) * (a.scale * b.scale / F32(0.7)), UINT8, 120))


@pytest.mark.parametrize("transposes", [0, 1])
def test_gemm(transposes):
    """Its bias has a scale of its own, so it is added as f32."""
    model = Model()
    x = model.quantised_input(UINT8, (7, 40), 0.02)
    w, scales, filters = model.weight((21, 40) if transposes else (40, 21), 0 if transposes else 1)
    bias = DATA.standard_normal(21).astype(F32)
    y = model.add("Gemm", x.name, filters, model.constant(bias), transB=transposes)
    scale = F32(0.3)
    model.quantise(y, UINT8, scale, 99)
    sums = x.whole @ (w.T if transposes else w)
    check(model, rounded(sums.astype(F32) * (x.scale * scales / scale) + bias / scale, UINT8, 99))


@pytest.mark.parametrize("dtype", [UINT8, INT8], ids=str)
def test_addition(dtype):
    model = Model()
    a, b = model.quantised_input(dtype, (2, 5, 33), 0.02), model.quantised_input(dtype, (2, 5, 33), 0.03)
    model.quantise(model.add("Relu", model.add("Add", a.name, b.name)), dtype, 0.04, 9)
    parts = [part.whole.astype(F32) * (part.scale / F32(0.04)) for part in (a, b)]
    check(model, rounded(np.maximum(parts[0] + parts[1], F32(0)), dtype, 9))


@pytest.mark.parametrize("dtype", [UINT8, INT8], ids=str)
def test_pools(dtype):
    model = Model()
    x = model.quantised_input(dtype, (1, 19, 8, 8), 0.02)
    model.quantise(model.add("MaxPool", x.name, kernel_shape=[2, 2], strides=[2, 2]), dtype, x.scale, x.zero)
    check(model, x.bytes.reshape(1, 19, 4, 2, 4, 2).max((3, 5)))
    model = Model()
    x = model.quantised_input(dtype, (1, 19, 8, 8), 0.02)
    model.quantise(model.add("GlobalAveragePool", x.name), dtype, 0.003, 1)
    sums = x.whole.sum((2, 3), keepdims=True).astype(F32)
    check(model, rounded(sums * (x.scale / F32(0.003)) / F32(64), dtype, 1))


def test_movement():
    """Bytes are moved, and what has another scale is rounded again."""
    model = Model()
    a, b = model.quantised_input(UINT8, (1, 3, 4, 5), 0.02), model.quantised_input(UINT8, (1, 2, 4, 5), 0.03)
    y = model.add("Transpose", model.add("Concat", a.name, b.name, axis=1), perm=[0, 2, 3, 1])
    model.quantise(y, UINT8, a.scale, a.zero)
    other = rounded(b.whole.astype(F32) * (b.scale / a.scale), UINT8, a.zero)
    check(model, np.concatenate([a.bytes, other], 1).transpose(0, 2, 3, 1))


def test_block_of_layers():
    """A bottleneck whose sum goes on as bytes: all kernels between read and write bytes."""
    model = Model()
    x = model.quantised_input(UINT8, (1, 16, 6, 6), 0.02)
    value, whole, scale = x.name, x.whole, x.scale
    for shape, groups, result_scale in [((32, 16, 1, 1), 1, 0.3), ((32, 1, 3, 3), 32, 0.9), ((16, 32, 1, 1), 1, 3)]:
        w, scales, filters = model.weight(shape, 0)
        pads = shape[-1] // 2
        value = model.add("Conv", value, filters, group=groups, pads=[pads] * 4)
        model.quantise(value, UINT8, result_scale, 128)
        factors = (scale * scales / F32(result_scale)).reshape(1, -1, 1, 1)
        numbers = rounded(convolved(whole, w, 1, pads, groups).astype(F32) * factors, UINT8, 128)
        whole, scale = numbers.astype(np.int64) - 128, F32(result_scale)
        value = model.dequantised(model.nodes[-1].output[0], scale, np.uint8(128))
    model.quantise(model.add("Add", value, x.name), UINT8, 3.5, 128)
    parts = [whole.astype(F32) * (scale / F32(3.5)), x.whole.astype(F32) * (x.scale / F32(3.5))]
    check(model, rounded(parts[0] + parts[1], UINT8, 128))


def quantised_attention(length):
    """Of two heads, with bytes of all products, and of what the softmax gives."""
    model, size = Model(), 24
    q, k, v = (model.quantised_input(dtype, (1, 2, length, size), 0.03) for dtype in (UINT8, INT8, UINT8))
    scores = model.add("MatMul", q.name, model.add("Transpose", k.name, perm=[0, 1, 3, 2]))
    model.quantise(scores, UINT8, 0.8, 120)
    scores = model.dequantised(model.nodes[-1].output[0], F32(0.8), np.uint8(120))
    parts = model.add("Softmax", model.add("Mul", scores, model.constant(F32(0.2))), axis=-1)
    model.quantise(parts, UINT8, 1 / 255, 0)
    parts = model.dequantised(model.nodes[-1].output[0], F32(1 / 255), np.uint8(0))
    model.quantise(model.add("MatMul", parts, v.name), UINT8, 0.02, 100)

    numbers = rounded((q.whole @ k.whole.swapaxes(-1, -2)).astype(F32) * (q.scale * k.scale / F32(0.8)), UINT8, 120)
    rows = np.exp((numbers.astype(np.float64) - 120) * 0.8 * 0.2)
    quotients = rounded(rows / rows.sum(-1, keepdims=True) * 255, UINT8, 0).astype(np.int64)
    return model, rounded((quotients @ v.whole).astype(F32) * (F32(1 / 255) * v.scale / F32(0.02)), UINT8, 100)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("length", [5, 200])
def test_attention(length, target):
    """Rows of bytes between products; where the exponential is rounded may be a step."""
    if not runs(target):
        pytest.skip(f"this processor is no {target}")
    model, expected = quantised_attention(length)
    steps = np.abs(perpend.compile(model.proto(), target=target)(**model.feeds).astype(int) - expected.astype(int))
    assert steps.max() <= 1 and (steps > 0).mean() < 0.02


def test_scores_of_bytes_stay_in_the_kernel_of_their_softmax(tmp_path):
    onnx.save(quantised_attention(200)[0].proto(), tmp_path / "model.onnx")
    module = succeed("inspect", "model.onnx", "--stage", "fuse", folder=tmp_path)
    kernels = [kernel for kernel in module.split("func.func private") if "math.exp" in kernel]
    assert len(kernels) == 1 and "tile.matmul" in kernels[0]


def result_of(model, name, dtype, shape, target="host"):
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    output = onnx.helper.make_tensor_value_info(name, kind, shape)
    graph = onnx.helper.make_graph(model.nodes, "edges", model.inputs, [output], model.weights)
    proto = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    return perpend.compile(proto, target=target)(*model.feeds.values())


@pytest.mark.parametrize("target", TARGETS)
def test_products_of_several_types_in_one_sum(target):
    """P + C*D + E*F with bytes of both signs: a word has one type."""
    if not runs(target):
        pytest.skip(f"this processor is no {target}")
    model, shape = Model(), (3, 256)
    arrays = [DATA.integers(-128, 128, shape).astype(INT8) for _ in range(3)]
    arrays += [DATA.integers(0, 256, shape).astype(UINT8), DATA.integers(-128, 128, shape).astype(INT8)]
    wide = [model.add("Cast", model.input(array), to=onnx.TensorProto.INT32) for array in arrays]
    first, second = model.add("Mul", wide[1], wide[2]), model.add("Mul", wide[3], wide[4])
    last = model.add("Add", model.add("Add", wide[0], first), second)
    p, c, d, e, f = (array.astype(np.int32) for array in arrays)
    np.testing.assert_array_equal(result_of(model, last, np.int32, shape, target), p + c * d + e * f)


def test_a_negative_scale_stays_behind_a_maximum():
    model, shape = Model(), (2, 40)
    numbers = DATA.integers(-128, 128, shape).astype(INT8)
    real = model.dequantised(model.input(numbers), F32(0.5), INT8.type(0))
    last = model.add("QuantizeLinear", model.add("Relu", real), model.constant(F32(-1)), model.constant(INT8.type(0)))
    expected = np.clip(np.rint(np.maximum(numbers * F32(0.5), 0) / F32(-1)), -128, 127).astype(INT8)
    np.testing.assert_array_equal(result_of(model, last, INT8, shape), expected)


def test_a_product_of_bytes_is_no_sum_of_them():
    """Four times 200 is 1.6e9 as a product: with 2e9 it would wrap in 32 bits."""
    model = Model()
    wide = model.add("Cast", model.input(np.full((5, 4), 200, UINT8)), to=onnx.TensorProto.INT32)
    product = model.add("ReduceProd", wide, model.constant(np.array([1])), keepdims=0)
    one = model.add("DequantizeLinear", product, model.constant(F32(0.5)))
    other = model.add("DequantizeLinear", model.constant(np.full(5, 2_000_000_000, np.int32)), model.constant(F32(0.5)))
    last = model.add("Add", one, other)
    np.testing.assert_allclose(result_of(model, last, F32, (5,)), np.full(5, 1.8e9), rtol=1e-6)
