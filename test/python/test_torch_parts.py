"""torch.compile(net, backend="perpend"): operators that PyTorch runs, between parts that are compiled."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from perpend.torch import backend as torch_backend
from perpend.torch import frontend
from torch import nn
from torch._higher_order_ops.effects import _EffectType, _register_effectful_op
from torch.fx.experimental.proxy_tensor import make_fx


@pytest.fixture(autouse=True)
def strict(fresh_caches: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A graph that PyTorch runs as a whole fails a test."""
    monkeypatch.setattr(torch_backend, "_said", set())
    with torch.no_grad(), warnings.catch_warnings():
        warnings.filterwarnings("error", "perpend")
        yield


@torch.library.custom_op("perpend_test::sorted_rows", mutates_args=())
def sorted_rows(x: torch.Tensor) -> torch.Tensor:
    return x[x.norm(dim=1).argsort()].contiguous()


@sorted_rows.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@torch.library.custom_op("perpend_test::divided", mutates_args=())
def divided(x: torch.Tensor, by: int) -> list[torch.Tensor]:
    return [x // by, x % by]


@divided.register_fake
def _(x: torch.Tensor, by: int) -> list[torch.Tensor]:
    return [torch.empty_like(x), torch.empty_like(x)]


@torch.library.custom_op("perpend_test::add_in_place", mutates_args={"x"})
def add_in_place(x: torch.Tensor, n: float) -> None:
    x.add_(n)


@torch.library.custom_op("perpend_test::positives", mutates_args=())
def positives(x: torch.Tensor) -> torch.Tensor:
    return x[x > 0].clone()


@positives.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(torch.library.get_ctx().new_dynamic_size())


seen: list[float] = []


@torch.library.custom_op("perpend_test::note", mutates_args=())
def note(x: torch.Tensor) -> torch.Tensor:
    seen.append(float(x.sum()))
    return x.clone()


@note.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


_register_effectful_op(torch.ops.perpend_test.note.default, _EffectType.ORDERED)

OP = torch.ops.perpend_test


class Net(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.before = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 16))
        self.after = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.after(sorted_rows(self.before(x))).softmax(-1)


@pytest.mark.parametrize("dynamic", [False, True])
def test_an_operator_of_the_user_between_two_parts(
    compilations: list[str], caplog: pytest.LogCaptureFixture, dynamic: bool
) -> None:
    net = Net().eval()
    compiled = torch.compile(net, backend="perpend", dynamic=dynamic)
    with caplog.at_level(logging.WARNING, "perpend"):
        for rows in (5, 7) if dynamic else (5,):
            x = torch.randn(rows, 8)
            torch.testing.assert_close(compiled(x), net(x))
    assert len(compilations) == 2
    texts = [record.getMessage() for record in caplog.records if record.name == "perpend"]
    assert len(texts) == 1 and texts[0].startswith("perpend leaves perpend_test.sorted_rows.default at ")


def test_weights_that_change_are_compiled_again_in_their_part_alone(compilations: list[str]) -> None:
    net, x = Net().eval(), torch.randn(5, 8)
    compiled = torch.compile(net, backend="perpend")
    compiled(x)
    net.after[1].weight.mul_(2)
    torch.testing.assert_close(compiled(x), net(x))
    assert len(compilations) == 3


def several(x: torch.Tensor) -> Any:
    y = sorted_rows(x.relu() + 1)
    whole, rest = OP.divided(y * 4, 3)
    return [whole + rest, y.t(), sorted_rows(rest), x.shape[0] * 2, sorted_rows(x).sum() + whole.sum()]


def branches(x: torch.Tensor) -> torch.Tensor:
    """All that comes before the two is one part, and so is all behind."""
    y = x.tanh()
    return sorted_rows(y) + sorted_rows(y * 2).exp() + y


