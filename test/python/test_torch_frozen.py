"""torch.compile(net, backend="perpend"): each way in which PyTorch programs change parameters, seen or documented."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import perpend
import pytest
import torch
from torch import nn

WIDTH = 64  # weights of 16 KiB: only a sample of them is read

pytestmark = pytest.mark.usefixtures("fresh_caches")


def make_net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 4)).eval()


def step(make: Callable[[Any], torch.optim.Optimizer]) -> Callable[[Any], None]:
    def change(net: Any) -> None:
        optimizer = make(net.parameters())
        with torch.enable_grad():
            net(torch.ones(2, WIDTH)).square().sum().backward()
        optimizer.step()

    return change


def step_of_one_element(net: Any) -> None:
    """Fused optimizers do not count, and the element is not in the sample."""
    with torch.enable_grad():
        net[0].weight[0, 50].backward()
    torch.optim.SGD(net.parameters(), lr=1.0, fused=True).step()


def assign_twice(net: Any) -> None:
    """What is freed by the first assignment may lie where the second one puts its memory."""
    net[0].weight.data = net[0].weight.data * 2
    net[0].weight.data = net[0].weight.data * 2


def resize_storage(net: Any) -> None:
    storage = net[0].weight.untyped_storage()
    size = storage.nbytes()
    storage.resize_(0)
    storage.resize_(size)
    storage.fill_(0)


def reassign(net: Any) -> None:
    net[0].weight = nn.Parameter(net[0].weight * 2)


def in_inference_mode(net: Any) -> None:
    with torch.inference_mode():
        net[0].weight.mul_(2)


CHANGES: dict[str, Callable[[Any], Any]] = {
    "in place": lambda net: net[0].weight.mul_(2),
    "an element": lambda net: net[0].weight[0, 50].add_(1),
    "copy_": lambda net: net[0].weight.copy_(torch.ones(WIDTH, WIDTH)),
    "detach": lambda net: net[0].weight.detach().mul_(2),
    "a view": lambda net: net[0].weight.view(-1)[50:51].fill_(3),
    "set_": lambda net: net[0].weight.set_(torch.ones(WIDTH, WIDTH)),
    "SGD": step(lambda parameters: torch.optim.SGD(parameters, lr=0.1)),
    "Adam": step(lambda parameters: torch.optim.Adam(parameters, lr=0.1)),
    "Adam, fused": step(lambda parameters: torch.optim.Adam(parameters, lr=0.1, fused=True)),
    "SGD of one element, fused": step_of_one_element,
    "load_state_dict": lambda net: net.load_state_dict({k: v + 1 for k, v in net.state_dict().items()}),
    "load_state_dict, assigned": lambda net: net.load_state_dict(
        {k: v + 1 for k, v in net.state_dict().items()}, assign=True
    ),
    "inference mode": in_inference_mode,
    "a new Parameter": reassign,
    "data = ": lambda net: setattr(net[0].weight, "data", torch.ones(WIDTH, WIDTH)),
    "data = twice": assign_twice,
    "data, all elements": lambda net: net[0].weight.data.mul_(2),
    "numpy, all elements": lambda net: net[0].weight.detach().numpy().fill(2),
    "storage, all elements": lambda net: net[0].weight.untyped_storage().fill_(0),
    "storage resized": resize_storage,
    "moved, then changed": lambda net: net.share_memory()[0].weight.data.mul_(2),
    "double, float": lambda net: net.double().float()[0].bias.data.add_(1),
    "init": lambda net: nn.init.normal_(net[0].weight),
    "vector_to_parameters": lambda net: nn.utils.vector_to_parameters(
        torch.ones(sum(p.numel() for p in net.parameters())), net.parameters()
    ),
    "swap_tensors": lambda net: torch.utils.swap_tensors(net[0].weight, nn.Parameter(torch.ones(WIDTH, WIDTH))),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_changes(compilations: list[str], change: Callable[[Any], Any]) -> None:
    net, x = make_net(), torch.randn(3, WIDTH)
    compiled = torch.compile(net, backend="perpend")
    with torch.no_grad():
        before = compiled(x)
        assert torch.equal(compiled(x), before)
        assert len(compilations) == 1
        change(net)
        torch.testing.assert_close(compiled(x), net(x), atol=1e-4, rtol=1e-4)
        assert not torch.allclose(compiled(x), before)
        assert len(compilations) == 2


def test_a_buffer_that_the_module_changes_is_no_constant(compilations: list[str]) -> None:
    class Counter(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.full((3,), 2.0))
            self.register_buffer("seen", torch.zeros(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.seen.add_(x.sum(0))
            return self.seen * self.scale

    net, reference = Counter().eval(), Counter().eval()
    compiled = torch.compile(net, backend="perpend")
    with torch.no_grad():
        for number in range(4):
            x = torch.full((2, 3), float(number))
            torch.testing.assert_close(compiled(x), reference(x))
            torch.testing.assert_close(net.seen, reference.seen)
    assert len(compilations) == 1


def test_parameters_of_inference_mode() -> None:
    """They have no counter of changes: each call reads them."""
    with torch.inference_mode():
        net, x = make_net(), torch.randn(3, WIDTH)
        compiled = torch.compile(net, backend="perpend")
        torch.testing.assert_close(compiled(x), net(x), atol=1e-4, rtol=1e-4)
        net[0].weight[0, 50] += 5
        torch.testing.assert_close(compiled(x), net(x), atol=1e-4, rtol=1e-4)


def test_what_is_not_seen_at_once(compilations: list[str]) -> None:
    """An element that is not in the first sample, changed behind PyTorch's back. Its memory is read on request."""
    x = torch.randn(3, WIDTH)
    for freeze in (True, "read"):
        net = make_net()
        compiled = torch.compile(net, backend="perpend", options={"freeze": freeze})
        with torch.no_grad():
            before = compiled(x)
            net[0].weight.data[0, 50] += 5
            assert torch.equal(compiled(x), before) == (freeze is True)
            net[0].bias.add_(1)  # whatever is seen next, all of it is compiled
            torch.testing.assert_close(compiled(x), net(x), atol=1e-4, rtol=1e-4)


