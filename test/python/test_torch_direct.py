"""PyTorch programs whose operators are all known are converted as they were exported, without a second trace."""

from __future__ import annotations

from typing import Any

import perpend
import pytest
import torch
import torch.nn.functional as F
from python.torch_functions import check
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

torch.manual_seed(0)
X, IMAGES = torch.randn(3, 6), torch.randn(2, 4, 9, 7)
KERNELS, WIDE = torch.randn(4, 4, 3, 2), torch.randn(6, 2, 3, 4)
MEAN, SPREAD = torch.randn(4), torch.rand(4) + 0.5


@pytest.fixture
def traced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the program was traced again")

    monkeypatch.setattr(ExportedProgram, "run_decompositions", refuse)


@pytest.mark.usefixtures("traced_once")
def test_convolutions_as_exported() -> None:
    check(
        lambda x: (
            F.conv2d(x, KERNELS, stride=2, padding=1),
            F.conv2d(x, KERNELS, padding="same"),
            F.conv2d(x, WIDE, groups=2, dilation=(2, 1), padding="same"),
            F.conv2d(x, KERNELS, padding="valid"),
            F.conv1d(x[:, :, 0], KERNELS[:, :, :, 0], MEAN, padding="same"),
            F.conv_transpose2d(x, KERNELS, stride=(2, 1), output_padding=(1, 0)),
            F.conv_transpose1d(x[0, :, 0], KERNELS[:, :, :, 0], dilation=2),
            F.batch_norm(x, MEAN, SPREAD, SPREAD, MEAN, eps=1e-3),
            F.adaptive_avg_pool2d(x, (3, 7)).flatten(1).unflatten(1, (2, -1)),
        ),
        IMAGES,
        dynamic=[(0,)],
        more=[(IMAGES[:1],)],
    )


@pytest.mark.usefixtures("traced_once")
def test_movement_as_exported() -> None:
    check(
        lambda x: (
            x.diff(),
            x.diff(2, dim=0),
            x.diff(5, dim=0),
            x.diff(0, prepend=x[:, :1], append=x[:, 2:4], dim=1),
            x.diff(prepend=x[:, :1], append=x[:, 2:4], dim=1),
            (x > 0).diff(),
            x.chunk(4, 1),
            x.softmax(1, dtype=torch.float64),
            x[0].expand_as(x),
        ),
        X,
    )


@pytest.mark.usefixtures("traced_once")
def test_differences_of_symbolic_dimensions() -> None:
    check(lambda x: x.diff(prepend=x[:, -1:], dim=1), X, dynamic=[(0, 1)], more=[(X[:1, :2],)])


def test_forms_that_only_a_trace_makes_plain() -> None:
    """One program each: a neighbour that needs the trace would hide that another does."""
    rows = torch.tensor([[3, 1, 4], [1, 5, 9]])
    for function in (
        lambda x: (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + 1e-3).sqrt(),
        lambda x: torch.var_mean(x, unbiased=False),
        lambda x: torch.max(x, -x),
        lambda x: torch.max(x[0, 0], x[0, 1]),
        lambda x: x.repeat_interleave(2, dim=1),
        lambda x: torch.rsub(x, x * x, alpha=2),
        lambda x: torch.roll(x, 7, 0),
        lambda x: torch.roll(x, 1),
        lambda x: torch.pixel_shuffle(x.reshape(2, 3, 3).repeat(2, 1, 1), 2),
        lambda x: torch.diff(rows, prepend=x[:2, :1]),
        lambda x: torch.where(x > 0, x, 1.5) + torch.zeros_like(x).detach().transpose(0, 1).t(),
    ):
        check(function, X, is_interpreted=False)


def test_autocast() -> None:
    def mixed(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return F.linear(x, X)

    assert check(mixed, X, is_interpreted=False)(X).dtype == torch.bfloat16


class Scaled(torch.Tensor):  # type: ignore[misc]
    """A weight that is kept as integers and a scale: only a trace shows what its operators do."""

    @staticmethod
    def __new__(cls, numbers: torch.Tensor, scale: torch.Tensor) -> Scaled:
        wrapper: Scaled = torch.Tensor._make_wrapper_subclass(cls, numbers.shape, dtype=torch.float32)
        return wrapper

    def __init__(self, numbers: torch.Tensor, scale: torch.Tensor) -> None:
        self.numbers, self.scale = numbers, scale

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["numbers", "scale"], None

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, torch.Tensor], context: None, size: Any, stride: Any) -> Scaled:
        return Scaled(inner["numbers"], inner["scale"])

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.ops.aten.detach.default:
            return args[0]
        parts = pytree.tree_map(lambda v: v.numbers * v.scale if isinstance(v, Scaled) else v, (args, kwargs or {}))
        return function(*parts[0], **parts[1])


def test_weights_that_are_tensors_of_another_kind() -> None:
    net = torch.nn.Linear(8, 4, bias=False)
    net.weight = torch.nn.Parameter(
        Scaled(torch.randint(-9, 9, (4, 8), dtype=torch.int8), torch.tensor(0.25)), requires_grad=False
    )
    x = torch.randn(3, 8)
    torch.testing.assert_close(perpend.compile(net, example_inputs=(x,))(x), net(x))


def test_others_are_traced_again() -> None:
    def changes(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x * 2
        y[:, 0].add_(1)
        return y, F.batch_norm(x, None, None, training=True), torch.where(x > 0)[0]

    check(changes, X)
