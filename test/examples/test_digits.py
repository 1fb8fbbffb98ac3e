"""The committed example model is valid, small, dynamic in its batch, and accurate on the held-back images."""

from pathlib import Path

import dataset
import onnx
import onnxruntime
import train

MODEL = Path(dataset.__file__).with_name("digits.onnx")


def test_model_file() -> None:
    model = onnx.load(MODEL)
    onnx.checker.check_model(model, full_check=True)
    assert MODEL.stat().st_size <= 300_000
    assert model.opset_import[0].version >= 17
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "n"
    assert sum(node.op_type == "BatchNormalization" for node in model.graph.node) == 3


def test_accuracy_on_held_back_images() -> None:
    split = dataset.load()
    session = onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"])
    probabilities = session.run(None, {"image": split.holdout_images})[0]
    assert len(split.holdout_labels) == 360
    assert (probabilities.argmax(axis=1) == split.holdout_labels).mean() >= 0.98


def test_training_script_exports_this_structure() -> None:
    operators = [node.op_type for node in train.export(train.network().eval()).graph.node]
    assert operators == [node.op_type for node in onnx.load(MODEL).graph.node]
