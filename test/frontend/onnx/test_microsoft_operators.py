"""Operators of the domain com.microsoft against ONNX Runtime, compiled and interpreted, also with symbolic extents."""

import numpy as np
import pytest
from microsoft_cases import CASES
from test_operators import PROGRAM, run

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
perpend = pytest.importorskip("perpend")


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
        shape = [case.symbols.get((position, axis), extent) if dynamic else extent for axis, extent in enumerate(array.shape)]
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


def compare(results, expected, slack):
    for got, wanted in zip(results, expected, strict=True):
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        got, wanted = got.astype(np.float64), wanted.astype(np.float64)
        if wanted.dtype.kind == "f" and slack == 0:
            tolerance = 4e-3 if results[0].dtype == np.float16 else 2e-5
            np.testing.assert_allclose(got, wanted, tolerance, tolerance)
        else:
            np.testing.assert_allclose(got, wanted, 0, slack)


@pytest.mark.skipif(not PROGRAM.exists(), reason="onnx-run-model is not built")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_operator(case, tmp_path):
    model, feeds = build(case, dynamic=False)
    expected = expected_of(model, feeds)
    compare(run(model, feeds, tmp_path), expected, case.slack)
    compiled = perpend.compile(model)(**feeds)
    compare(compiled if isinstance(compiled, tuple) else (compiled,), expected, case.slack)


@pytest.mark.parametrize("case", [case for case in CASES if case.symbols], ids=str)
def test_symbolic_operator(case):
    model, feeds = build(case, dynamic=True)
    expected = expected_of(model, feeds)
    compiled = perpend.compile(model)(**feeds)
    compare(compiled if isinstance(compiled, tuple) else (compiled,), expected, case.slack)
