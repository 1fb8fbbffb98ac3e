"""torch.compile(net, backend="perpend"): shapes, frozen parameters, training."""

from __future__ import annotations

from typing import Any

import perpend
import pytest
import torch
from perpend import torch_backend
from torch import nn


def small_net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.BatchNorm1d(16), nn.Linear(16, 4)).eval()


@pytest.fixture(autouse=True)
def fresh_caches() -> None:
    torch._dynamo.reset()


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by one entry per compilation."""
    made: list[str] = []

    def counting(program: perpend.Module, **options: Any) -> perpend.Model:
        made.append(str(program))
        return perpend.compile(program, **options)

    monkeypatch.setattr(torch_backend, "compile", counting)
    return made


def test_one_artifact_for_every_batch(compilations: list[str]) -> None:
    net = small_net()
    compiled = torch.compile(net, backend="perpend", dynamic=True)
    with torch.no_grad():
        for batch in (2, 3, 5, 9):
            x = torch.randn(batch, 8)
            torch.testing.assert_close(compiled(x), net(x), atol=1e-5, rtol=1e-5)
    assert len(compilations) == 1


def test_changed_parameters_are_compiled_again(compilations: list[str]) -> None:
    net = small_net()
    compiled = torch.compile(net, backend="perpend")
    x = torch.randn(3, 8)
    with torch.no_grad():
        before = compiled(x)
        net[0].weight.add_(1.0)
        torch.testing.assert_close(compiled(x), net(x), atol=1e-5, rtol=1e-5)
        assert not torch.allclose(before, compiled(x))
    assert len(compilations) == 2


def test_parameters_as_inputs(compilations: list[str]) -> None:
    net = small_net()
    compiled = torch.compile(net, backend="perpend", options={"freeze": False})
    x = torch.randn(3, 8)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), net(x), atol=1e-5, rtol=1e-5)
        net[0].weight.add_(1.0)
        torch.testing.assert_close(compiled(x), net(x), atol=1e-5, rtol=1e-5)
    assert len(compilations) == 1


def test_integers_and_inputs_as_results(compilations: list[str]) -> None:
    def function(x: torch.Tensor, n: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, int]:
        y = x * n + x.shape[0]
        return y, y.sum(0), x, n * 2

    compiled = torch.compile(function, backend="perpend", dynamic=True)
    with torch.no_grad():
        for n in (3, 4, 7):
            x = torch.ones(n, 2)
            y, total, same, double = compiled(x, n + 1)
            torch.testing.assert_close(y, x * (n + 1) + n)
            torch.testing.assert_close(total, y.sum(0))
            assert same is x
            assert double == 2 * (n + 1)
    assert len(compilations) == 1


def test_buffers_that_change() -> None:
    class Counter(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count += 1
            return x * self.count

    net = Counter()
    compiled = torch.compile(net, backend="perpend")
    with torch.no_grad():
        for expected in (1.0, 2.0, 3.0):
            torch.testing.assert_close(compiled(torch.ones(3)), torch.full((3,), expected))


def test_training_runs_in_torch() -> None:
    net = small_net()
    compiled = torch.compile(net, backend="perpend")
    with pytest.warns(UserWarning, match="needs gradients"):
        compiled(torch.randn(3, 8)).sum().backward()
    assert net[0].weight.grad is not None


def test_unsupported_operators_are_named() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        determinant: torch.Tensor = torch.linalg.det(x)
        return determinant

    with torch.no_grad(), pytest.raises(Exception, match="operators of this model are not supported"):
        torch.compile(function, backend="perpend")(torch.eye(3))
