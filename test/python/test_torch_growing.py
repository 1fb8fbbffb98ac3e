"""torch.compile: buffers that are written where they lie, and caches that grow there, with options={"grow": True}."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._dynamo.utils import counters

os.environ["HF_HUB_OFFLINE"] = "1"


def appended(past: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    both = torch.cat([past, x * 2], dim=2)
    return both, both.sum(2)


def grows(function: Callable[..., Any] = appended) -> Callable[..., Any]:
    """Compiled for every length: after two of them, PyTorch makes it a symbol."""
    torch._dynamo.reset()
    call: Callable[..., Any] = torch.compile(function, backend="perpend", options={"grow": True})
    for count in (4, 6):
        call(rows(count), rows(count - 1))
    return call


def rows(count: int, width: int = 4) -> Tensor:
    return torch.randn(1, 2, count, width)


def agree(found: tuple[Tensor, Tensor], past: Tensor, x: Tensor) -> None:
    torch.testing.assert_close(found, appended(past, x))


@pytest.fixture(autouse=True)
def no_gradients() -> Any:
    with torch.no_grad():
        yield


def test_rows_are_appended_in_place() -> None:
    call, past = grows(), rows(5)
    kept, addresses = past, []
    for count in (2, 3, 2, 4, 3):
        x = rows(count)
        found = call(past, x)
        agree(found, kept, x)
        past, kept = found[0], torch.cat([kept, x * 2], 2)
        addresses.append(past.data_ptr())
    assert len(set(addresses)) == 1
    for _ in range(20):  # beyond the room, into a larger one
        x = rows(7)
        found = call(past, x)
        agree(found, kept, x)
        past, kept = found[0], torch.cat([kept, x * 2], 2)
        addresses.append(past.data_ptr())
    assert 2 <= len(set(addresses)) <= 4


def test_what_is_appended_to_twice_is_copied() -> None:
    call = grows()
    past, *xs = call(rows(5), rows(3))[0], rows(2), rows(2), rows(3)
    before = past.clone()
    found = [call(past, x) for x in xs]
    for x, each in zip(xs, found, strict=True):
        agree(each, before, x)
    torch.testing.assert_close(past, before)
    short = found[0][0][:, :, :-3]
    agree(call(short, xs[1]), short.clone(), xs[1])
    agree(found[0], before, xs[0])
    other = past.clone()
    agree(call(other, xs[0]), before, xs[0])
    torch.testing.assert_close(other, before)


def test_views_that_only_look_like_the_room() -> None:
    call = grows()
    past = call(rows(6), rows(2))[0]
    for strange in (past[:, :, 2:], past[:, :, ::2], past.flip(2), past[:, [1, 0]], past * 1, past[:, :, :0]):
        x = rows(2)
        agree(call(strange, x), strange.clone(), x)
    x = rows(3, 2)
    agree(call(past[..., :2], x), past[..., :2].clone(), x)


def test_a_reader_of_the_old_value() -> None:
    def with_old(past: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        both = torch.cat([past, x], dim=2)
        return both, past.sum(2) + both.mean(2)

    call, past = grows(with_old), rows(5)
    for count in (2, 3, 2):
        x = rows(count)
        found = call(past, x)
        torch.testing.assert_close(found, with_old(past.clone(), x))
        past = found[0]


def test_without_the_option_results_have_their_own_memory() -> None:
    torch._dynamo.reset()
    call = torch.compile(appended, backend="perpend")
    call(rows(4), rows(3))
    past = rows(5)
    first = call(past, rows(2))[0]
    second = call(first, rows(2))[0]
    assert first.untyped_storage().data_ptr() != second.untyped_storage().data_ptr()


@pytest.mark.parametrize("batch", [1, 2])
def test_generate(batch: int) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=100, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4
    )
    net = transformers.LlamaForCausalLM(config).eval()
    prompt = torch.randint(3, 100, (batch, 8))
    options: dict[str, Any] = {"max_new_tokens": 40, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
    expected = net.generate(prompt, **options)
    torch._dynamo.reset()
    counters.clear()
    eager, addresses = net.forward, []
    compiled = torch.compile(eager, backend="perpend", options={"grow": True})

    @functools.wraps(eager)
    def forward(*inputs: Any, **named: Any) -> Any:
        results = compiled(*inputs, **named)
        addresses.append(results.past_key_values.layers[1].values.untyped_storage().data_ptr())
        return results

    net.forward = forward
    for _ in range(2):
        addresses.clear()
        assert torch.equal(net.generate(prompt, **options), expected)
        assert len(set(addresses[4:])) == 1
    assert not counters["graph_break"]
    assert counters["stats"]["unique_graphs"] <= 4


class Static(torch.nn.Module):  # type: ignore[misc]
    """Keys at positions of a tensor, and parts of a table; the sums of both."""

    def __init__(self, length: int = 8) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 2, length, 4))
        self.register_buffer("table", torch.zeros(6, 4))

    def forward(self, x: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
        self.keys.index_copy_(2, at, x)
        self.keys[:, 1:, at] = 2 * x[:, 1:]
        self.table[1:3] = x[0, :, 0]
        self.table[5, 3] = x.sum()
        return self.keys[:, :, :8].sum(2), self.table * 2


def is_in_place(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of states of the calls that lend memory."""
    from perpend.torch import growing

    seen, run = [], growing.Grown.run

    def counting(grown: Any, *arguments: Any) -> Any:
        seen.append(len(grown.growths))
        return run(grown, *arguments)

    monkeypatch.setattr(growing.Grown, "run", counting)
    return seen


