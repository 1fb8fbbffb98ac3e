"""torch.compile with options={"grow": True}: caches that grow in their own memory."""

from __future__ import annotations

import functools
import os
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
