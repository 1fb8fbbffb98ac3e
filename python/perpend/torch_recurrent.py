"""PyTorch's recurrent networks: each layer is one composite, with its gates in the composite's order."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._perpend import Value

if TYPE_CHECKING:
    from .torch_frontend import Call

# Where the composite's gates are among PyTorch's: update and reset; input, output, forget and candidate.
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
    """`directions`: W, R and perhaps their biases. Returns [time, batch, directions * units], then the last states."""
    weights = [[reordered(call, kind, weight) for weight in direction] for direction in directions]
    joined = [stacked(call, [direction[i] for direction in weights]) for i in range(2)]
    bias = stacked(call, [call.op("concat", *d[2:], axis=0) for d in weights]) if len(weights[0]) > 2 else None
    attributes["direction"] = "bidirectional" if len(directions) == 2 else "forward"
    output, *last = call.ops(kind, value, *joined, bias, None, *states, **attributes)
    parts = [call.op("squeeze", part, axes=[1]) for part in call.ops("split", output, axis=1, num_outputs=len(weights))]
    return [call.op("concat", *parts, axis=2), *last]


def recurrent(kind: str, **attributes: Any) -> Callable[[Call], Any]:
    def convert(call: Call) -> list[Value]:
        if "hx" not in call or "batch_first" not in call:
            raise call.fail("packed sequences are not supported\nhint: pad the sequences")
        if call["train"] and call["dropout"]:
            raise call.fail("dropout between layers\nhint: use model.eval()")
        count, biased = 2 if call["bidirectional"] else 1, call["has_biases"]
        parameters, width = call["params"], 4 if biased else 2
        if len(parameters) != width * count * call["num_layers"]:
            raise call.fail("projections of the state are not supported\nhint: set proj_size to 0")
        states = call["hx"] if isinstance(call["hx"], list) else [call["hx"]]
        value = call.tensor("input")
        if call["batch_first"]:
            value = call.op("transpose", value, perm=[1, 0, 2])
        collected: list[list[Value]] = [[] for _ in states]
        for index in range(call["num_layers"]):
            rows = slice(index * count, (index + 1) * count)
            directions = [parameters[width * d : width * (d + 1)] for d in range(rows.start, rows.stop)]
            own = [call.op("slice", state, starts=[rows.start], ends=[rows.stop], axes=[0]) for state in states]
            value, *last = layer(call, kind, value, directions, own, **attributes)
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
