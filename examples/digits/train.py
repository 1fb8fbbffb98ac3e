"""Trains the example model and writes it to a file (about 20 s on one CPU core).

The graph is written with onnx.helper, node by node, so that BatchNormalization stays visible for the compiler to fold.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from dataset import Split, load
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import nn

CHANNELS = [1, 16, 32, 64]  # of the image and after each block
POOLED = [False, True, True]  # whether a block ends by halving the image
EPOCHS = 40


def block(inputs: int, outputs: int, pooled: bool) -> list[nn.Module]:
    layers = [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return [*layers, nn.MaxPool2d(2)] if pooled else layers


def network() -> nn.Sequential:
    layers = [layer for i, pooled in enumerate(POOLED) for layer in block(CHANNELS[i], CHANNELS[i + 1], pooled)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(CHANNELS[-1] * 4, 10))


def shifted(images: torch.Tensor) -> torch.Tensor:
    """The images moved by at most one pixel in each direction, all of a batch alike."""
    dy, dx = (int(step) for step in torch.randint(-1, 2, (2,)))
    padded = nn.functional.pad(images, (1, 1, 1, 1))
    return padded[:, :, 1 + dy : 9 + dy, 1 + dx : 9 + dx]


def train(model: nn.Sequential, split: Split) -> None:
    images, labels = torch.from_numpy(split.train_images), torch.from_numpy(split.train_labels)
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    steps = EPOCHS * (len(images) // 64 + 1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=1e-2, total_steps=steps)
    for epoch in range(EPOCHS):
        for batch in torch.randperm(len(images)).split(64):
            loss = nn.functional.cross_entropy(model(shifted(images[batch])), labels[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        print(f"\repoch {epoch + 1}/{EPOCHS}, loss {loss.item():.4f} ", end="", flush=True)
    print()
    model.eval()


class GraphWriter:
    """Appends nodes to a chain: each takes the value of the one before, and weights as initializers."""

    def __init__(self, value: str) -> None:
        self.value = value
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def add(
        self, operator: str, result: str, weights: dict[str, torch.Tensor] | None = None, **attributes: object
    ) -> None:
        names = {f"{result}.{name}": tensor for name, tensor in (weights or {}).items()}
        self.weights += [numpy_helper.from_array(tensor.detach().numpy(), name) for name, tensor in names.items()]
        self.nodes.append(helper.make_node(operator, [self.value, *names], [result], name=result, **attributes))
        self.value = result

    def add_layer(self, layer: nn.Module, result: str) -> None:
        if isinstance(layer, nn.Conv2d):
            self.add("Conv", result, {"weight": layer.weight}, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        elif isinstance(layer, nn.BatchNorm2d):
            statistics = {"mean": layer.running_mean, "variance": layer.running_var}
            self.add(
                "BatchNormalization",
                result,
                {"scale": layer.weight, "bias": layer.bias, **statistics},
                epsilon=layer.eps,
            )
        elif isinstance(layer, nn.MaxPool2d):
            self.add("MaxPool", result, kernel_shape=[2, 2], strides=[2, 2])
        elif isinstance(layer, nn.Linear):
            self.add("Gemm", result, {"weight": layer.weight, "bias": layer.bias}, transB=1)
        else:
            self.add({nn.ReLU: "Relu", nn.Flatten: "Flatten"}[type(layer)], result)


def export(model: nn.Sequential) -> onnx.ModelProto:
    writer = GraphWriter("image")
    for i, layer in enumerate(model):
        writer.add_layer(layer, f"{type(layer).__name__.lower()}_{i}")
    writer.add("Softmax", "probabilities", axis=-1)
    graph = helper.make_graph(
        writer.nodes,
        "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", 10])],
        writer.weights,
    )
    result = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="perpend example")
    result.ir_version = 8
    onnx.checker.check_model(result, full_check=True)
    return result


def accuracy(model: Path, images: NDArray[np.float32], labels: NDArray[np.int64]) -> float:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    probabilities = session.run(None, {"image": images})[0]
    return float((probabilities.argmax(axis=1) == labels).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="the file to write, such as digits.onnx")
    target = parser.parse_args().output
    torch.manual_seed(0)
    torch.set_num_threads(1)
    split = load()
    model = network()
    train(model, split)
    onnx.save(export(model), target)
    print(f"{target}: {target.stat().st_size} bytes")
    print(f"accuracy on the held-back images: {accuracy(target, split.holdout_images, split.holdout_labels):.2%}")


if __name__ == "__main__":
    main()
