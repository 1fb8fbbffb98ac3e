"""torch.compile(net, backend="perpend"): shapes, frozen parameters, training."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import perpend
import pytest
import torch
from perpend.torch import backend as torch_backend
from torch import nn

pytestmark = pytest.mark.usefixtures("fresh_caches")


def small_net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.BatchNorm1d(16), nn.Linear(16, 4)).eval()


def test_torch_finds_the_backend() -> None:
    """Without any import of perpend: through the entry point of the package, installed or in a build folder."""
    program = "import torch; print(torch.compile(torch.abs, backend='perpend')(torch.tensor([-2.0])).item())"
    environment = {**os.environ, "PYTHONPATH": str(Path(perpend.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2.0\n"


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


@pytest.mark.parametrize("freeze", [True, False, "read"])
def test_changes_through_data(compilations: list[str], freeze: bool | str) -> None:
    """PyTorch counts no change then, and the memory is the same. So works what averages or initialises weights."""
    net = small_net()
    compiled = torch.compile(net, backend="perpend", options={"freeze": freeze})
    x = torch.randn(3, 8)
    with torch.no_grad():
        for compilation in (1, 2, 3, 3):
            torch.testing.assert_close(compiled(x), net(x), atol=1e-5, rtol=1e-5)
            assert len(compilations) == (compilation if freeze else 1)
            net[0].weight.data[-1, -1] += 1.0
            net[2].running_mean.data.neg_()
        other = torch.compile(small_net(), backend="perpend", options={"freeze": freeze})
        torch.testing.assert_close(other(x), small_net()(x), atol=1e-5, rtol=1e-5)


def test_changes_during_calls_of_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls stay with the model that they began with while another one is made."""
    entered, leave = threading.Event(), threading.Event()
    count = 12

    class Sums(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(count))

        def forward(self, x: torch.Tensor) -> Any:
            return [layer(x).sum(0) for layer in self.layers]

    def waiting(node: torch.fx.Node) -> bool:
        """Asked for each output during the conversion."""
        entered.set()
        return leave.wait(60) and is_view(node)

    net, x = Sums().eval(), torch.randn(3, 4)
    compiled = torch.compile(net, backend="perpend")
    results: list[Any] = []

    def call() -> None:
        with torch.no_grad():
            results.append(compiled(x))

    call()
    running: Any = perpend.Model.__call__
    is_view = torch_backend.is_view_of_input
    started = threading.Event()

    def held(model: perpend.Model, *inputs: Any) -> Any:
        started.set()
        assert entered.wait(60)
        return running(model, *inputs)

    monkeypatch.setattr(perpend.Model, "__call__", held)
    first = threading.Thread(target=call)
    first.start()
    assert started.wait(60)
    monkeypatch.setattr(torch_backend, "is_view_of_input", waiting)
    with torch.no_grad():
        for layer in net.layers:
            layer.weight.mul_(2.0)
    others = [threading.Thread(target=call) for _ in range(2)]
    for thread in others:
        thread.start()
    first.join(60)
    leave.set()
    for thread in others:
        thread.join(60)
    assert [len(result) for result in results] == [count] * 4
    with torch.no_grad():
        for result in results[2:]:
            torch.testing.assert_close(result, net(x), atol=1e-5, rtol=1e-5)


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


def test_buffers_that_change(compilations: list[str]) -> None:
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
        for expected in (1.0, 2.0, 3.0, 4.0, 5.0):
            torch.testing.assert_close(compiled(torch.ones(3)), torch.full((3,), expected))
    assert len(compilations) == 1  # the graph changes the buffer itself, so it is an input


def test_training_runs_in_torch() -> None:
    net = small_net()
    compiled = torch.compile(net, backend="perpend")
    with pytest.warns(UserWarning, match="needs gradients"):
        compiled(torch.randn(3, 8)).sum().backward()
    assert net[0].weight.grad is not None


def test_unsupported_operators_run_in_torch() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        values: torch.Tensor = torch.linalg.eig(x)[0].abs()
        return values

    x = torch.eye(3) * 2
    with torch.no_grad(), pytest.warns(UserWarning) as warned:
        torch.testing.assert_close(torch.compile(function, backend="perpend")(x), torch.full((3,), 2.0))
    ours = [str(warning.message) for warning in warned if "perpend" in str(warning.message)]
    assert len(ours) == 1
    assert "aten.linalg_eig" in ours[0] and "runs in PyTorch" in ours[0]


def test_options_that_do_not_exist() -> None:
    """They only gave a warning, and everything ran in PyTorch."""
    compiled = torch.compile(small_net(), backend="perpend", options={"thread": 1})
    with (
        torch.no_grad(),
        pytest.raises(Exception, match=r"there is no option 'thread'\nhint: did you mean 'threads'\?"),
    ):
        compiled(torch.randn(3, 8))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    ("net", "shape"),
    [
        (nn.GroupNorm(2, 4), (2, 4, 5, 5)),
        (nn.InstanceNorm2d(4), (2, 4, 5, 5)),
        (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)),
        (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True, activation="gelu"), (2, 5, 8)),
        (nn.Upsample(scale_factor=2, mode="bilinear"), (2, 3, 4, 5)),
        (nn.Upsample(scale_factor=2, mode="nearest"), (2, 3, 4, 5)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else None,
)
def test_fused_layers(compilations: list[str], net: nn.Module, shape: tuple[int, ...], dynamic: bool) -> None:
    x = torch.randn(shape)
    with torch.no_grad():
        compiled = torch.compile(net.eval(), backend="perpend", dynamic=dynamic)
        torch.testing.assert_close(compiled(x), net(x), atol=1e-5, rtol=1e-5)
    assert len(compilations) == 1


def test_masks_of_encoder_layers(compilations: list[str]) -> None:
    net = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    causal = torch.ones(5, 5).triu(1).bool()
    padding = torch.zeros(2, 5).bool()
    padding[1, 3:] = True
    x = torch.randn(2, 5, 8)
    with torch.no_grad():
        compiled = torch.compile(net, backend="perpend")
        for masks in ({"src_mask": causal}, {"src_key_padding_mask": padding}):
            torch.testing.assert_close(compiled(x, **masks), net(x, **masks), atol=1e-5, rtol=1e-5)
    assert len(compilations) == 2


def test_a_graph_that_is_refused_while_it_is_converted_runs_in_pytorch() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = torch.ops.aten.elu(x, 1.0, 1.0, 2.0)
        return result

    compiled = torch.compile(function, backend="perpend")
    x = torch.randn(4)
    with torch.no_grad(), pytest.warns(UserWarning, match="runs in PyTorch, because .*input_scale"):
        torch.testing.assert_close(compiled(x), function(x))
    with torch.no_grad():
        torch.testing.assert_close(compiled(x + 1), function(x + 1))


def test_views_of_inputs_as_outputs() -> None:
    def function(x: torch.Tensor) -> Any:
        return x.t(), x.expand(4, *x.shape), x[:, ::2], x.t() + 1

    compiled = torch.compile(function, backend="perpend")
    for rows in (2, 3, 5):
        x = torch.randn(rows, 6)
        with torch.no_grad():
            results = compiled(x)
        for result, expected in zip(results, function(x), strict=True):
            torch.testing.assert_close(result, expected)
        assert results[0].data_ptr() == x.data_ptr()
