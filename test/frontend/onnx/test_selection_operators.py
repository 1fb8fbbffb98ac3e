"""Operators that sort, scan, scatter and select, over types, extents, ties and NaN, against numpy or ONNX Runtime.

Each model is interpreted, and compiled without and with all optimisations. Extents are free symbols.
"""

import functools

import numpy as np
import onnx
import onnxruntime
import perpend
import pytest

WAYS = ["interpreter", "O0", "O3"]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float16, np.float32, np.float64]
EXTENTS = [0, 1, 2, 5, 64, 131]


def model_of(op, feeds, constants, outputs, opset, attributes):
    """One operator; inputs that are not constants have symbolic extents, ranks are known."""
    helper = onnx.helper
    inputs, initializers = [], []
    for name, array in feeds.items():
        if name in constants:
            initializers.append(onnx.numpy_helper.from_array(array, name))
            continue
        keep = op == "ScatterND" and name == "x1"
        shape = [f"{name}_{i}" if not keep or i + 1 < array.ndim else n for i, n in enumerate(array.shape)]
        inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape))
    results = [helper.make_empty_tensor_value_info(f"y{i}") for i in range(outputs)]
    node = helper.make_node(op, list(feeds), [result.name for result in results], "node", **attributes)
    graph = helper.make_graph([node], "operator", inputs, results, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def runtime(model, feeds):
    inferred = onnx.shape_inference.infer_shapes(model)
    session = onnxruntime.InferenceSession(inferred.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {each.name: feeds[each.name] for each in session.get_inputs()})


@functools.cache
def program(text, way):
    model = onnx.ModelProto.FromString(text)
    if way == "interpreter":
        return perpend.import_model(model).evaluate
    return perpend.compile(model, opt_level=int(way[1:]))


def compare(op, arrays, way, expected=None, constants=(), outputs=1, opset=17, **attributes):
    feeds = {f"x{i}": np.asarray(array) for i, array in enumerate(arrays)}
    names = [f"x{i}" for i in constants]
    model = model_of(op, feeds, names, outputs, opset, attributes)
    expected = runtime(model, feeds) if expected is None else expected
    run = program(model.SerializeToString(), way)
    results = run(*(array for name, array in feeds.items() if name not in names))
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    for got, wanted in zip(results, expected, strict=True):
        got, wanted = np.asarray(got), np.asarray(wanted)
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        if wanted.dtype == object:
            assert got.tolist() == wanted.tolist()
            continue
        np.testing.assert_allclose(
            got.astype(np.float64), wanted.astype(np.float64), 2e-3 if wanted.itemsize == 2 else 2e-5
        )


def numbers(generator, shape, dtype):
    """Few different values, so that there are ties; infinities and NaN among floats."""
    values = generator.integers(0, 9, shape)
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return np.where(values == 8, info.max, np.where(values == 7, info.min, values)).astype(dtype)
    special = np.select([values == 8, values == 7, values == 6], [np.nan, np.inf, -np.inf], values / 2 - 1)
    return special.astype(dtype)


def finite(generator, shape, dtype):
    return generator.integers(1, 4, shape).astype(dtype)


@pytest.fixture
def generator():
    return np.random.default_rng(7)


def stable_order(x, axis, descending):
    """numpy's stable order with NaN as the greatest, also when it descends."""
    rank = np.unique(x, return_inverse=True)[1].reshape(x.shape).astype(np.int64)
    return np.argsort(-rank if descending else rank, axis=axis, kind="stable")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", INTEGERS + FLOATS, ids=lambda dtype: dtype.__name__)
def test_topk_sorts(way, dtype, generator):
    for extent in EXTENTS[1:]:
        for axis, largest in ((0, 0), (1, 1)):
            x = numbers(generator, (extent, 3) if axis == 0 else (3, extent), dtype)
            order = stable_order(x, axis, largest)
            expected = [np.take_along_axis(x, order, axis), order]
            k = np.array([extent])
            compare("TopK", [x, k], way, expected, outputs=2, constants=[1], axis=axis, largest=largest)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("op", ["CumSum", "CumProd"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64], ids=lambda dtype: dtype.__name__)
def test_cumulation(way, op, dtype, generator):
    function = np.cumsum if op == "CumSum" else np.cumprod
    for extent in (0, 1, 2, 13):
        for axis, shape in ((0, (extent, 3)), (-1, (2, 3, extent)), (1, (2, extent, 65))):
            for exclusive, reverse in ((0, 0), (1, 0), (0, 1), (1, 1)):
                x = finite(generator, shape, dtype)
                flipped = np.flip(x, axis) if reverse else x
                expected = function(flipped, axis=axis, dtype=dtype)
                if exclusive and extent:
                    neutral = np.full_like(x.take([0], axis), op == "CumProd")
                    expected = np.concatenate([neutral, expected.take(range(extent - 1), axis)], axis)
                expected = np.flip(expected, axis) if reverse else expected
                opset = 14 if op == "CumSum" else 26
                arguments = {"exclusive": exclusive, "reverse": reverse, "opset": opset}
                compare(op, [x, np.array(axis)], way, [expected], constants=[1], **arguments)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int32], ids=lambda dtype: dtype.__name__)
