"""Products of 8- and 16-bit integers, bit for bit: every depth, extreme values and zero points, on several machines."""

import functools

import numpy as np
import perpend
import pytest
from onnx import helper, numpy_helper

DATA = np.random.default_rng(11)
# Pairs of 16 bits with vectors of 16, 32 and 64 bytes, and quadruples of bytes with the last two.
TARGETS = ["x86-64", "x86-64-v3", "x86-64-v3,+avxvnni", "x86-64-v4", "x86-64-v4,+avx512vnni", "host"]
MICROSOFT = "com.microsoft"
INT8, UINT8 = np.dtype(np.int8), np.dtype(np.uint8)


def model_of(nodes, inputs, constants):
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), dims)
        for name, (dtype, dims) in inputs.items()
    ]
    results = [helper.make_empty_tensor_value_info(node.output[0]) for node in nodes]
    initialisers = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "products", infos, results, initialisers)
    versions = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=10)


@functools.cache
def offers(target):
    """Whether this processor has the target's instructions."""
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": (np.float32, [1])}, {})
    try:
        perpend.compile(model, target=target)
    except (ValueError, RuntimeError, OSError):
        return False
    return True


def compiled(model, target):
    if not offers(target):
        pytest.skip(f"this processor is no {target}")
    return perpend.compile(model, target=target)


def as_list(results):
    return list(results) if isinstance(results, (list, tuple)) else [results]


def wrapped(sums):
    """The low 32 bits of exact sums."""
    return sums.astype(np.int64).astype(np.int32)


def bytes_of(dtype, *shape):
    limits = np.iinfo(dtype)
    return DATA.integers(int(limits.min), int(limits.max) + 1, shape).astype(dtype)


def zeros_of(dtype):
    return [0, 1, 127, -128] if dtype == INT8 else [0, 1, 127, 128, 255]


PAIRS = [(UINT8, INT8), (INT8, INT8), (UINT8, UINT8), (INT8, UINT8)]


def product(left, right, zeros):
    return (left.astype(np.int64) - zeros[0]) @ (right.astype(np.int64) - zeros[1])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("left", "right"), PAIRS, ids=str)
def test_every_depth(target, left, right):
    """One artifact for all depths; some of the zero points are known to the compiler, some only to the run."""
    nodes, constants, chosen = [], {}, []
    for number, zeros in enumerate(zip(zeros_of(left) * 2, [*zeros_of(right), *zeros_of(right)[::-1]], strict=False)):
        names = [f"az{number}", f"bz{number}"]
        nodes.append(helper.make_node("MatMulInteger", ["a", "b", *names], [f"y{number}"]))
        chosen.append((names, zeros))
        if number % 2:
            constants |= {names[0]: left.type(zeros[0]), names[1]: right.type(zeros[1])}
    inputs = {"a": (left, ["m", "k"]), "b": (right, ["k", 21])}
    inputs |= {name: (dtype, []) for names, _ in chosen for name, dtype in zip(names, (left, right), strict=True)}
    model = compiled(model_of(nodes, {n: i for n, i in inputs.items() if n not in constants}, constants), target)
    for depth in [*range(70), *range(70, 301, 23), 300]:
        feeds = {"a": bytes_of(left, 1 + depth % 11, depth), "b": bytes_of(right, depth, 21)}
        for names, zeros in chosen:
            if names[0] not in constants:
                feeds |= {names[0]: left.type(zeros[0]), names[1]: right.type(zeros[1])}
        for result, (_, zeros) in zip(as_list(model(**feeds)), chosen, strict=True):
            expected = wrapped(product(feeds["a"], feeds["b"], zeros))
            np.testing.assert_array_equal(result, expected, err_msg=f"depth {depth}, zero points {zeros}")


@pytest.mark.parametrize("target", TARGETS)
def test_extremes_with_constant_weights(target):
    """Sums of the largest products of one sign, over a depth at which they leave 32 bits."""
    depth, rows, columns = 70001, 9, 5
    nodes, inputs, constants, feeds, expected = [], {}, {}, {}, []
    for left, right in PAIRS:
        for number, ends in enumerate([("min", "min"), ("min", "max"), ("max", "min"), ("max", "max")]):
            a = np.full((rows, depth), getattr(np.iinfo(left), ends[0]), left)
            b = np.full((depth, columns), getattr(np.iinfo(right), ends[1]), right)
            b[::2, 1] = 1
            zeros = zeros_of(left)[number], zeros_of(right)[-1 - number]
            name = f"{left}{right}{number}"
            names = [f"{kind}{name}" for kind in ("a", "b", "az", "bz")]
            nodes.append(helper.make_node("MatMulInteger", names, [f"y{name}"]))
            constants |= {names[1]: b, names[2]: left.type(zeros[0]), names[3]: right.type(zeros[1])}
            inputs[names[0]], feeds[names[0]] = (left, [rows, depth]), a
            expected.append(wrapped(product(a, b, zeros)))
    results = as_list(compiled(model_of(nodes, inputs, constants), target)(**feeds))
    for node, result, want in zip(nodes, results, expected, strict=True):
        np.testing.assert_array_equal(result, want, err_msg=node.output[0])