def in_place(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    OP.add_in_place(y, 1.5)
    return y.relu()


def in_place_on_a_view(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    OP.add_in_place(y[0], 1.5)
    return y.relu()


def views_between(x: torch.Tensor) -> torch.Tensor:
    return sorted_rows(sorted_rows(x + 1).t()).t() * 2


def complex_numbers(x: torch.Tensor) -> torch.Tensor:
    return torch.linalg.eig(x[:, : x.shape[0]].exp() + 1)[0].abs().sum() + x.sigmoid()


def refused_arguments(x: torch.Tensor) -> torch.Tensor:
    """The table has the operator, but not with these arguments."""
    y: torch.Tensor = torch.ops.aten.elu(x * 2, 1.0, 1.0, 2.0)
    return y.softmax(-1)


def of_extents(x: torch.Tensor) -> torch.Tensor:
    return torch.ones(x.shape[0] + 1, 2) * OP.divided(x, x.shape[0])[0].sum() + x.shape[1]


FUNCTIONS = [several, branches, in_place, in_place_on_a_view, views_between, complex_numbers, refused_arguments]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", [*FUNCTIONS, of_extents], ids=lambda function: getattr(function, "__name__", None))
def test_parts_compute_what_the_whole_does(compilations: list[str], function: Any, dynamic: bool) -> None:
    compiled = torch.compile(function, backend="perpend", dynamic=dynamic)
    for rows in (3, 4) if dynamic else (3, 3):
        x = torch.randn(rows, 5)
        torch.testing.assert_close(compiled(x), function(x), check_stride=True)
    assert compilations


@pytest.mark.parametrize(
    "function", [lambda x: sorted_rows(x), lambda x: sorted_rows(x.t()).t()[1:]], ids=["alone", "with views"]
)
def test_graphs_of_nothing_but_operators_of_the_user(compilations: list[str], function: Any) -> None:
    """As graph breaks leave them: there is nothing to warn of."""
    x = torch.randn(3, 5)
    torch.testing.assert_close(torch.compile(function, backend="perpend")(x), function(x))
    assert not compilations


def test_as_few_parts_as_the_order_allows(compilations: list[str]) -> None:
    torch.compile(branches, backend="perpend")(torch.randn(3, 5))
    assert len(compilations) == 2


def test_long_chains_are_divided_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Complex numbers before an operator that PyTorch runs stay with it, one after the other."""
    looks, length = 0, 200
    sources: Any = torch.fx.Node.all_input_nodes

    def counting(node: torch.fx.Node) -> Any:
        nonlocal looks
        looks += 1
        return sources.fget(node)

    def function(x: torch.Tensor) -> tuple[torch.Tensor]:
        z = torch.complex(x, x)
        for _ in range(length):
            z = torch.ops.aten.exp(z)
        return (torch.linalg.eigvals(z),)

    graph = make_fx(function, tracing_mode="fake")(torch.randn(3, 3))
    monkeypatch.setattr(torch.fx.Node, "all_input_nodes", property(counting))
    assert len(frontend.unsupported_nodes(graph)) >= length
    assert looks < 10 * length


def test_effects_stay_in_order(compilations: list[str]) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        first = note(x + 1)
        return note(first * 2) + note(x)

    x = torch.ones(2, 3)
    compiled = torch.compile(function, backend="perpend")
    for _ in range(2):
        seen.clear()
        torch.testing.assert_close(compiled(x), torch.full((2, 3), 5.0))
        assert seen == [12.0, 24.0, 6.0]
    assert compilations


def test_extents_that_an_operator_of_the_user_finds(compilations: list[str]) -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int]:
        found = positives(x * 2)
        return found.sqrt() + 1, torch.zeros(found.shape[0], 2) + x.sum(), found.shape[0]

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(function, backend="perpend", fullgraph=True)
        for _ in range(3):
            x = torch.randn(8)
            torch.testing.assert_close(compiled(x), function(x))
    assert len(compilations) == 2


def test_numbers_that_are_read_between_parts(compilations: list[str]) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        count = (x > 0).sum().item()
        y = sorted_rows(x * 2) + count
        return y.exp() * count + sorted_rows(y).sum().item()

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = torch.compile(function, backend="perpend", fullgraph=True)
        for _ in range(3):
            x = torch.randn(3, 2) / 4
            torch.testing.assert_close(compiled(x), function(x))
    assert compilations


def test_an_operator_in_a_branch(compilations: list[str]) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = torch.cond(x.sum() > 0, lambda x: sorted_rows(x), lambda x: x.clone(), (x,))
        return y.relu() + x.exp()

    compiled = torch.compile(function, backend="perpend")
    for x in (torch.randn(4, 3).abs(), -torch.randn(4, 3).abs()):
        torch.testing.assert_close(compiled(x), function(x))
    assert len(compilations) == 2


class Doubled(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 2


@torch.compiler.disable
def disabled(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.numpy()[::-1].copy())


@pytest.mark.parametrize("middle", [Doubled.apply, disabled, positives, torch.linalg.eigvals])
def test_what_breaks_graphs(compilations: list[str], middle: Any) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = middle(x.exp()).real
        return y.sigmoid()

    x = torch.randn(3, 3)
    torch.testing.assert_close(torch.compile(function, backend="perpend")(x), function(x))
    assert compilations


def test_random_numbers_of_parts_differ() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.rand(64) + x
        return y, torch.rand(64) + sorted_rows(y[None])[0] * 0

    first, second = torch.compile(function, backend="perpend")(torch.zeros(64))
    assert not torch.equal(first, second)