def test_scatter(way, reduction, dtype, generator):
    for rows in (1, 2, 7):
        x, updates = finite(generator, (5, 70), dtype), finite(generator, (rows, 70), dtype)
        indices = generator.permutation(5)[: min(rows, 5)] if reduction == "none" else generator.integers(-5, 5, rows)
        indices = np.resize(indices, rows)
        wrapped = indices % 5
        expected = x.copy()
        for index, update in zip(wrapped, updates, strict=True):
            function = {"none": None, "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}[
                reduction
            ]
            expected[index] = function(expected[index], update) if function else update
        opset = {"reduction": reduction, "opset": 18}
        compare("ScatterND", [x, indices[:, None], updates], way, [expected], **opset)
        wide = np.broadcast_to(indices[:, None], (rows, 70)).copy()
        compare("ScatterElements", [x, wide, updates], way, [expected], axis=0, **opset)
        compare("ScatterElements", [x.T.copy(), wide.T.copy(), updates.T.copy()], way, [expected.T], axis=-1, **opset)


@pytest.mark.parametrize("way", WAYS)
def test_scatter_of_nothing(way, generator):
    x = finite(generator, (3, 4), np.float32)
    compare("ScatterND", [x, np.zeros((0, 1), np.int64), np.zeros((0, 4), np.float32)], way, [x])
    empty = np.zeros((0, 4), np.float32)
    compare("ScatterND", [empty, np.zeros((0, 2), np.int64), np.zeros(0, np.float32)], way, [empty])
    compare("ScatterND", [x, np.array([[0, 0]]), np.array([9], np.float32)], way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", [np.bool_, np.float32, np.int64, np.uint8], ids=lambda dtype: dtype.__name__)
def test_nonzero_and_compress(way, dtype, generator):
    for shape in ((0,), (1,), (7, 1), (3, 0, 2), (4, 5, 3)):
        x = generator.integers(0, 2, shape).astype(dtype)
        compare("NonZero", [x], way, [np.stack(np.nonzero(x)).astype(np.int64)])
    x = finite(generator, (4, 5, 3), np.float32)
    for axis in (0, 1, -1, None):
        condition = generator.integers(0, 2, 3).astype(bool)
        arguments = {} if axis is None else {"axis": axis}
        compare("Compress", [x, condition], way, [np.compress(condition, x, axis)], **arguments)
    compare("Compress", [x, np.zeros(3, bool)], way, [x[:0]], axis=0)


def unique(x, axis, is_sorted):
    """numpy.unique with NaN equal to NaN, and its order by first occurrence."""
    if axis is None:
        values, first, inverse, counts = np.unique(x, True, True, True)
    else:
        values, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
    if not is_sorted:
        order = np.argsort(first)
        values = np.take(values, order, axis or 0)
        first, counts = first[order], counts[order]
        inverse = np.argsort(order)[inverse.reshape(-1)]
    return [values, *(each.reshape(-1).astype(np.int64) for each in (first, inverse, counts))]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_sorted", [0, 1])
def test_unique(way, is_sorted, generator):
    for dtype in (np.float32, np.int64, np.uint8):
        for extent in (0, 1, 2, 37):
            x = numbers(generator, (extent,), dtype)
            compare("Unique", [x], way, unique(x, None, is_sorted), outputs=4, sorted=is_sorted)
    for axis in (0, 1, -1):
        x = generator.integers(0, 2, (11, 2, 3)).astype(np.float32)
        compare("Unique", [x], way, unique(x, axis, is_sorted), outputs=4, sorted=is_sorted, axis=axis)


WORDS = np.array(["", "a", "ab", "b", "b\u00e9", "\u00e9", "\ufffd", "\U0001f600"], object)
"""In the order of code points."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_sorted", [0, 1])
def test_unique_texts(way, is_sorted, generator):
    for axis, shape in ((None, (0,)), (None, (1,)), (None, (40,)), (0, (30, 2)), (1, (2, 30))):
        places = generator.integers(0, len(WORDS), shape)
        values, *others = unique(places, axis, is_sorted)
        options = {} if axis is None else {"axis": axis}
        compare("Unique", [WORDS[places]], way, [WORDS[values], *others], outputs=4, sorted=is_sorted, **options)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_centered", [0, 1])
def test_non_max_suppression(way, is_centered, generator):
    """Corners in any order, ties; limits of run time, constants, and none."""
    for batches, classes, count in ((1, 1, 1), (2, 3, 40), (1, 2, 0), (2, 2, 700)):
        boxes = generator.random((batches, count, 4)).astype(np.float32)
        scores = generator.integers(0, 12, (batches, classes, count)).astype(np.float32) / 12
        for most, overlap, threshold in ((0, 0.5, 0.0), (3, 0.3, 0.4), (100, 0.1, 0.2), (50, 0, 0), (2**40, 1, 1)):
            scalars = [np.array([most]), np.array([overlap], np.float32), np.array([threshold], np.float32)]
            inputs = [boxes, scores, *scalars]
            compare("NonMaxSuppression", inputs, way, center_point_box=is_centered)
            compare("NonMaxSuppression", inputs, way, constants=(2, 3, 4), center_point_box=is_centered)
        compare("NonMaxSuppression", [boxes, scores, np.array([5])], way)
    compare("NonMaxSuppression", [boxes, scores], way, [np.zeros((0, 3), np.int64)])


@pytest.mark.parametrize("way", WAYS)
def test_non_max_suppression_of_special_values(way):
    """A score that is NaN passes no threshold; a box without an area, or with NaN, overlaps nothing."""
    square, half, point = [0, 0, 2, 2], [2, 1, 0, 0], [1, 1, 1, 1]
    boxes = np.array([[square, half, point, square, [0, np.nan, 2, 2], square]], np.float32)
    scores = np.array([[[0.5, 0.5, 0.25, 0.75, 0.25, np.nan], [-0.0, 0.0, np.inf, -np.inf, 1, 1]]], np.float32)
    for overlap, threshold, first, second in (
        (0.4, 0.1, [3, 2, 4], [2, 4, 5]),
        (0.5, 0.1, [3, 1, 2, 4], [2, 4, 5]),
        (1.0, 0.0, [3, 0, 1, 2, 4], [2, 4, 5]),
        (1.0, -1.0, [3, 0, 1, 2, 4], [2, 4, 5, 0, 1]),
        (0.5, 1.0, [], [2]),
        (0.5, np.nan, [], []),
    ):
        limits = [np.array([9]), np.array([overlap], np.float32), np.array([threshold], np.float32)]
        rows = [[0, kind, box] for kind, found in enumerate((first, second)) for box in found]
        compare("NonMaxSuppression", [boxes, scores, *limits], way, [np.array(rows, np.int64).reshape(-1, 3)])


def test_non_max_suppression_refuses_doubles():
    boxes, scores = np.zeros((1, 3, 4)), np.zeros((1, 1, 3))
    with pytest.raises(perpend.CompileError, match="floats of at most 32 bits, got f64"):
        perpend.import_model(model_of("NonMaxSuppression", {"x0": boxes, "x1": scores}, [], 1, 17, {}))


@pytest.mark.parametrize("way", WAYS)
def test_sizes_of_the_model(way, generator):
    """k and depth that are computed at run time."""
    x = generator.permutation(35).reshape(5, 7).astype(np.float32)
    compare("TopK", [x, np.array([4])], way, outputs=2)
    compare("OneHot", [generator.integers(-3, 3, (2, 3)), np.array([3]), np.array([-1, 2], np.float32)], way)


@pytest.mark.parametrize("way", WAYS)
def test_movements(way, generator):
    x = finite(generator, (4, 3, 2), np.float32)
    compare("ReverseSequence", [x, np.array([1, 4, 0])], way, batch_axis=1, time_axis=0)
    compare("ReverseSequence", [x, np.array([1, 3, 0, 2])], way, batch_axis=0, time_axis=1)
    image = generator.permutation(36).reshape(1, 1, 6, 6).astype(np.float32)
    positions = np.array([[[[0, 8], [30, 22]]]])
    compare("MaxUnpool", [image[:, :, :2, :2].copy(), positions], way, kernel_shape=[3, 3], strides=[3, 3])
    compare("Hardmax", [np.array([[1, 3, 3], [2, 2, 0]], np.float32)], way, axis=-1)
    compare("Hardmax", [x], way, opset=11, axis=1)
    for op in ("ArgMax", "ArgMin"):
        compare(op, [np.array([[1, 3, 3], [0, 2, 0]], np.float32)], way, axis=1, select_last_index=1)


@pytest.mark.parametrize("way", WAYS)
def test_expansion_to_an_extent_of_at_most_one(way):
    """The shape of x[0:1] broadcasts with every extent; without an element there is nothing to expand to."""
    helper, number = onnx.helper, onnx.numpy_helper.from_array
    nodes = [
        helper.make_node("Slice", ["x", "zero", "one"], ["part"]),
        helper.make_node("Shape", ["part"], ["shape"]),
        helper.make_node("Expand", ["y", "shape"], ["z"], "expansion"),
    ]
    inputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [f"n_{name}"]) for name in "xy"]
    constants = [number(np.array([value]), name) for value, name in ((0, "zero"), (1, "one"))]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_empty_tensor_value_info("z")], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    run = program(model.SerializeToString(), way)
    for extent in (1, 5):
        y = np.arange(extent, dtype=np.float32)
        result = run(np.ones(3, np.float32), y)
        np.testing.assert_array_equal(result[0] if isinstance(result, list) else result, y)
    with pytest.raises(ValueError, match="a tensor is expanded to an extent of 0"):
        run(np.ones(0, np.float32), np.ones(5, np.float32))
