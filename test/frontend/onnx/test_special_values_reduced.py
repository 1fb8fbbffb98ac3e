"""Reductions, running sums and scatters of infinities, NaN, nothing and truth values: interpreted and compiled results
against numpy, whose formulas ONNX's reference implementation has, too."""

import numpy as np
import onnx
import perpend
import pytest
from onnx import helper, numpy_helper

INF, NAN = np.inf, np.nan
ROWS = np.array(
    [
        [1.0, -2.0, 3.5, 0.25],
        [1.0, NAN, 3.0, 2.0],
        [INF, 1.0, -INF, 2.0],
        [-INF] * 4,
        [INF] * 4,
        [NAN] * 4,
        [-INF, -INF, 0.0, 1.0],
        [-200.0, -100.0, 0.0, 90.0],
        [1.0, 2.0, INF, 4.0],
    ]
)
WHOLE = np.array([[1, -2, 3, 100], [127, 127, -128, 0], [5] * 4, [1, 7, 7, 0]])
TRUTHS = np.array([[True, False, True, True], [False] * 4, [True] * 4])
FLOATS, INTEGERS = ("float32", "float64", "float16"), ("int32", "int64", "uint32", "uint64")


def log_sum_exp(x, axis):
    shift = np.max(x, axis, keepdims=True, initial=-INF)
    shift = np.where(np.isfinite(shift), shift, 0)
    return np.log(np.sum(np.exp(x - shift), axis)) + np.squeeze(shift, axis)


FORMULAS = {
    "ReduceSum": np.sum,
    "ReduceProd": np.prod,
    "ReduceMean": np.mean,
    "ReduceMax": lambda x, axis: np.max(x, axis, initial=-INF),
    "ReduceMin": lambda x, axis: np.min(x, axis, initial=INF),
    "ReduceL1": lambda x, axis: np.sum(np.abs(x), axis),
    "ReduceL2": lambda x, axis: np.sqrt(np.sum(x * x, axis)),
    "ReduceSumSquare": lambda x, axis: np.sum(x * x, axis),
    "ReduceLogSum": lambda x, axis: np.log(np.sum(x, axis)),
    "ReduceLogSumExp": log_sum_exp,
}


