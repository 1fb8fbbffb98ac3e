"""Buffers that a module changes are states of the compiled model, whose calls continue as the module's do."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import perpend
import pytest
import torch
import torch.nn.functional as F
from cli.tool import succeed
from torch import Tensor, nn


class Counter(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.tensor(3))
        self.register_buffer("seen", torch.zeros(4, dtype=torch.bool))

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        self.seen |= x[0] > 0
        return x * self.count + self.seen


class Average(nn.Module):  # type: ignore[misc]
    """Of all inputs, as a running mean; the buffer is not saved with the module."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.full((4,), 0.5), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        self.mean.copy_(0.9 * self.mean + 0.1 * x.mean(0))
        return x - self.mean


class Window(nn.Module):  # type: ignore[misc]
    """The last rows, moved in each call."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(5, 4))

    def forward(self, x: Tensor) -> Tensor:
        self.rows.copy_(torch.cat([self.rows[x.shape[0] :], x]))
        return self.rows.sum(0)


class Ring(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(1, 3, 4))
        self.register_buffer("at", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        self.rows[:, (self.at % 3)[None]] = x[:1]
        self.at.add_(1)
        return self.rows.sum(1)


class Slices(nn.Module):  # type: ignore[misc]
    """Parts that are constants: a slice, an element, a column."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.arange(24.0).reshape(6, 4))

    def forward(self, x: Tensor) -> Tensor:
        self.table[1:3] = x[:2]
        self.table[5, 3] = x[0, 0]
        self.table[:, 0] += 1
        return self.table * 2


class Cache(nn.Module):  # type: ignore[misc]
    """Keys and values of two heads, written at positions of a tensor."""

    def __init__(self, length: int = 8, width: int = 4) -> None:
        super().__init__()
        self.project = nn.Linear(width, width)
        self.register_buffer("keys", torch.zeros(1, 2, length, width))
        self.register_buffer("values", torch.zeros(1, 2, length, width))

    def forward(self, x: Tensor, position: Tensor) -> Tensor:
        k, v = self.project(x), x * 2
        self.keys.index_copy_(2, position, k)
        self.values[:, :, position] = v
        seen = torch.arange(self.keys.shape[2]) <= position[:, None]
        return F.scaled_dot_product_attention(x, self.keys, self.values, attn_mask=seen)


class Recurrent(nn.Module):  # type: ignore[misc]
    """All of the state is read to compute all of it."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(4, 6)
        self.register_buffer("hidden", torch.zeros(1, 6))

    def forward(self, x: Tensor) -> Tensor:
        self.hidden.copy_(self.cell(x[:1], self.hidden))
        return self.hidden * 2


class Rows:
    """An object that is no module, as caches of transformers are: the last rows, and their number in two tensors."""

    def __init__(self) -> None:
        self.parts = [torch.zeros(6, 4), torch.tensor(0), torch.tensor([0.5])]

    def update(self, x: Tensor) -> Tensor:
        rows, count, scale = self.parts
        rows.index_copy_(0, count[None] % 6, x[:1])
        count.add_(1)
        scale.mul_(2)
        return rows * scale + count


class Holder(nn.Module):  # type: ignore[misc]
    """It has its tensors in an object, and adds to a constant, too."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = Rows()
        self.offset = (torch.ones(4),)

    def forward(self, x: Tensor) -> Tensor:
        return self.cache.update(x) + self.cache.parts[1] + self.offset[0] + torch.tensor([1.0, 2.0, 3.0, 4.0])


class Registered(Holder):
    """The object's tensors are buffers as well."""

    def __init__(self) -> None:
        super().__init__()
        for name, tensor in zip(("rows", "count", "scale"), self.cache.parts, strict=True):
            self.register_buffer(name, tensor)


X = torch.linspace(-1, 1, 12).reshape(3, 4)


def runs(net: nn.Module, inputs: list[tuple[Any, ...]], **options: Any) -> Any:
    """Compares calls in order with those of the module."""
    net = net.eval()
    with torch.no_grad():
        model = perpend.compile(copy.deepcopy(net), example_inputs=inputs[0], **options)
        for arguments in inputs:
            torch.testing.assert_close(model(*arguments), net(*arguments))
    return model, net


