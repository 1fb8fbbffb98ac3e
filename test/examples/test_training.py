"""The example that trains with a compiled step: its loss falls, its weights are those of PyTorch."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import dataset
import numpy as np
import onnx
import perpend
import pytest
import torch

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/training/train_step.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("train_step", EXAMPLE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_twenty_steps_as_in_torch(example: ModuleType) -> None:
    split, model = dataset.load(), perpend.compile(example.training_step())
    state = example.initial_state()
    weights = {name: torch.tensor(state[name], requires_grad=True) for name in example.WEIGHTS}
    optimiser = torch.optim.SGD(weights.values(), lr=example.RATE, momentum=example.MOMENTUM)
    losses = []
    for step in range(20):
        size = 64 - step  # one artifact for every batch
        images, labels = split.train_images[step * 64 :][:size], split.train_labels[step * 64 :][:size]
        loss, state = example.advance(model, state, images, labels, step)
        hidden = torch.relu(torch.tensor(images).flatten(1) @ weights["w1"] + weights["b1"])
        expected = torch.nn.functional.cross_entropy(hidden @ weights["w2"] + weights["b2"], torch.tensor(labels))
        optimiser.zero_grad()
        expected.backward()
        optimiser.step()
        assert loss == pytest.approx(expected.item(), rel=1e-4)
        losses.append(loss)
    assert losses[-1] < 0.5 * losses[0]
    for name, weight in weights.items():
        np.testing.assert_allclose(state[name], weight.detach().numpy(), 1e-3, 1e-4)


def test_model_is_valid(example: ModuleType) -> None:
    onnx.checker.check_model(example.training_step())


def test_program(example: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert example.main() > 0.93
    losses = [float(loss) for loss in re.findall(r"loss (\S+),", capsys.readouterr().out)]
    assert len(losses) == example.EPOCHS and losses[-1] < 0.2 * losses[0]
