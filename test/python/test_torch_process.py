"""What compiled PyTorch models take of the process that they run in: memory for weights, and threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import perpend
import pytest
import torch
from perpend.torch import backend
from torch import nn

pytestmark = pytest.mark.usefixtures("fresh_caches")


def run(program: str, **environment: str) -> None:
    """In a process of its own: what counts is all that it ever had."""
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr


MEMORY = """
import torch

WIDTH = 1024
nets = [torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH) for _ in range(16))).eval() for _ in range(2)]
weights = sum(p.nbytes for p in nets[0].parameters())

def memory(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name)) / weights

def call(net):
    fast = torch.compile(net, backend="perpend")
    for rows in (33, 1, 57, 2):
        x = torch.randn(rows, WIDTH)
        torch.testing.assert_close(fast(x), net(x), rtol=1e-3, atol=1e-3)

with torch.no_grad():
    torch.compile(torch.tanh, backend="perpend")(nets[1](torch.randn(57, WIDTH)))
    before = memory("VmHWM")
    call(nets[0])
    more = memory("VmHWM") - before
    assert more < 3, f"three graphs: {more:.1f} times the weights"
    kept = memory("VmRSS")
    torch._dynamo.reset()
    nets.pop(0)
    import gc
    gc.collect()
    call(nets[0])
    more = memory("VmRSS") - kept
    assert more < 0.5, f"another network in the place of the first: {more:.1f} times the weights more"
"""


def test_graphs_of_one_module_share_its_weights() -> None:
    run(MEMORY)


class SeveralForms(nn.Module):  # type: ignore[misc]
    """One weight as it is, turned, with another shape, and computed with."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(256, 64))
        self.bias = nn.Parameter(torch.randn(16384))

    def forward(self, x: torch.Tensor) -> Any:
        rows = nn.functional.embedding(x, self.weight)
        products = rows @ self.weight.t() + nn.functional.linear(rows, self.weight)
        return rows, products, rows.flatten(1).sum() * self.weight.reshape(128, 128) + self.bias.reshape(128, 1, 128)


def test_artifacts_do_not_read_the_memory_of_parameters() -> None:
    """Their owner may change it behind PyTorch's back, or free it: until that is seen, all results are the old ones."""
    net, x = SeveralForms().eval(), torch.arange(5)
    compiled = torch.compile(net, backend="perpend")
    with torch.no_grad():
        before = compiled(x)
        torch.testing.assert_close(before, net(x), rtol=1e-4, atol=1e-4)
        net.weight.data[3, 50] += 5
        net.bias.data[50] += 5
        assert all(map(torch.equal, compiled(x), before))
        net.weight.add_(1)
        torch.testing.assert_close(compiled(x), net(x), rtol=1e-4, atol=1e-4)


def test_the_same_weights_in_other_networks(compilations: list[str]) -> None:
    nets = [SeveralForms().eval() for _ in range(3)]
    for net in nets[1:]:
        net.load_state_dict(nets[0].state_dict())
    nets[2].bias = nn.Parameter(torch.zeros(16384))
    x = torch.arange(4)
    with torch.no_grad():
        while nets:
            net = nets.pop()
            torch.testing.assert_close(torch.compile(net, backend="perpend")(x), net(x), rtol=1e-4, atol=1e-4)
            torch._dynamo.reset()
    assert len(compilations) == 3


THREADS = """
import os, torch

def threads():
    return len(os.listdir("/proc/self/task"))

net = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 512)).eval()
x = torch.randn(256, 512)
MAKE
before = threads()
with torch.no_grad():
    assert torch.get_num_threads() == 1
    for _ in range(3):
        torch.testing.assert_close(fast(x), expected)
    assert threads() == before, "one thread"
    torch.set_num_threads(2)
    more = threads()  # PyTorch has made its own
    for _ in range(30):
        fast(x)
    assert threads() > more, "two threads"
"""
COMPILED = """
with torch.no_grad():
    expected, fast = net(x), torch.compile(net, backend="perpend")
    fast(x)
"""
EXPORTED = """
import perpend
expected, fast = net(x).detach(), perpend.compile(net, example_inputs=(x,))
"""
two_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a machine with one core has one thread")


@two_cores
@pytest.mark.parametrize("make", [COMPILED, EXPORTED], ids=["torch.compile", "perpend.compile"])
def test_no_more_threads_than_pytorch_allows(make: str) -> None:
    """As the environment says, and as the process says later."""
    run(THREADS.replace("MAKE", make), OMP_NUM_THREADS="1")


@two_cores
@pytest.mark.parametrize("make", [COMPILED, EXPORTED], ids=["torch.compile", "perpend.compile"])
def test_the_option_for_threads_comes_first(make: str) -> None:
    make = make.replace('backend="perpend"', 'backend="perpend", options={"threads": 2}')
    make = make.replace("example_inputs=(x,)", "example_inputs=(x,), threads=2")
    program = THREADS.partition("before = ")[0].replace("MAKE", "torch.set_num_threads(1)\nbefore = threads()" + make)
    run(program + "with torch.no_grad():\n    for _ in range(30): fast(x)\nassert threads() > before")


def test_models_of_torch_compile_are_not_saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Their weights are in the process."""
    models: list[Any] = []
    running: Any = perpend.Model.__call__

    def listing(model: perpend.Model, *inputs: Any) -> Any:
        models.append(model)
        return running(model, *inputs)

    monkeypatch.setattr(perpend.Model, "__call__", listing)
    with torch.no_grad():
        torch.compile(nn.Linear(64, 64), backend="perpend")(torch.ones(2, 64))
    with pytest.raises(ValueError, match=r"save: the model's weights are in this process.*\nhint: perpend.compile"):
        models[0].save(tmp_path / "model.so")


def test_artifacts_of_torch_compile_are_of_one_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """In another one, there is something else at the addresses of the weights."""
    files: list[bytes] = []

    def reading(module: perpend.Module, **options: Any) -> perpend.Model:
        model = perpend.compile_in_process(module, **options)
        files.append(Path(model.path).read_bytes())
        return model

    monkeypatch.setattr(backend, "compile_in_process", reading)
    with torch.no_grad():
        torch.compile(nn.Linear(64, 64), backend="perpend")(torch.ones(2, 64))
    (tmp_path / "model.so").write_bytes(files[0])
    with pytest.raises(AssertionError, match=r"RuntimeError: .*weights are in the memory of the process that compiled"):
        run(f"import perpend; perpend.load({str(tmp_path / 'model.so')!r})")