@pytest.mark.parametrize("net", [Counter, Average, Window, Ring, Slices, Recurrent])
@pytest.mark.parametrize("level", [0, 2])
def test_calls_continue(net: type[nn.Module], level: int) -> None:
    inputs = [((X * scale),) for scale in (1.0, -2.0, 0.5, 3.0, 1.0)]
    model, kept = runs(net(), inputs, opt_level=level)
    assert set(model.states) == {name for name, _ in kept.named_buffers()}
    for name, buffer in kept.named_buffers():
        torch.testing.assert_close(torch.as_tensor(model.states[name]).reshape(buffer.shape), buffer)


@pytest.mark.parametrize("level", [0, 2])
def test_a_cache_at_positions(level: int) -> None:
    generator = torch.Generator().manual_seed(0)
    inputs = [(torch.randn(1, 2, 1, 4, generator=generator), torch.tensor([at])) for at in range(6)]
    runs(Cache(), inputs, opt_level=level)


def test_a_cache_at_several_positions() -> None:
    inputs = [(torch.randn(1, 2, 3, 4), torch.tensor(at)) for at in ([0, 1, 2], [5, 3, 4], [7, 6, 0])]
    runs(Cache(), inputs)


def test_rows_are_written_in_place(tmp_path: Path) -> None:
    """The plan copies rows to their positions, and nothing else."""
    cache = perpend.import_model(Cache().eval(), example_inputs=(torch.randn(1, 2, 1, 4), torch.tensor([0])))
    path = tmp_path / "cache.mlir"
    path.write_bytes(cache.to_bytes())
    said = succeed("inspect", path, "--stage", "plan", folder=tmp_path)
    assert said.count("host.copy_slices") == 2
    assert said.count("host.in_place") == 2


def test_sessions(tmp_path: Path) -> None:
    model, net = runs(Counter(), [(X,), (X,)])
    fork, fresh = model.fork(), model.session()
    torch.testing.assert_close(fork(X), net(X))
    torch.testing.assert_close(fresh(X), Counter()(X))
    model.reset()
    torch.testing.assert_close(model(X), Counter()(X))
    model.save(tmp_path / "counter.so")
    loaded = perpend.load(tmp_path / "counter.so")
    loaded(X.numpy())
    torch.testing.assert_close(torch.as_tensor(loaded(X.numpy())), model(X))


@pytest.mark.parametrize("kind", [Holder, Registered])
def test_tensors_in_an_object_of_the_module(kind: type[Holder]) -> None:
    inputs = [((X * scale),) for scale in (1.0, -2.0, 0.5)]
    model, net = runs(kind(), inputs)
    names = [f"cache.parts.{number}" for number in range(3)] if kind is Holder else ["rows", "count", "scale"]
    assert set(model.states) == set(names)
    for name, part in zip(names, net.cache.parts, strict=True):
        torch.testing.assert_close(torch.as_tensor(model.states[name]).reshape(part.shape), part)


@pytest.mark.parametrize("kind", [Holder, Registered])
def test_an_export_leaves_them_as_they_are(kind: type[Holder]) -> None:
    net = kind().eval()
    before = [part.clone() for part in net.cache.parts]
    model = perpend.compile(net, example_inputs=(X,))
    for part, kept in zip(net.cache.parts, before, strict=True):
        torch.testing.assert_close(part, kept)
    torch.testing.assert_close(model(X), net(X))
    program = torch.export.export(kind().eval(), (X,))
    text = str(program.graph)
    perpend.import_model(program)
    assert str(program.graph) == text


def test_inputs_that_change_are_refused() -> None:
    class Changes(nn.Module):  # type: ignore[misc]
        def forward(self, x: Tensor) -> Tensor:
            x.add_(1)
            return x * 2

    with pytest.raises(perpend.CompileError, match="changes its inputs in place"):
        perpend.compile(Changes().eval(), example_inputs=(X.clone(),))