@pytest.mark.parametrize("count", [1, 2])
def test_buffers_are_written_where_they_lie(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    torch._dynamo.reset()
    seen, net, reference = is_in_place(monkeypatch), Static().eval(), Static().eval()
    call = torch.compile(net, backend="perpend")
    for at in (0, 3, 5, 3):
        x, positions = rows(count), torch.arange(at, at + count)
        torch.testing.assert_close(call(x, positions), reference(x, positions))
        for name, buffer in net.named_buffers():
            torch.testing.assert_close(buffer, getattr(reference, name))
    assert seen == [2] * 4
    net.keys = net.keys.flip(1).transpose(1, 2).contiguous().transpose(1, 2)  # other strides
    reference.keys = net.keys.clone()
    torch.testing.assert_close(call(x, positions), reference(x, positions))
    torch.testing.assert_close(net.keys, reference.keys)


def test_writing_a_row_of_many_costs_a_row() -> None:
    """All of them are 268 MB, which take some tens of milliseconds to copy."""

    class Keys(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("keys", torch.zeros(1, 2, 1 << 22, 4))

        def forward(self, x: Tensor, at: Tensor) -> Tensor:
            self.keys.index_copy_(2, at, x)
            return self.keys[:, :, :8].sum(2)

    torch._dynamo.reset()
    call, times = torch.compile(Keys().eval(), backend="perpend"), []
    for at in range(30):
        start = time.perf_counter()
        call(rows(1), torch.tensor([at]))
        times.append(time.perf_counter() - start)
    assert sorted(times)[15] < 10e-3


def test_a_reader_that_needs_both_values_makes_a_copy(caplog: pytest.LogCaptureFixture) -> None:
    class Difference(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("keys", torch.ones(5, 4))

        def forward(self, x: Tensor) -> Tensor:
            before = self.keys.clone()
            self.keys[2:3] = x
            return before * self.keys.sum(1, keepdim=True)

    torch._dynamo.reset()
    net, reference = Difference().eval(), Difference().eval()
    call = torch.compile(net, backend="perpend")
    for number in range(3):
        x = torch.full((1, 4), float(number))
        torch.testing.assert_close(call(x), reference(x))
        torch.testing.assert_close(net.keys, reference.keys)
    assert "expected a state that is read before it is updated" in caplog.text
