"""PyTorch's recurrent networks: each layer is one composite, with its gates in the composite's order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._perpend import Value
from .call import Call
from .types import torch_dtype

# PyTorch's position of each gate of the composite: update and reset; input, output, forget and candidate.
GATES = {"rnn": [0], "gru": [1, 0, 2], "lstm": [0, 3, 1, 2]}


def reordered(call: Call, kind: str, weight: Value) -> Value:
    order = GATES[kind]
    if len(order) == 1:
        return weight
    parts = call.ops("split", weight, axis=0, num_outputs=len(order))
    return call.op("concat", *[parts[gate] for gate in order], axis=0)


def stacked(call: Call, values: list[Value]) -> Value:
    return call.op("stack", *values, axis=0)


def layer(
    call: Call, kind: str, value: Value, directions: list[list[Value]], states: list[Value], **attributes: Any
) -> list[Value]:
    """`directions`: W, R and optional biases. Returns [time, batch, directions * units], then the last states."""
    weights = [[reordered(call, kind, weight) for weight in direction] for direction in directions]
    joined = [stacked(call, [direction[i] for direction in weights]) for i in range(2)]
    bias = stacked(call, [call.op("concat", *d[2:], axis=0) for d in weights]) if len(weights[0]) > 2 else None
    attributes["direction"] = "bidirectional" if len(directions) == 2 else "forward"
    output, *last = call.ops(kind, value, *joined, bias, None, *states, **attributes)
    parts = [call.op("squeeze", part, axes=[1]) for part in call.ops("split", output, axis=1, num_outputs=len(weights))]
    return [call.op("concat", *parts, axis=2), *last]


def zero_rows(call: Call, gates: Value, count: int, units: Any, rows: Any) -> Value:
    """Appends rows of zeros to each gate: [count * units, ..] to [count * (units + rows), ..]."""
    rest = gates.shape[1:]
    split = call.reshape(gates, [count, units, *rest])
    zeros = call.op("expand", call.number(0, torch_dtype(gates.dtype)), shape=[count, rows, *rest])
    return call.reshape(call.op("concat", split, zeros, axis=1), [count * (units + rows), *rest])


def sizes_of(projection: Value) -> list[int]:
    return [int(extent) for extent in projection.shape]


def projected_direction(call: Call, direction: list[Value]) -> list[Value]:
    """W, R, biases and P of h = P hidden as a layer on the hidden units themselves, with recurrence matrix R P.

    The initial state is given after the projection. It enters through additional units; their gates are zero, so they
    are zero after the first step.
    """
    weight, recurrence, *biases, projection = direction
    size, units = sizes_of(projection)
    both = call.op("concat", call.op("matmul", recurrence, projection), recurrence, axis=1)
    return [zero_rows(call, part, 4, units, size) for part in (weight, both, *biases)]


def projected_layer(
    call: Call, kind: str, value: Value, directions: list[list[Value]], states: list[Value], **attributes: Any
) -> list[Value]:
    """An LSTM layer with a projected hidden state."""
    size, units = sizes_of(directions[0][-1])
    hidden, cell = states

    def zeros(state: Value, extent: int) -> Value:
        return call.op("expand", call.number(0, torch_dtype(state.dtype)), shape=[*state.shape[:2], extent])

    widened = [
        call.op("concat", zeros(hidden, units), hidden, axis=2),
        call.op("concat", cell, zeros(cell, size), axis=2),
    ]
    widened_directions = [projected_direction(call, direction) for direction in directions]
    output, last, last_cell = layer(call, kind, value, widened_directions, widened, **attributes)
    outputs, lasts = [], []
    for index, direction in enumerate(directions):
        begin = index * (units + size)
        projection = call.op("transpose", direction[-1], perm=[1, 0])
        part = call.op("slice", output, starts=[begin], ends=[begin + units], axes=[2])
        outputs.append(call.op("matmul", part, projection))
        part = call.op("slice", last, starts=[index, 0], ends=[index + 1, units], axes=[0, 2])
        lasts.append(call.op("matmul", part, projection))
    last_cell = call.op("slice", last_cell, starts=[0], ends=[units], axes=[2])
    return [call.op("concat", *outputs, axis=2), call.op("concat", *lasts, axis=0), last_cell]


def recurrent(kind: str, **attributes: Any) -> Callable[[Call], Any]:
    def convert(call: Call) -> list[Value]:
        if "hx" not in call or "batch_first" not in call:
            raise call.fail("packed sequences are not supported\nhint: pad the sequences")
        if call["train"] and call["dropout"]:
            raise call.fail("dropout between layers\nhint: use model.eval()")
        count = 2 if call["bidirectional"] else 1
        parameters = call["params"]
        width = len(parameters) // (count * call["num_layers"])
        is_projected = width > (4 if call["has_biases"] else 2)
        states = call["hx"] if isinstance(call["hx"], list) else [call["hx"]]
        value = call.tensor("input")
        if call["batch_first"]:
            value = call.op("transpose", value, perm=[1, 0, 2])
        collected: list[list[Value]] = [[] for _ in states]
        for index in range(call["num_layers"]):
            rows = slice(index * count, (index + 1) * count)
            directions = [parameters[width * d : width * (d + 1)] for d in range(rows.start, rows.stop)]
            own = [call.op("slice", state, starts=[rows.start], ends=[rows.stop], axes=[0]) for state in states]
            convert_layer = projected_layer if is_projected else layer
            value, *last = convert_layer(call, kind, value, directions, own, **attributes)
            for states_of, state in zip(collected, last, strict=True):
                states_of.append(state)
        if call["batch_first"]:
            value = call.op("transpose", value, perm=[1, 0, 2])
        return [value, *[call.op("concat", *states_of, axis=0) for states_of in collected]]

    return convert


RECURRENT = {
    "aten.lstm": recurrent("lstm"),
    "aten.gru": recurrent("gru", linear_before_reset=1),
    "aten.rnn_tanh": recurrent("rnn"),
    "aten.rnn_relu": recurrent("rnn", activations="relu"),
}
