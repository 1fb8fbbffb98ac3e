"""Every operator of the importer against ONNX Runtime, with fixed and with symbolic dimensions.

The imported module is run by the reference interpreter, so this tests what operators mean.
"""

import numpy as np
import onnx
import onnxruntime
import perpend
import pytest
from image_cases import CASES

# Inputs whose extents are numbers in any real model.
FIXED = {("Conv", 1), ("Conv", 2), ("ConvTranspose", 1), ("ConvTranspose", 2), ("GatherND", 1)}
FIXED |= {("Resize", 1), ("Resize", 2), ("Resize", 3)}
# Channels and blocks that must divide; output_shape needs a padding that is a number.
FIXED_ONLY = {"DepthToSpace", "SpaceToDepth", "GroupNormalization", "BatchNormalization", "OneHot"}
# ONNX Runtime rejects an even size.
NO_ORACLE = {("LRN", 4)}


def build(case, dynamic):
    helper = onnx.helper
    names, inputs, constants, feeds = [], [], [], {}
    for position, array in enumerate(case.inputs):
        if array is None:
            names.append("")
            continue
        name, array = f"input{position}", np.asarray(array)
        names.append(name)
        if position in case.constants:
            constants.append(onnx.numpy_helper.from_array(array, name))
            continue
        symbolic = dynamic and (case.op, position) not in FIXED
        shape = [f"d{extent}" if symbolic and extent > 1 else extent for extent in array.shape]
        inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape))
        feeds[name] = array
    outputs = [helper.make_empty_tensor_value_info(f"output{index}") for index in range(case.outputs)]
    node = helper.make_node(case.op, names, [output.name for output in outputs], "node", **case.attributes)
    graph = helper.make_graph([node], "operator", inputs, outputs, constants)
    sets = [helper.make_opsetid("", case.opset)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8 if case.opset < 20 else 10), feeds


def run(model, feeds):
    return perpend.import_model(model).evaluate(*feeds.values())


@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "symbolic"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_operator(case, dynamic):
    if dynamic and (case.op in FIXED_ONLY or "output_shape" in case.attributes):
        pytest.skip("its extents are numbers")
    model, feeds = build(case, dynamic)
    results = run(model, feeds)
    if (case.op, case.attributes.get("size")) in NO_ORACLE:
        return
    inferred = onnx.shape_inference.infer_shapes(model)
    session = onnxruntime.InferenceSession(inferred.SerializeToString(), providers=["CPUExecutionProvider"])
    for got, expected in zip(results, session.run(None, feeds), strict=True):
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        tolerance = 2e-3 if expected.dtype == np.float16 else 2e-5
        np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), tolerance, tolerance)


def test_slopes_of_channels_before_operator_set_7():
    # As long as the last dimension too: ONNX Runtime, which starts at 7, would take them for that.
    x, slope = np.float32([[[-1, 2], [-3, -4]]]), np.float32([10, 100])
    shapes = [
        onnx.helper.make_tensor_value_info("x", 1, ["n", "c", "w"]),
        onnx.helper.make_tensor_value_info("s", 1, ["k"]),
    ]
    node = onnx.helper.make_node("PRelu", ["x", "s"], ["y"])
    graph = onnx.helper.make_graph([node], "operator", shapes, [onnx.helper.make_empty_tensor_value_info("y")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 6)], ir_version=3)
    (y,) = run(model, {"x": x, "s": slope})
    np.testing.assert_array_equal(y, [[[-10, 2], [-300, -400]]])
