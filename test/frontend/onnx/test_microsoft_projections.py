"""Attention operators of the domain com.microsoft that project hidden states themselves, against numpy: ONNX Runtime
has them for other processors only."""

from __future__ import annotations

import numpy as np
import perpend
import pytest
from microsoft_cases import Case, int32
from operator_cases import normal
from test_microsoft_operators import build
from test_microsoft_packing import run
from test_microsoft_recurrences import check
from test_microsoft_references import softmax

BATCH, LENGTH, HEADS, SIZE, WIDTH = 2, 7, 3, 4, 12


def heads_of(x: np.ndarray) -> np.ndarray:
    """[batch, length, width] as [batch, heads, length, size]."""
    return x.reshape(*x.shape[:2], HEADS, -1).swapaxes(1, 2)


def joined(x: np.ndarray) -> np.ndarray:
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


def attended(query: np.ndarray, key: np.ndarray, value: np.ndarray, bias: np.ndarray | float = 0) -> np.ndarray:
    return joined(softmax(query @ key.swapaxes(2, 3) / np.sqrt(query.shape[-1]) + bias, (-1,)) @ value)


def projected(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> list[np.ndarray]:
    return [heads_of(part) for part in np.split(x @ weight + bias, weight.shape[1] // WIDTH, axis=2)]


def in_parts(keys: np.ndarray) -> np.ndarray:
    """Keys in the order of a shared cache: four elements of f32 are neighbours."""
    batch, heads, length, size = keys.shape
    return keys.reshape(batch, heads, length, size // 4, 4).transpose(0, 1, 3, 2, 4).reshape(keys.shape)


@pytest.mark.parametrize("past", [0, 5])
@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("has_masks", [False, True])
def test_masked_self_attention(past: int, is_shared: bool, has_masks: bool) -> None:
    x, weight, bias = normal(BATCH, 1, 5), normal(5, 3 * WIDTH), normal(3 * WIDTH)
    cache = normal(2, BATCH, HEADS, past + 3 if is_shared else past, SIZE)
    mask, scores = np.ones((BATCH, past + 1), np.int32), normal(1, HEADS, 1, past + 1)
    mask[0, : past // 2] = 0
    given = cache.copy()
    if is_shared:
        given[0] = in_parts(cache[0])
    inputs = [x, weight, bias, mask if has_masks else None, given, scores if has_masks else None, int32(past)]
    symbols = {(0, 0): "b", (3, 0): "b", (4, 1): "b", (3, 1): "t", (4, 3): "p", (5, 3): "t"}
    if not has_masks:
        symbols = {place: name for place, name in symbols.items() if place[0] in (0, 4)}
    elif not is_shared:
        symbols = {place: name for place, name in symbols.items() if name == "b"}
    results = run(
        "DecoderMaskedSelfAttention", inputs, 2, symbols, num_heads=HEADS, past_present_share_buffer=is_shared
    )
    query, key, value = projected(x, weight, bias)
    keys, values = (np.concatenate([old[:, :, :past], new], 2) for old, new in zip(cache, (key, value), strict=True))
    added = np.where(mask, 0, -10000)[:, None, None] + scores if has_masks else 0
    present = np.stack([keys, values])
    if is_shared:
        present = np.concatenate([present, cache[:, :, :, past + 1 :]], 3)
        present[0] = in_parts(present[0])
    check(results, (attended(query, keys, values, added), present))


@pytest.mark.parametrize(
    ("size", "attributes", "message"),
    [
        (SIZE, {"do_rotary": 1}, "do_rotary"),
        (SIZE, {"num_heads": 0}, "num_heads of at least 1"),
        (3, {"past_present_share_buffer": 1}, "multiple of 4 elements, got 3"),
    ],
)
def test_masked_self_attention_that_is_refused(size: int, attributes: dict, message: str) -> None:
    width = HEADS * size
    inputs = [normal(2, 1, 5), normal(5, 3 * width), normal(3 * width), None, normal(2, 2, HEADS, 4, size), None]
    with pytest.raises(perpend.CompileError, match=f"(?s)node 'node' .*{message}.*\nhint: "):
        run("DecoderMaskedSelfAttention", [*inputs, int32(2)], 2, **{"num_heads": HEADS, **attributes})


@pytest.mark.parametrize("window", [0, 2, 9])
@pytest.mark.parametrize("length", [LENGTH, 1, 0])
def test_attention_in_a_window(window: int, length: int) -> None:
    x, mask = normal(BATCH, length, WIDTH), np.zeros((BATCH, length), np.float32)
    weights = [normal(WIDTH, 3 * WIDTH) / 3, normal(3 * WIDTH), normal(WIDTH, 3 * WIDTH) / 3, normal(3 * WIDTH)]
    is_global = np.zeros((BATCH, length), np.int32)
    is_global[0, :1], is_global[0, 3:4], is_global[1, 5:6] = 1, 1, 1
    mask[1, length // 2 + 2 :] = -10000
    inputs = [x, *weights[:2], mask, *weights[2:], is_global]
    symbols = {(i, axis): name for i in (0, 3, 6) for axis, name in enumerate("bs")}
    result = run("LongformerAttention", inputs, 1, symbols, num_heads=HEADS, window=window)
    place = np.arange(length)
    is_near = np.abs(place[:, None] - place) <= window
    is_seen = is_near | (is_global[:, None] != 0) | (is_global[:, :, None] != 0)
    bias = (mask[:, None] + np.where(is_seen, 0, -np.inf))[:, None]
    local = attended(*projected(x, *weights[:2]), bias) if length else x
    every = attended(*projected(x, *weights[2:]), mask[:, None, None]) if length else x
    expected = np.where(is_global[:, :, None] != 0, every, local)
    check([result], (np.where(mask[:, :, None] < 0, 0, expected),))


@pytest.mark.parametrize("are_constants", [False, True])
@pytest.mark.parametrize("flags", [(s, u, p) for s in (0, 1) for u in (0, 1) for p in (0, 1)], ids=str)
def test_attention_of_a_decoder(flags: tuple[int, int, int], are_constants: bool) -> None:
    is_cross, uses_past, has_padding = flags
    length, cached, others = 3, 5, 4
    x, other = normal(length, BATCH, 6), normal(others, BATCH, 6)
    weight, pair, bias = normal(6, WIDTH), normal(6, 2 * WIDTH), normal(3 * WIDTH)
    caches = [normal(BATCH, HEADS, cached, SIZE) for _ in range(2)]
    rows, columns = (other if is_cross else x).swapaxes(0, 1), bias[WIDTH:]
    key, value = projected(rows, pair, columns)
    if uses_past:
        fresh = [key[:, :, :0], value[:, :, :0]] if is_cross else [key, value]
        key, value = (np.concatenate([old, new], 2) for old, new in zip(caches, fresh, strict=True))
    padding = np.zeros((BATCH, key.shape[2]), bool)
    padding[1, -2:] = True
    switches = [np.array([bool(flag)]) for flag in (is_cross, uses_past, True, has_padding)]
    inputs = [x, other, weight, pair, bias, padding, *caches, *switches]
    query = projected(x.swapaxes(0, 1), weight, bias[:WIDTH])[0]
    hidden = np.where(padding, -np.inf, 0)[:, None, None] if has_padding else 0
    expected = (attended(query, key, value, hidden).swapaxes(0, 1), key, value)
    results = decode(inputs, (8, 9, 10, 11) if are_constants else ())
    check(results, expected)


def decode(inputs: list[np.ndarray], constants: tuple[int, ...]) -> object:
    symbols = {(0, 0): "s", (0, 1): "b", (1, 0): "t", (1, 1): "b", (5, 0): "b", (5, 1): "k", (6, 0): "b", (7, 0): "b"}
    symbols |= {(6, 2): "c", (7, 2): "c"}
    case = Case("DecoderAttention", inputs, 3, {"num_heads": HEADS}, symbols=symbols, constants=constants)
    model, feeds = build(case, dynamic=True)
    return perpend.compile(model)(**feeds)
