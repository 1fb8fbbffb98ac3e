"""Trains a network on the digits with a compiled model that does one step of training: the loss, its gradients
(ONNX's Gradient) and the new weights (ONNX's Momentum). The weights are arrays that the loop hands from step to step.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
import perpend
from numpy.typing import NDArray
from onnx import TensorProto, helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "digits"))

from dataset import load

TRAINING = "ai.onnx.preview.training"
WEIGHTS = {"w1": [64, 32], "b1": [32], "w2": [32, 10], "b2": [10]}
BATCH, EPOCHS, RATE, MOMENTUM = 64, 10, 0.1, 0.9

Arrays = dict[str, NDArray[np.float32]]


def forward() -> list[onnx.NodeProto]:
    return [
        helper.make_node("Flatten", ["images"], ["pixels"]),
        helper.make_node("Gemm", ["pixels", "w1", "b1"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], ["active"]),
        helper.make_node("Gemm", ["active", "w2", "b2"], ["scores"]),
    ]


def training_step() -> onnx.ModelProto:
    """Images, labels, rate, number of the step, weights and momenta to the loss and the new weights and momenta."""
    weights = list(WEIGHTS)
    gradients, momenta = [f"d_{name}" for name in weights], [f"v_{name}" for name in weights]
    new = [f"new_{name}" for name in [*weights, *momenta]]
    inputs = ["rate", "step", *weights, *gradients, *momenta]
    settings = {"alpha": MOMENTUM, "beta": 1.0, "norm_coefficient": 0.0, "mode": "standard"}
    nodes = [
        *forward(),
        helper.make_node("SoftmaxCrossEntropyLoss", ["scores", "labels"], ["loss"], reduction="mean"),
        helper.make_node("Gradient", weights, gradients, domain=TRAINING, xs=weights, y="loss"),
        helper.make_node("Momentum", inputs, new, domain=TRAINING, **settings),
    ]
    arguments = [
        helper.make_tensor_value_info("images", TensorProto.FLOAT, ["n", 1, 8, 8]),
        helper.make_tensor_value_info("labels", TensorProto.INT64, ["n"]),
        helper.make_tensor_value_info("rate", TensorProto.FLOAT, []),
        helper.make_tensor_value_info("step", TensorProto.INT64, []),
    ]
    results = [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])]
    for prefix in ("", "v_"):
        for name, shape in WEIGHTS.items():
            arguments.append(helper.make_tensor_value_info(prefix + name, TensorProto.FLOAT, shape))
            results.append(helper.make_tensor_value_info("new_" + prefix + name, TensorProto.FLOAT, shape))
    graph = helper.make_graph(nodes, "training_step", arguments, results)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid(TRAINING, 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def initial_state() -> Arrays:
    """Weights and momenta by the names of the model's inputs."""
    generator = np.random.default_rng(0)
    state: Arrays = {}
    for name, shape in WEIGHTS.items():
        limit = np.sqrt(6 / sum(shape)) if len(shape) == 2 else 0
        state[name] = generator.uniform(-limit, limit, shape).astype(np.float32)
        state["v_" + name] = np.zeros(shape, np.float32)
    return state


def advance(
    model: perpend.Model, state: Arrays, images: NDArray[np.float32], labels: NDArray[np.int64], step: int
) -> tuple[float, Arrays]:
    """The loss before the step, and the state after it."""
    scalars = {"rate": np.array(RATE, np.float32), "step": np.array(step)}
    loss, *new = model(images=images, labels=labels, **scalars, **state)
    names = [*WEIGHTS, *("v_" + name for name in WEIGHTS)]
    return float(loss), dict(zip(names, new, strict=True))


def accuracy(state: Arrays, images: NDArray[np.float32], labels: NDArray[np.int64]) -> float:
    hidden = np.maximum(images.reshape(len(images), -1) @ state["w1"] + state["b1"], 0)
    return float(((hidden @ state["w2"] + state["b2"]).argmax(axis=1) == labels).mean())


def main() -> float:
    split = load()
    model = perpend.compile(training_step())
    state, step, generator = initial_state(), 0, np.random.default_rng(1)
    for epoch in range(EPOCHS):
        losses = []
        for batch in np.array_split(generator.permutation(len(split.train_labels)), len(split.train_labels) // BATCH):
            loss, state = advance(model, state, split.train_images[batch], split.train_labels[batch], step)
            losses.append(loss)
            step += 1
        right = accuracy(state, split.holdout_images, split.holdout_labels)
        print(f"epoch {epoch + 1:2}: loss {np.mean(losses):.4f}, {right:.1%} of the held-back images right")
    return right


if __name__ == "__main__":
    main()
