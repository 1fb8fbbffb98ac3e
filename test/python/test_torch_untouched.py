"""perpend.compile leaves a torch module, its example inputs and the rest of the process as they were."""

from __future__ import annotations

import copy
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import perpend
import pytest
import torch
from torch import nn


def state_of(net: nn.Module) -> list[Any]:
    """All that can be seen of it."""
    kept: list[Any] = []
    for name, part in net.named_modules():
        attributes = {
            key: copy.copy(value) if isinstance(value, (dict, list, set)) else value
            for key, value in vars(part).items()
        }
        kept.append((name, id(part), attributes))
    for name, tensor in [*net.named_parameters(), *net.named_buffers()]:
        kept.append((name, id(tensor), tensor._version, tensor.requires_grad, tensor.dtype, sorted(vars(tensor))))
    return kept


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a is b or (isinstance(a, (str, int, float, set, torch.dtype)) and bool(a == b))


class Writer(nn.Module):  # type: ignore[misc]
    """Its forward writes down what comes along, as hooks for debugging do, and eval() does more than it should."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("scale", torch.ones(1))
        self.calls = 0
        self.shapes: list[Any] = []
        self.by_name: dict[str, Any] = {}

    def train(self, mode: bool = True) -> Writer:
        with torch.no_grad():
            self.linear.weight.add_(0 if mode else 1)  # as adapters that are merged into weights
        super().train(mode)
        return self

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        self.shapes.append(x.shape)
        self.by_name[f"call {self.calls}"] = len(self.shapes)
        return self.linear(x) * self.scale * (1 + 0 * random.random())


def frozen_normalisation() -> nn.Module:
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(0.5))
    net.train()
    net[1].eval()
    net[0].weight.requires_grad_(False)
    net[2].register_forward_hook(lambda module, inputs, output: output * 1)
    return net


CASES: dict[str, tuple[Any, Any]] = {
    "frozen normalisation": (frozen_normalisation, (torch.randn(2, 3, 5, 5),)),
    "what forward writes": (lambda: Writer().train(), (torch.randn(2, 4),)),
    "in half precision": (lambda: nn.Linear(4, 4).to(torch.bfloat16), (torch.randn(2, 4, dtype=torch.bfloat16),)),
    "recurrent": (lambda: nn.LSTM(4, 3), (torch.randn(5, 2, 4),)),
}


@pytest.mark.filterwarnings("ignore:perpend. the module is in training mode")
@pytest.mark.parametrize(("make", "inputs"), CASES.values(), ids=CASES.keys())
def test_a_module_stays_as_it_is(make: Any, inputs: Any) -> None:
    net = make()
    before, marks = state_of(net), [sorted(vars(tensor)) for tensor in inputs]
    numbers = torch.get_rng_state(), random.getstate(), np.random.get_state(legacy=False)
    for _ in range(2):
        perpend.compile(net, example_inputs=inputs, dynamic_shapes=None)
        assert same(state_of(net), before)
    assert [sorted(vars(tensor)) for tensor in inputs] == marks
    assert torch.equal(torch.get_rng_state(), numbers[0]) and random.getstate() == numbers[1]
    assert str(np.random.get_state(legacy=False)) == str(numbers[2])
    assert torch.is_grad_enabled() and torch.get_default_dtype() is torch.float32


def test_a_failed_try_leaves_no_marks() -> None:
    """torch.export marks the dimensions of example inputs, and leaves the marks where it fails."""
    net, x = nn.Linear(8, 4), torch.randn(3, 8)
    before, marks = state_of(net), dict(vars(x))
    with pytest.raises(perpend.CompileError):
        perpend.compile(net, example_inputs=(x,), dynamic_shapes=({1: torch.export.Dim.DYNAMIC},))
    assert same(state_of(net), before) and net.training and vars(x) == marks
    model = perpend.compile(net, example_inputs=(x,))
    torch.testing.assert_close(model(x), net(x).detach())


def test_marks_of_the_user_stay() -> None:
    x = torch.randn(3, 8)
    torch._dynamo.mark_dynamic(x, 0)
    marks = {name: copy.copy(value) for name, value in vars(x).items()}
    perpend.compile(nn.Tanh(), example_inputs=(x,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    assert vars(x) == marks


def test_several_threads_compile_at_once() -> None:
    """Also the same module, and beside torch.compile: PyTorch traces one program at a time. (Modules that run in eager
    mode meanwhile would get into its traces.)"""
    torch.manual_seed(0)
    x = torch.randn(3, 8)
    nets = [nn.Sequential(nn.Linear(8, 4 + i // 2), nn.Dropout(0.5)).eval() for i in range(4)]
    nets.append(nets[0])

    def compiled(number: int) -> Any:
        if number < 5:
            return perpend.compile(nets[number], example_inputs=(x,))(x)
        with torch.no_grad():
            return torch.compile(torch.tanh, backend="perpend")(x + number)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(compiled, range(8)))
    for number, result in enumerate(results):
        torch.testing.assert_close(result, nets[number](x).detach() if number < 5 else (x + number).tanh())
    assert not any(net.training for net in nets)
