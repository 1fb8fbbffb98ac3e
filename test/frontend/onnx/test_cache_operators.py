"""Operators that write into a buffer of keys and values: as a state, it is written in place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import perpend
import pytest
from cli.tool import succeed
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

HEADS, KEY_HEADS, SIZE, ROOM = 4, 2, 8, 12
Floats = NDArray[np.float32]


def model(nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, Any], constants: Any = ()) -> onnx.ModelProto:
    def infos(tensors: dict[str, Any]) -> list[Any]:
        return [helper.make_tensor_value_info(name, *info) for name, info in tensors.items()]

    graph = helper.make_graph(nodes, "cache", infos(inputs), infos(outputs), list(constants))
    sets = [helper.make_opsetid("", 24), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=10)


def grouped_attention() -> onnx.ModelProto:
    names = ["q", "k", "v", "past_key", "past_value", "last", "total"]
    node = helper.make_node(
        "GroupQueryAttention",
        names,
        ["y", "present_key", "present_value"],
        domain="com.microsoft",
        num_heads=HEADS,
        kv_num_heads=KEY_HEADS,
    )
    f, i = TensorProto.FLOAT, TensorProto.INT32
    buffer = (f, [1, KEY_HEADS, ROOM, SIZE])
    keys = (f, [1, "n", KEY_HEADS * SIZE])
    inputs = {"q": (f, [1, "n", HEADS * SIZE]), "k": keys, "v": keys, "past_key": buffer, "past_value": buffer}
    inputs |= {"last": (i, [1]), "total": (i, [])}
    return model([node], inputs, {"y": (f, None), "present_key": buffer, "present_value": buffer})


def in_plan(proto: onnx.ModelProto, folder: Path, states: str) -> str:
    onnx.save(proto, folder / "model.onnx")
    return succeed("inspect", folder / "model.onnx", "--state", states, "--stage", "plan", folder=folder)


def test_grouped_attention_over_a_shared_buffer(tmp_path: Path) -> None:
    proto = grouped_attention()
    plain = perpend.compile(proto)
    kept = perpend.compile(proto, states={"past_*": "present_*"})
    generator = np.random.default_rng(0)
    past = [np.zeros((1, KEY_HEADS, ROOM, SIZE), np.float32)] * 2
    total = 0
    for count in (4, 1, 1, 3, 1):
        q = generator.standard_normal((1, count, HEADS * SIZE)).astype(np.float32)
        k, v = (generator.standard_normal((1, count, KEY_HEADS * SIZE)).astype(np.float32) for _ in range(2))
        total += count
        lengths = (np.array([total - 1], np.int32), np.array(total, np.int32))
        y, *past = plain(q, k, v, *past, *lengths)
        np.testing.assert_allclose(kept(q, k, v, *lengths), y, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(y, attention(q, past[0], past[1], total), rtol=1e-4, atol=1e-4)
        split = k.reshape(1, count, KEY_HEADS, SIZE).transpose(0, 2, 1, 3)
        np.testing.assert_array_equal(past[0][:, :, total - count : total], split)
    np.testing.assert_array_equal(kept.states["past_key"], past[0])
    np.testing.assert_array_equal(kept.states["past_value"], past[1])
    with pytest.raises(ValueError, match="total_sequence_length is more than the buffer of keys and values has"):
        kept(q, q[..., : KEY_HEADS * SIZE], q[..., : KEY_HEADS * SIZE], lengths[0], np.array(ROOM + 1, np.int32))
    said = in_plan(proto, tmp_path, "past_*=present_*")
    assert said.count("host.in_place") == 2
    copies = [line for line in said.splitlines() if "host.copy" in line]
    assert all(f"[1, {KEY_HEADS}, n, {SIZE}]" in line for line in copies), copies


def attention(q: Floats, keys: Floats, values: Floats, total: int) -> Floats:
    count = q.shape[1]
    queries = q.reshape(1, count, HEADS, SIZE).transpose(0, 2, 1, 3)
    k, v = (np.repeat(x[:, :, :total], HEADS // KEY_HEADS, 1) for x in (keys, values))
    scores = queries @ k.transpose(0, 1, 3, 2) / np.sqrt(SIZE)
    seen = np.arange(total)[None] <= np.arange(total - count, total)[:, None]
    scores = np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    result: Floats = (weights / weights.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3).reshape(1, count, -1)
    return result


def scatter(mode: str, batch: int, count: int | str, axis: int) -> onnx.ModelProto:
    f = TensorProto.FLOAT
    room = [batch, 2, 3, 4]
    room[axis] = 5
    block: list[int | str] = list(room)
    block[axis] = count
    nodes = [
        helper.make_node("TensorScatter", ["past", "x", "at"], ["present"], mode=mode, axis=axis),
        helper.make_node("ReduceSum", ["present", "axes"], ["y"], keepdims=0),
    ]
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [axis])
    inputs = {"past": (f, room), "x": (f, block), "at": (TensorProto.INT64, [batch])}
    return model(nodes, inputs, {"y": (f, None), "present": (f, room)}, [axes])


@pytest.mark.parametrize(
    ("mode", "batch", "count", "axis"),
    [("linear", 1, "n", 2), ("linear", 1, "n", 1), ("circular", 1, 1, 2), ("circular", 1, "n", 2), ("linear", 2, 1, 2)],
)
def test_tensor_scatter(mode: str, batch: int, count: int | str, axis: int, tmp_path: Path) -> None:
    proto = scatter(mode, batch, count, axis)
    kept = perpend.compile(proto, states={"past": "present"})
    expected = np.zeros([5 if dim == axis else extent for dim, extent in enumerate([batch, 2, 3, 4])], np.float32)
    generator = np.random.default_rng(1)
    for number, start in enumerate((0, 2, 3, 1) + ((4, 7) if mode == "circular" else ())):
        rows = 1 if count == 1 or number % 2 else 2
        shape = list(expected.shape)
        shape[axis] = rows
        x = generator.standard_normal(shape).astype(np.float32)
        starts = np.full(batch, start, np.int64)
        starts[1:] = 0
        for item in range(batch):
            for row in range(rows):
                place = (starts[item] + row) % 5
                np.moveaxis(expected[item], axis - 1, 0)[place] = np.moveaxis(x[item], axis - 1, 0)[row]
        np.testing.assert_allclose(kept(x, starts), expected.sum(axis), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(kept.states["past"], expected)
    is_piece = batch == 1 and (mode == "linear" or count == 1)
    assert ("host.in_place" in in_plan(proto, tmp_path, "past=present")) == is_piece


@pytest.mark.parametrize("sinks", [(), ("sinks",)])
def test_attention_is_one_kernel(sinks: tuple[str, ...], tmp_path: Path) -> None:
    """Scores, softmax (with a sink of each head or without) and values. The mask, which all heads share, is another."""
    names = ["q", "k", "v", "past_key", "past_value", "last", "total", *[""] * 4, *sinks]
    attributes = {"domain": "com.microsoft", "num_heads": HEADS, "kv_num_heads": KEY_HEADS}
    node = helper.make_node("GroupQueryAttention", names[: 7 + 5 * len(sinks)], ["y", "keys", "values"], **attributes)
    f, i = TensorProto.FLOAT, TensorProto.INT32
    past, present = (f, [1, KEY_HEADS, "past", SIZE]), (f, None)
    inputs = {
        "q": (f, [1, "n", HEADS * SIZE]),
        "k": (f, [1, "n", KEY_HEADS * SIZE]),
        "v": (f, [1, "n", KEY_HEADS * SIZE]),
    }
    inputs |= {"past_key": past, "past_value": past, "last": (i, [1]), "total": (i, [])}
    constants = [numpy_helper.from_array(np.linspace(-1, 1, HEADS, dtype=np.float32), name) for name in sinks]
    proto = model([node], inputs, {"y": (f, [1, "n", HEADS * SIZE]), "keys": present, "values": present}, constants)
    onnx.save(proto, tmp_path / "model.onnx")
    text = succeed("inspect", tmp_path / "model.onnx", "--stage", "fuse", folder=tmp_path)
    bodies = re.findall(r"func\.func private @\w+\((.*?)\n  }\n", text, re.DOTALL)
    whole = [body for body in bodies if "tile.matmul" in body]
    assert len(whole) == 1 and whole[0].count("tile.matmul") == 2 and "graph.generate" not in whole[0]
