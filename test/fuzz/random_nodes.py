"""Models of one node of any operator, with inputs, attributes and outputs that its schema counts but need not allow."""

from __future__ import annotations

import random
from typing import Any

import onnx
from onnx import TensorProto, helper

TYPES = [TensorProto.FLOAT] * 3 + [
    TensorProto.INT64, TensorProto.STRING, TensorProto.BOOL, TensorProto.UINT8, TensorProto.DOUBLE,
    TensorProto.FLOAT16, TensorProto.INT32]  # fmt: skip
EXTENTS: list[int | str] = [0, 1, 2, 3, 3, "n", "m"]
WITH_BODIES = {"If", "Loop", "Scan", "SequenceMap"}
SCHEMAS = [
    schema
    for schema in onnx.defs.get_all_schemas()
    if schema.domain in ("", "ai.onnx.ml") and schema.name not in WITH_BODIES
]


def attribute(rng: random.Random, kind: str) -> Any:
    return {
        "INT": lambda: rng.choice([0, 1, -1, 2, 5, -100, 2**40]),
        "FLOAT": lambda: rng.choice([0.0, 1.0, -1.5]),
        "STRING": lambda: rng.choice(["", "linear", "SAME_UPPER", "ij,jk->ik", "unknown"]),
        "INTS": lambda: [rng.choice([0, 1, -1, 2, 3, 7]) for _ in range(rng.randint(1, 4))],
        "FLOATS": lambda: [0.5, 2.0],
        "STRINGS": lambda: ["a", "b"],
    }.get(kind, lambda: None)()


def values(rng: random.Random, kind: int, shape: list[int]) -> list[float]:
    count = 1
    for extent in shape:
        count *= extent
    most = 2**40 if kind == TensorProto.INT64 else 1e9
    return [rng.choice([0, 1, -1, 2, 3, -5, most]) for _ in range(count)]


def random_node(seed: int) -> onnx.ModelProto:
    rng = random.Random(seed)
    schema = rng.choice(SCHEMAS)
    count = rng.randint(schema.min_input, min(schema.max_input, schema.min_input + 2))
    common_type, common_rank, likeness = rng.choice(TYPES), rng.randint(0, 4), rng.random()
    inputs, initializers = [], []
    for name in (f"x{i}" for i in range(count)):
        rank = common_rank if rng.random() < likeness else rng.randint(0, 4)
        kind = common_type if rng.random() < 0.75 else rng.choice(TYPES)
        shape = [rng.choice(EXTENTS) for _ in range(rank)]
        if inputs and kind in (TensorProto.INT64, TensorProto.FLOAT) and rng.random() < 0.5:
            numbers = [extent if isinstance(extent, int) else 2 for extent in shape]
            initializers.append(helper.make_tensor(name, kind, numbers, values(rng, kind, numbers)))
        else:
            inputs.append(helper.make_tensor_value_info(name, kind, shape))
    given = {
        name: value
        for name, about in schema.attributes.items()
        if rng.random() < (0.9 if about.required else 0.3)
        and (value := attribute(rng, about.type.name)) is not None
    }  # fmt: skip
    outputs = [f"y{i}" for i in range(rng.randint(max(1, schema.min_output), max(1, min(schema.max_output, 3))))]
    names = [f"x{i}" for i in range(count)]
    node = helper.make_node(schema.name, names, outputs, "node", domain=schema.domain, **given)
    declared = [onnx.ValueInfoProto(name=name) for name in outputs]
    version = rng.choice([onnx.defs.onnx_opset_version(), 13, 20])
    opsets = [helper.make_opsetid("", version), helper.make_opsetid("ai.onnx.ml", 3)]
    graph = helper.make_graph([node], "g", inputs, declared, initializers)
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)