def results_of(op, inputs, constants=None, opset=18, outputs=1, **attributes):
    """What the interpreter and the compiled model make of one node."""
    constants = constants or {}
    node = helper.make_node(op, [*inputs, *constants], [f"r{i}" for i in range(outputs)], **attributes)
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in inputs.items()
    ]
    made = [helper.make_empty_tensor_value_info(f"r{i}") for i in range(outputs)]
    graph = helper.make_graph([node], "g", infos, made, [numpy_helper.from_array(x, n) for n, x in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    module = perpend.import_model(onnx.shape_inference.infer_shapes(model))
    for results in (module.evaluate(*inputs.values()), perpend.compile(module, opt_level=1)(*inputs.values())):
        yield results if isinstance(results, (tuple, list)) else [results]


def agree(results, expected, tolerance=0.0):
    for got, wanted in zip(results, expected, strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", FORMULAS)
def test_reductions_of_floats(op, dtype):
    tolerance = {"float32": 1e-5, "float64": 1e-12, "float16": 2e-3}[dtype]
    with np.errstate(all="ignore"):
        for x, axis in ((ROWS, 1), (ROWS[:2], 0), (ROWS[:0], 1)):
            expected = FORMULAS[op](x.astype(dtype).astype(np.float64), axis).astype(dtype)
            axes = {"axes": np.array([axis])}
            for results in results_of(op, {"x": x.astype(dtype)}, axes, keepdims=0):
                agree(results, [expected], tolerance)


@pytest.mark.parametrize("op", FORMULAS)
def test_reductions_of_nothing(op):
    nothing = np.zeros((0, 3), np.float32)
    with np.errstate(all="ignore"):
        expected = np.full(3, NAN) if op == "ReduceMean" else FORMULAS[op](nothing, 0)
    for results in results_of(op, {"x": nothing}, {"axes": np.array([0])}, keepdims=0):
        agree(results, [expected.astype(np.float32)])


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", ["ReduceL2", "ReduceLogSum", "ReduceLogSumExp"])
def test_functions_of_integers(op, dtype):
    """Computed in floats; the result is cut off to an integer."""
    x = np.abs(WHOLE).astype(dtype)
    expected = FORMULAS[op](x.astype(np.float64), 1)
    for results in results_of(op, {"x": x}, {"axes": np.array([1])}, keepdims=0):
        agree(results, [expected.astype(dtype)])


def test_sums_of_truth_values():
    """True where one is, as in numpy."""
    for op in ("ReduceSum", "ReduceProd"):
        for axis, x in ((1, TRUTHS), (0, TRUTHS), (1, TRUTHS[:, :0]), (0, TRUTHS[:0])):
            expected = x.any(axis) if op == "ReduceSum" else x.all(axis)
            for results in results_of(op, {"x": x}, {"axes": np.array([axis])}, keepdims=0):
                agree(results, [expected])
    for results in results_of("CumSum", {"x": TRUTHS}, {"axis": np.array(1)}):
        agree(results, [np.logical_or.accumulate(TRUTHS, 1)])
    for results in results_of("Sum", {"x": TRUTHS, "y": TRUTHS[::-1].copy()}):
        agree(results, [TRUTHS | TRUTHS[::-1]])


@pytest.mark.parametrize(
    ("reduction", "function"), [("add", np.logical_or), ("mul", np.logical_and), ("max", np.logical_or)]
)
def test_scatters_of_truth_values(reduction, function):
    places, updates = np.array([[0], [2], [0], [1]]), TRUTHS[[0, 1, 1, 2]]
    expected = TRUTHS.copy()
    for (place,), update in zip(places, updates, strict=True):
        expected[place] = function(expected[place], update)
    inputs = {"x": TRUTHS, "places": places, "updates": updates}
    for results in results_of("ScatterND", inputs, reduction=reduction):
        agree(results, [expected])
    spread = {"x": TRUTHS, "places": np.repeat(places, 4, 1), "updates": updates}
    for results in results_of("ScatterElements", spread, axis=0, reduction=reduction):
        agree(results, [expected])


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
def test_positions_of_extremes(op):
    """A NaN is the extreme, the first one of several."""
    function = np.argmax if op == "ArgMax" else np.argmin
    for results in results_of(op, {"x": ROWS.astype(np.float32)}, axis=1, keepdims=0):
        agree(results, [function(ROWS, 1)])


def test_distinct_elements():
    """All NaN are one element, the last in order."""
    expected = np.unique(ROWS.astype(np.float32), return_index=True, return_inverse=True, return_counts=True)
    for results in results_of("Unique", {"x": ROWS.astype(np.float32)}, outputs=4):
        agree(results, [expected[0], expected[1], expected[2].reshape(-1), expected[3]])


@pytest.mark.parametrize("ignored", [None, 2])
@pytest.mark.parametrize("reduction", ["none", "sum"])
def test_losses_of_infinities(reduction, ignored):
    """A weight of 0 does not hide an infinite score; a target that is ignored does."""
    scores = np.array([[-INF, 1.0, 2.0], [NAN, 0.5, -1.0], [3.0, 2.0, -INF], [0.5, INF, NAN]], np.float32)
    weights, target = np.array([0.0, 2.0, 0.5], np.float32), np.array([0, 1, 2, 2])
    options = {} if ignored is None else {"ignore_index": ignored}
    with np.errstate(invalid="ignore"):
        losses = -scores[np.arange(4), target] * weights[target]
    losses = losses if ignored is None else np.where(target == ignored, 0, losses)
    expected = (losses if reduction == "none" else losses.sum()).astype(np.float32)
    inputs = {"x": scores, "target": target, "weight": weights}
    for results in results_of("NegativeLogLikelihoodLoss", inputs, reduction=reduction, **options):
        agree(results, [expected])


def test_statistics_that_f32_does_not_hold():
    """Of x in f32 beside a mean and a variance in f64."""
    x = np.array([[1e30, -2.0], [0.0, 5.0]], np.float32)
    scale, shift = np.array([1e25, 2.0], np.float32), np.array([0.5, -1.0], np.float32)
    mean, spread = np.array([1e60, 0.25]), np.array([1e150, 4.0])
    expected = ((x - mean) / np.sqrt(spread + 1e-5) * scale + shift).astype(np.float32)
    inputs = {"x": x, "scale": scale, "shift": shift, "mean": mean, "spread": spread}
    for results in results_of("BatchNormalization", inputs, epsilon=1e-5):
        agree(results, [expected], 1e-6)


@pytest.mark.parametrize("op", ["ScatterND", "ScatterElements"])
def test_texts_are_scattered_without_a_reduction(op):
    places = np.array([[1], [1]]) if op == "ScatterND" else np.array([1, 1])
    inputs = {"x": np.array(["a", "b"], object), "places": places, "updates": np.array(["c", "d"], object)}
    with pytest.raises(perpend.CompileError, match="hint: texts are scattered without a reduction"):
        list(results_of(op, inputs, reduction="add"))
