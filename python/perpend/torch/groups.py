"""Products and convolutions in groups whose sizes or number are known only at run time: a loop over the groups."""

from __future__ import annotations

from typing import Any

import torch

from .._perpend import Value
from .call import Call
from .selection import iota


def grouped_product(call: Call) -> Value:
    """Multiplies rows of [n, k] by the matrix of their group, of [groups, k, m]; group g ends before row offs[g].

    Rows after the last group are zero.
    """
    rows, weights = (call.tensor(name) for name in (("self", "mat2") if "self" in call else ("input", "weight")))
    if call.get("bias") is not None or len(rows.shape) != 2 or len(weights.shape) != 3:
        raise call.fail(
            "expected rows [n, k], matrices [groups, k, m] and no bias"
            "\nhint: write other grouped products as a loop over torch.mm"
        )
    graph = call.converter.graph
    ends = call.tensor("offs", torch.int64)
    begins = call.op("concat", call.reshape(call.number(0, torch.int64), [1]), ends, axis=0)
    result = call.op("expand", call.number(0, call.dtype), shape=[rows.shape[0], weights.shape[2]])

    def iterate(group: Value, carried: list[Value]) -> tuple[None, list[Value], list[Value]]:
        begin, end = (call.op("gather", edges, group, axis=0) for edges in (begins, ends))
        count = graph.measure(call.op("max", call.op("sub", end, begin), call.number(0, torch.int64)))
        positions = call.op("add", iota(call, count), begin)
        product = call.op("matmul", call.op("gather", rows, positions), call.op("gather", weights, group))
        places = call.op("unsqueeze", positions, axes=[1])
        return None, [call.op("scatter_nd", carried[0], places, call.cast(product, call.dtype))], []

    return graph.loop(graph.dims([weights.shape[0]], scalar=True), None, [result], iterate)[0]


def measured_groups(
    call: Call, name: str, operands: tuple[Value, Value, Value | None], attributes: dict[str, Any]
) -> Value:
    """A convolution of [n, groups c, ..] whose number of groups is an extent, such as the batch: a loop."""
    value, weight, bias = operands
    groups, rank = attributes["group"], len(value.shape)
    channels = call.reshape(value, [value.shape[0], groups, -1, *value.shape[2:]])
    channels = call.op("transpose", channels, perm=[1, 0, *range(2, rank + 1)])
    filters = call.reshape(weight, [groups, -1, *weight.shape[1:]])

    def iterate(group: Value, _carried: list[Value]) -> tuple[None, list[Value], list[Value]]:
        own, filter = (call.op("gather", part, group, axis=0) for part in (channels, filters))
        return None, [], [call.op(name, own, filter, None, **{**attributes, "group": 1})]

    limit = call.converter.graph.dims([groups], scalar=True)
    result = call.converter.graph.loop(limit, None, [], iterate)[0]
    result = call.op("transpose", result, perm=[1, 0, *range(2, rank + 1)])
    result = call.reshape(result, [value.shape[0], -1, *result.shape[3:]])
    return result if bias is None else call.op("add", result, call.reshape(bias, [-1, *[1] * (rank - 2)]))


GROUPED = {"aten._grouped_mm": grouped_product, "transformers.grouped_mm_fallback": grouped_product}
