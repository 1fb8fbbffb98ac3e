"""Operators of the domain com.microsoft against ONNX Runtime, compiled and interpreted, also with symbolic extents."""

import math

import numpy as np
import onnx
import onnxruntime
import perpend
import pytest
from microsoft_cases import CASES, Case
from test_operators import run


def build(case, dynamic):
    helper = onnx.helper
    names, inputs, constants, feeds = [], [], [], {}
    for position, array in enumerate(case.inputs):
        name = "" if array is None else f"input{position}"
        names.append(name)
        if array is None:
            continue
        if position in case.constants:
            constants.append(onnx.numpy_helper.from_array(array, name))
            continue
        shape = [
            case.symbols.get((position, axis), extent) if dynamic else extent for axis, extent in enumerate(array.shape)
        ]
        inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape))
        feeds[name] = array
    outputs = [helper.make_empty_tensor_value_info(f"output{index}") for index in range(case.outputs)]
    produced = [output.name for output in outputs]
    if case.op.startswith("Skip") and case.outputs == 4:
        outputs = [outputs[0], outputs[3]]
        produced = ["output0", "", "", "output3"]
    node = helper.make_node(case.op, names, produced, "node", domain=case.domain, **case.attributes)
    graph = helper.make_graph([node], "operator", inputs, outputs, constants)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8), feeds


def expected_of(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def compare(case, results, expected):
    assert len(results) == len(expected)
    for got, wanted in list(zip(results, expected, strict=True))[: case.compared]:
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        is_half = wanted.dtype == np.float16
        tolerance = 0 if case.slack or wanted.dtype.kind in "iu" else 4e-3 if is_half else 2e-5
        got, wanted = got.astype(np.float64), wanted.astype(np.float64)
        np.testing.assert_allclose(got, wanted, tolerance, case.slack or tolerance)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_operator(case, tmp_path):
    model, feeds = build(case, dynamic=False)
    expected = expected_of(model, feeds)
    compare(case, run(model, feeds, tmp_path), expected)
    compiled = perpend.compile(model)(**feeds)
    compare(case, compiled if isinstance(compiled, tuple) else (compiled,), expected)


@pytest.mark.parametrize("case", [case for case in CASES if case.symbols], ids=str)
def test_symbolic_operator(case):
    model, feeds = build(case, dynamic=True)
    expected = expected_of(model, feeds)
    compiled = perpend.compile(model)(**feeds)
    compare(case, compiled if isinstance(compiled, tuple) else (compiled,), expected)


@pytest.mark.parametrize("packs_query", [False, True])
def test_packed_heads(packs_query):
    """ONNX Runtime packs query, key and value for other processors only; they are the same tensors side by side."""
    generator = np.random.default_rng(1)
    query, key, value = (generator.standard_normal((2, 3, 5, 4)).astype(np.float32) for _ in range(3))
    inputs = [np.stack([query, key, value], 3)] if packs_query else [query.reshape(2, 3, 20), np.stack([key, value], 3)]
    apart = [array.reshape(2, 3, 20) for array in (query, key, value)]
    models = [build(Case("MultiHeadAttention", arrays, 1, {"num_heads": 5}), False) for arrays in (inputs, apart)]
    packed, wanted = (perpend.compile(model)(**feeds) for model, feeds in models)
    np.testing.assert_allclose(packed, wanted, 1e-6, 1e-6)


def model_of(op, inputs, **attributes):
    return build(Case(op, inputs, 1, attributes), False)


def test_operators_without_a_kernel():
    """Operators that ONNX Runtime has for other processors only, against their formulas."""
    generator = np.random.default_rng(2)
    x, bias, skip = (generator.standard_normal(shape).astype(np.float32) for shape in [(2, 3, 10), (10,), (2, 3, 10)])
    model, feeds = model_of("BiasAdd", [x, bias, skip])
    np.testing.assert_allclose(perpend.compile(model)(**feeds), x + bias + skip, 1e-6)
    model, feeds = model_of("BiasSplitGelu", [x, bias])
    left, right = np.split(x + bias, 2, -1)
    error = np.vectorize(math.erf)(right / math.sqrt(2))
    np.testing.assert_allclose(perpend.compile(model)(**feeds), left * right / 2 * (1 + error), 1e-5, 1e-6)
    image = generator.standard_normal((2, 5, 3, 6)).astype(np.float32)
    gamma, beta = (generator.standard_normal(6).astype(np.float32) for _ in range(2))
    model, feeds = model_of("GroupNorm", [image, gamma, beta], groups=3, activation=1, epsilon=1e-4)
    groups = image.reshape(2, 15, 3, 2)
    centred = groups - groups.mean((1, 3), keepdims=True)
    normal = (centred / np.sqrt((centred**2).mean((1, 3), keepdims=True) + 1e-4)).reshape(image.shape) * gamma + beta
    np.testing.assert_allclose(perpend.compile(model)(**feeds), normal / (1 + np.exp(-normal)), 1e-4, 1e-5)


@pytest.mark.parametrize(
    ("op", "inputs", "attributes", "message"),
    [
        (
            "MatMulNBits",
            [[3, 32], [5, 2, 8], [5, 2], None, [32]],
            {"N": 5, "K": 32, "bits": 4, "block_size": 16},
            "g_idx",
        ),
        ("MatMulNBits", [[3, 32], [5, 2, 8], [5, 2]], {"N": 5, "K": 32, "bits": 3, "block_size": 16}, "2, 4 or 8 bits"),
        ("Attention", [[2, 3, 7], [7, 12]], {"num_heads": 2, "do_rotary": 1}, "do_rotary"),
        ("MultiHeadAttention", [[2, 3, 12], [2, 3, 12], [2, 3, 12]], {"num_heads": 5}, "5 heads"),
        ("CDist", [[2, 3], [4, 3]], {"metric": "cosine"}, "cosine"),
    ],
)
def test_refusals(op, inputs, attributes, message):
    arrays = [None if shape is None else np.zeros(shape, np.float32) for shape in inputs]
    if op == "MatMulNBits":
        arrays[1] = arrays[1].astype(np.uint8)
    model, _ = model_of(op, arrays, **attributes)
    with pytest.raises(perpend.CompileError, match=message):
        perpend.compile(model)
