"""Operators of the domain com.microsoft with a state per sequence, against numpy: ONNX Runtime has them for other
processors only."""

from __future__ import annotations

import itertools

import numpy as np
import perpend
import pytest
from operator_cases import normal, positive
from test_microsoft_packing import as_list, run

BOUNDS = np.array([0, 3, 3, 4, 9], np.int32)  # lengths 3, 0, 1 and 5
COUNT, TOKENS = len(BOUNDS) - 1, int(BOUNDS[-1])
KEY_HEADS, HEADS, KEY_SIZE, SIZE = 2, 6, 5, 3


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-12)


def recurrence(query, key, value, decay, rate, state, rule: str, scale: float):
    """One sequence, token by token, in f64; the state is [heads, key size, value size]."""
    outputs, repeats = [], value.shape[1] // query.shape[1]
    for q, k, v, g, r in zip(query, key, value, decay, rate, strict=True):
        q, k = q.repeat(repeats, 0), k.repeat(repeats, 0)
        if rule.startswith("gated"):
            state = state * np.exp(g).reshape(len(g), -1, 1)
        delta = v - np.einsum("hkv,hk->hv", state, k) if rule.endswith("delta") else v
        state = state + k[:, :, None] * (r[:, None] * delta)[:, None]
        outputs.append(np.einsum("hkv,hk->hv", state, q) * scale)
    return np.array(outputs).reshape(value.shape), state


def delta_inputs(bounds: np.ndarray, per_key: bool) -> list[np.ndarray | None]:
    tokens, count = int(bounds[-1]), len(bounds) - 1
    decay = -positive(tokens, HEADS, KEY_SIZE) if per_key else -positive(tokens, HEADS)
    return [
        normal(tokens, KEY_HEADS, KEY_SIZE),
        unit(normal(tokens, KEY_HEADS, KEY_SIZE)).astype(np.float32),
        normal(tokens, HEADS, SIZE),
        bounds,
        decay,
        positive(tokens, HEADS) / 2,
        normal(count, HEADS, SIZE, KEY_SIZE),
    ]


def delta_net(inputs: list[np.ndarray | None], bounds: np.ndarray, rule: str, scale: float):
    query, key, value, _, decay, rate, states = (None if x is None else x.astype(np.float64) for x in inputs)
    decay = np.zeros(value.shape[:2]) if decay is None else decay
    rate = np.ones(value.shape[:2]) if rate is None else rate
    outputs, last = [], []
    for number, (start, end) in enumerate(itertools.pairwise(bounds)):
        state = np.zeros((HEADS, KEY_SIZE, SIZE)) if states is None else states[number].swapaxes(1, 2)
        own = [x[start:end] for x in (query, key, value, decay, rate)]
        y, state = recurrence(*own, state, rule, scale)
        outputs.append(y)
        last.append(state.swapaxes(1, 2))
    return np.concatenate(outputs), np.array(last).reshape(len(bounds) - 1, HEADS, SIZE, KEY_SIZE)


DELTA_SYMBOLS = {(0, 0): "t", (1, 0): "t", (2, 0): "t", (3, 0): "n", (4, 0): "t", (5, 0): "t", (6, 0): "b"}


def check(results: object, expected: tuple[np.ndarray, ...], tolerance: float = 2e-5) -> None:
    for got, wanted in zip(as_list(results), expected, strict=True):
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got.astype(np.float64), wanted, tolerance, tolerance)


@pytest.mark.parametrize(
    ("rule", "bounds"),
    [
        ("linear", BOUNDS),
        ("gated", BOUNDS),
        ("delta", BOUNDS),
        ("gated_delta", BOUNDS),
        ("gated_delta", np.array([0, 0, 0], np.int32)),
        ("gated_delta", np.array([0, 7], np.int32)),
    ],
    ids=str,
)
def test_delta_net_of_packed_sequences(rule: str, bounds: np.ndarray) -> None:
    inputs = delta_inputs(bounds, per_key=False)
    results = run("GatedDeltaNet", inputs, 2, DELTA_SYMBOLS, update_rule=rule)
    check(results, delta_net(inputs, bounds, rule, 1 / np.sqrt(KEY_SIZE)))