@pytest.mark.parametrize("target", TARGETS)
def test_pairs_of_16_bits_wrap(target):
    """-32768 * -32768 * 2 is 2^31, the one sum of a pair that is no i32."""
    a, b = np.full((7, 333), -32768, np.int16), np.full((333, 19), -32768, np.int16)
    a[3], b[:, 4] = 32767, bytes_of(np.dtype(np.int16), 333)
    node = helper.make_node("MatMulInteger16", ["a", "b"], ["y"], domain=MICROSOFT)
    model = model_of([node], {"a": (np.int16, a.shape)}, {"b": b})
    expected = wrapped(a.astype(np.int64) @ b.astype(np.int64))
    np.testing.assert_array_equal(compiled(model, target)(a=a), expected)


WIDE = [
    # Image, filter, attributes: whole words of channels, and not; one channel; a border; a row; groups; points.
    ((1, 8, 9, 17), (33, 8, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((2, 5, 7, 19), (6, 5, 3, 2), {"strides": [2, 1], "dilations": [1, 2]}),
    ((1, 1, 6, 30), (8, 1, 3, 8), {"pads": [0, 3, 1, 4]}),
    ((1, 12, 1, 25), (20, 12, 1, 5), {"strides": [1, 2]}),
    ((1, 16, 8, 8), (24, 4, 3, 3), {"group": 4, "pads": [1, 0, 0, 1]}),
    ((1, 6, 8, 8), (9, 2, 3, 3), {"group": 3}),
    ((3, 7, 5, 6), (35, 7, 1, 1), {}),
]


@pytest.mark.parametrize("target", TARGETS)
def test_convolutions(target):
    """Against the compiler's loops at level 0, which test_quantised.py compares with numpy."""
    nodes, inputs, constants, feeds = [], {}, {}, {}
    for number, (x_shape, w_shape, attributes) in enumerate(WIDE):
        for left, right in PAIRS:
            name = f"{left}{right}{number}"
            names = [f"{kind}{name}" for kind in ("x", "w", "xz", "wz")]
            nodes.append(helper.make_node("ConvInteger", names, [f"y{name}"], **attributes))
            inputs[names[0]], feeds[names[0]] = (left, x_shape), bytes_of(left, *x_shape)
            constants |= {
                names[1]: bytes_of(right, *w_shape),
                names[2]: left.type(zeros_of(left)[number % 4]),
                names[3]: right.type(zeros_of(right)[number // 2]),
            }
            if number == 1:  # known only when the model runs
                inputs[names[2]], feeds[names[2]] = (left, []), constants.pop(names[2])
    model = model_of(nodes, inputs, constants)
    expected = perpend.compile(model, opt_level=0)(**feeds)
    for node, result, want in zip(nodes, compiled(model, target)(**feeds), expected, strict=True):
        np.testing.assert_array_equal(result, want, err_msg=node.output[0])


@pytest.mark.parametrize("target", TARGETS)
def test_weights_less_their_zero_point(target):
    """Weights that fit 8 signed bits without a zero point, that do with another one, and that do not."""
    depth, columns = 37, 18
    zeros = [bytes_of(UINT8, columns), np.full(columns, 9, np.uint8), np.full(columns, 128, np.uint8)]
    a, b = bytes_of(UINT8, 6, depth), bytes_of(UINT8, depth, columns)
    nodes, constants = [], {"b": b, "az": np.uint8(200)}
    for number, zero in enumerate(zeros):
        constants[f"z{number}"] = zero
        nodes.append(helper.make_node("MatMulInteger", ["a", "b", "az", f"z{number}"], [f"y{number}"]))
    model = compiled(model_of(nodes, {"a": (UINT8, ["m", depth])}, constants), target)
    for result, zero in zip(model(a=a), zeros, strict=True):
        np.testing.assert_array_equal(result, wrapped(product(a, b, (200, zero.astype(np.int64)))))