def test_a_step_that_changes_nothing_here(compilations: list[str]) -> None:
    net, x = make_net(), torch.randn(3, WIDTH)
    compiled = torch.compile(net, backend="perpend")
    other = nn.Parameter(torch.ones(2))
    other.grad = torch.ones(2)
    optimizer = torch.optim.SGD([other], lr=0.1)
    with torch.no_grad():
        for _ in range(3):
            compiled(x)
            optimizer.step()
    assert len(compilations) == 1


def test_calls_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of PyTorch's wrappers around a graph, which take longer than a small model, where nothing needs them."""
    callers: list[str] = []
    running: Any = perpend.Model.__call__

    def listing(model: perpend.Model, *inputs: Any) -> Any:
        frame: Any = sys._getframe()
        while frame := frame.f_back:
            callers.append(frame.f_code.co_name)
        return running(model, *inputs)

    monkeypatch.setattr(perpend.Model, "__call__", listing)
    net, x = make_net(), torch.randn(3, WIDTH)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(net, backend="perpend")(x), net(x), atol=1e-4, rtol=1e-4)
        assert "call" in callers and not any("runtime_wrapper" in name for name in callers)
        callers.clear()
        torch.testing.assert_close(torch.compile(torch.Tensor.add_, backend="perpend")(x.clone(), 1), x + 1)
        assert any("runtime_wrapper" in name for name in callers)  # it writes the result back


@pytest.mark.parametrize("element", [(0, 50), (33, 7), (WIDTH - 1, WIDTH - 1)])
def test_what_is_seen_late(compilations: list[str], element: tuple[int, int]) -> None:
    """After 16 calls each sample is another one, and all samples together are everything."""
    net, x = make_net(), torch.randn(3, WIDTH)
    compiled = torch.compile(net, backend="perpend")
    with torch.no_grad():
        compiled(x)
        net[0].weight.data[element] += 5
        for _ in range(16 * net[0].weight.nbytes // 1024):
            compiled(x)
        torch.testing.assert_close(compiled(x), net(x), atol=1e-4, rtol=1e-4)
    assert len(compilations) == 2


@pytest.mark.parametrize("freeze", ["on", "unchecked", 2])
def test_options_of_freezing_that_do_not_exist(freeze: Any) -> None:
    compiled = torch.compile(make_net(), backend="perpend", options={"freeze": freeze})
    with (
        torch.no_grad(),
        pytest.raises(Exception, match=f"option 'freeze': expected True, False or 'read', got {freeze!r}"),
    ):
        compiled(torch.randn(3, WIDTH))