@pytest.mark.parametrize(
    ("rule", "absent"),
    [("gated", ()), ("gated", (4, 5)), ("gated_delta", (4,)), ("gated_delta", (5,)), ("gated_delta", (6,))],
    ids=str,
)
def test_delta_net_without_optional_inputs(rule: str, absent: tuple[int, ...]) -> None:
    """A missing decay is none, a missing rate 1, a missing state 0."""
    inputs = [None if i in absent else x for i, x in enumerate(delta_inputs(BOUNDS, per_key=True))]
    symbols = {place: name for place, name in DELTA_SYMBOLS.items() if place[0] not in absent}
    results = run("GatedDeltaNet", inputs, 2, symbols, update_rule=rule, scale=0.5)
    check(results, delta_net(inputs, BOUNDS, rule, 0.5))


@pytest.mark.parametrize("per_key", [False, True])
@pytest.mark.parametrize("form", ["packed", "uniform", "batches"])
def test_delta_net_with_its_activations(form: str, per_key: bool) -> None:
    """The gates as Qwen's layers compute them, on each way to lay out the tokens."""
    bounds = BOUNDS if form == "packed" else np.array([0, 4, 8], np.int32)
    inputs = delta_inputs(bounds, per_key)
    factor, bias = normal(HEADS), normal(HEADS)
    head = (slice(None), None) if per_key else slice(None)
    decay = -np.exp(factor)[head] * np.log1p(np.exp(inputs[4] + bias[head]))
    effective = [unit(inputs[0]), unit(inputs[1]), inputs[2], None, decay, sigmoid(inputs[5]), inputs[6]]
    expected = delta_net(effective, bounds, "gated_delta", 1 / np.sqrt(KEY_SIZE))
    given, symbols = [*inputs, factor, bias], DELTA_SYMBOLS
    if form != "packed":
        given[3], symbols = None, {place: name for place, name in symbols.items() if place[0] != 3}
    if form == "batches":
        given = [x if x is None or i in (6, 7, 8) else x.reshape(2, 4, *x.shape[1:]) for i, x in enumerate(given)]
        expected = (expected[0].reshape(2, 4, HEADS, SIZE), expected[1])
        symbols = {(i, axis): name for i in (0, 1, 2, 4, 5) for axis, name in enumerate("bs")} | {(6, 0): "b"}
    if form == "uniform":
        symbols = None
    attributes = {"gate_activation": "qwen", "beta_activation": "sigmoid", "qk_l2_norm": 1}
    check(run("GatedDeltaNet", given, 2, symbols, **attributes), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_delta_net_of_one_tensor(dtype: type) -> None:
    inputs = [x if i > 2 else x.astype(dtype) for i, x in enumerate(delta_inputs(BOUNDS, per_key=False))]
    packed = np.concatenate([x.reshape(TOKENS, -1) for x in inputs[:3]], 1)
    symbols = {place: name for place, name in DELTA_SYMBOLS.items() if place[0] not in (1, 2)}
    results = run("GatedDeltaNet", [packed, None, None, *inputs[3:]], 2, symbols)
    assert as_list(results)[0].dtype == dtype
    tolerance = 2e-5 if dtype == np.float32 else 2e-3
    check(results, delta_net(inputs, BOUNDS, "gated_delta", 1 / np.sqrt(KEY_SIZE)), tolerance)


@pytest.mark.parametrize("bounds", [[0, 3, 2, 9, 9], [1, 3, 3, 4, 9], [0, 3, 3, 4, 8], [0, 3, 3, 4, 10]], ids=str)
def test_bounds_that_do_not_fit_end_the_run(bounds: list[int]) -> None:
    inputs = delta_inputs(BOUNDS, per_key=False)
    inputs[3] = np.array(bounds, np.int32)
    with pytest.raises(ValueError, match="cu_seqlens: expected numbers that ascend from 0 to the number of tokens"):
        run("GatedDeltaNet", inputs, 2)


@pytest.mark.parametrize(
    ("changes", "attributes", "message"),
    [
        ({}, {"state_update_capacity": 2}, "state_update_capacity"),
        ({}, {"update_rule": "none"}, "expected the update_rule linear"),
        ({3: None, 6: None}, {}, "expected cu_seqlens or an initial_state"),
        ({1: None, 6: None}, {}, "expected query, key and value"),
        ({2: normal(TOKENS, 3, SIZE)}, {}, "a multiple of the others, got 3 and 2"),
        ({6: normal(COUNT, HEADS, KEY_SIZE, SIZE)}, {}, r"initial_state: expected shape \[4, 6, 3, 5\]"),
        ({5: positive(TOKENS, 2)}, {}, r"beta: expected shape \[9, 6\], got \[9, 2\]"),
        ({}, {"gate_activation": "qwen"}, "expected the vectors a_log and dt_bias"),
        ({}, {"gate_activation": "silu"}, "gate_activation none or qwen"),
    ],
)
def test_delta_nets_that_do_not_fit(changes: dict, attributes: dict, message: str) -> None:
    inputs = [changes.get(i, x) for i, x in enumerate(delta_inputs(BOUNDS, per_key=False))]
    with pytest.raises(perpend.CompileError, match=f"(?s)node 'node' .*{message}.*\nhint: "):
        run("GatedDeltaNet", inputs, 2, **attributes)


def causal_conv(x, weight, bounds, bias, states, dilation: int, activation: str):
    outputs, last = [], []
    for number, (start, end) in enumerate(itertools.pairwise(bounds)):
        history = np.concatenate([states[number], x[start:end].T], 1)
        y = np.zeros((end - start, x.shape[1])) + (0 if bias is None else bias)
        for tap in range(weight.shape[2]):
            y += (weight[:, 0, tap, None] * history[:, tap * dilation : tap * dilation + end - start]).T
        outputs.append(y if activation == "none" else y * sigmoid(y))
        last.append(history[:, end - start :])
    return np.concatenate(outputs), np.array(last)


@pytest.mark.parametrize(
    ("bounds", "kernel", "dilation", "activation"),
    [
        (BOUNDS, 4, 1, "none"),
        (BOUNDS, 3, 2, "silu"),
        (BOUNDS, 1, 1, "none"),
        (np.array([0, 1, 2, 3], np.int32), 4, 1, "swish"),
        (np.array([0, 0], np.int32), 3, 2, "none"),
    ],
    ids=str,
)
def test_causal_conv_of_packed_sequences(bounds: np.ndarray, kernel: int, dilation: int, activation: str) -> None:
    channels, tokens, count = 5, int(bounds[-1]), len(bounds) - 1
    states = normal(count, channels, (kernel - 1) * dilation)
    bias = normal(channels) if activation == "none" else None
    inputs = [normal(tokens, channels), normal(channels, 1, kernel), bounds, bias, states]
    symbols = {(0, 0): "t", (2, 0): "n", (4, 0): "b"}
    results = run("VarlenCausalConvWithState", inputs, 2, symbols, activation=activation, dilation=dilation)
    check(results, causal_conv(*inputs, dilation, activation))


def test_causal_conv_gives_out_the_first_tokens() -> None:
    x, capacity, counts = normal(TOKENS, 3), 4, np.array([2, 3, -1, 8], np.int32)
    inputs = [x, normal(3, 1, 2), BOUNDS, None, normal(COUNT, 3, 1), counts]
    symbols = {(0, 0): "t", (2, 0): "n", (4, 0): "b", (5, 0): "b"}
    results = run("VarlenCausalConvWithState", inputs, 3, symbols, state_update_capacity=capacity)
    expected = np.zeros((COUNT, capacity, 3))
    for number, (start, end) in enumerate(itertools.pairwise(BOUNDS)):
        length = max(0, min(capacity, counts[number], end - start))
        expected[number, :length] = x[start : start + length]
    check(results, (*causal_conv(*inputs[:5], 1, "none"), expected))


@pytest.mark.parametrize(
    ("changes", "attributes", "message"),
    [
        ({4: None}, {}, "expected the input 4, got an empty name"),
        ({}, {"state_update_capacity": 9}, "state_update_capacity from 0 to 8"),
        ({}, {"state_update_capacity": 1}, "a capture_count where that is positive"),
        ({4: normal(COUNT, 3, 2)}, {}, r"initial_state: expected shape \[4, 3, 1\], got \[4, 3, 2\]"),
        ({}, {"dilation": 0}, "dilation of at least 1"),
    ],
)
def test_causal_convs_that_do_not_fit(changes: dict, attributes: dict, message: str) -> None:
    given = [normal(TOKENS, 3), normal(3, 1, 2), BOUNDS, None, normal(COUNT, 3, 1)]
    inputs = [changes.get(i, x) for i, x in enumerate(given)]
    with pytest.raises(perpend.CompileError, match=f"(?s)node 'node' .*{message}.*\nhint: "):
        run("VarlenCausalConvWithState", inputs, 2, **attributes)
