"""Attention in one kernel, be it separate operators or one: products of rows with a softmax between them."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import perpend
import pytest
from cli.tool import succeed
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Dims = list[str | int]

MASKS: dict[str, Dims | None] = {
    "none": None,
    "keys": ["b", 1, 1, "m"],
    "pairs": ["n", "m"],
    "heads": [1, 3, "n", "m"],
    "all": ["b", 3, "n", "m"],
}
LENGTHS = [(1, 1, 1), (2, 7, 13), (1, 61, 33), (1, 97, 64), (2, 1, 50), (1, 3, 257), (1, 0, 5), (0, 4, 4)]


def model(mask: Dims | None, size: int, columns: int, scale_query: bool = False) -> onnx.ModelProto:
    shapes: dict[str, Dims] = {"q": ["b", 3, "n", size], "k": ["b", 3, "m", size], "v": ["b", 3, "m", columns]}
    shapes |= {"mask": mask} if mask else {}
    scaled = ["q", "k_t"] if not scale_query else ["q_scaled", "k_t"]
    nodes = [helper.make_node("Transpose", ["k"], ["k_t"], perm=[0, 1, 3, 2])]
    nodes += [helper.make_node("Mul", ["q", "scale"], ["q_scaled"])] if scale_query else []
    nodes += [helper.make_node("MatMul", scaled, ["products"])]
    nodes += [] if scale_query else [helper.make_node("Mul", ["products", "scale"], ["scores"])]
    value = "products" if scale_query else "scores"
    if mask:
        nodes.append(helper.make_node("Add", [value, "mask"], ["masked"]))
        value = "masked"
    nodes += [helper.make_node("Softmax", [value], ["p"]), helper.make_node("MatMul", ["p", "v"], ["y"])]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["b", 3, "n", columns])]
    scale = numpy_helper.from_array(np.float32(size**-0.5), "scale")
    graph = helper.make_graph(nodes, "attention", inputs, outputs, [scale])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def expected(q: NDArray[Any], k: NDArray[Any], v: NDArray[Any], mask: NDArray[Any] | float = 0.0) -> NDArray[Any]:
    scores = q.astype(np.float64) @ k.swapaxes(2, 3) * q.shape[-1] ** -0.5 + mask
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    result: NDArray[Any] = exponentials / exponentials.sum(-1, keepdims=True) @ v
    return result


def operator(mask: Dims | None, heads: int, **attributes: int) -> onnx.ModelProto:
    """ONNX's operator, with 6 heads of queries."""
    shapes: dict[str, Dims] = {"q": ["b", 6, "n", 8], "k": ["b", heads, "m", 8], "v": ["b", heads, "m", 16]}
    shapes |= {"mask": mask} if mask else {}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["b", 6, "n", 16])]
    graph = helper.make_graph(
        [helper.make_node("Attention", list(shapes), ["y"], **attributes)], "attention", inputs, outputs
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def check(text: onnx.ModelProto, lengths: list[tuple[int, int, int]], threads: int = 1) -> None:
    compiled = perpend.compile(text, threads=threads)
    causal = any(a.name == "is_causal" for node in text.graph.node for a in node.attribute)
    for number, sizes in enumerate(lengths):
        random, symbols = np.random.default_rng(number), dict(zip("bnm", sizes, strict=True))
        feeds = {
            value.name: random.standard_normal(
                [d.dim_value or symbols.get(d.dim_param, 0) for d in value.type.tensor_type.shape.dim], np.float32
            )
            for value in text.graph.input
        }
        got = compiled(**feeds)
        heads = feeds["q"].shape[1]
        feeds |= {name: feeds[name].repeat(heads // feeds[name].shape[1], axis=1) for name in "kv"}
        if causal:
            feeds["mask"] = np.where(np.tri(sizes[1], sizes[2], dtype=bool), 0, -np.inf)
        np.testing.assert_allclose(got, expected(**feeds), rtol=1e-4, atol=1e-5, err_msg=str(sizes))


@pytest.mark.parametrize("mask", MASKS)
def test_masks_and_lengths(mask: str) -> None:
    check(model(MASKS[mask], 16, 16), LENGTHS)


@pytest.mark.parametrize(("size", "columns"), [(5, 5), (64, 40), (1, 1), (33, 100)])
def test_sizes_of_heads(size: int, columns: int) -> None:
    check(model(MASKS["keys"], size, columns), LENGTHS)


def test_the_query_is_scaled() -> None:
    check(model(MASKS["pairs"], 16, 16, scale_query=True), LENGTHS)


def test_some_rows_see_nothing_but_one_key() -> None:
    compiled = perpend.compile(model(["n", "m"], 16, 16))
    random = np.random.default_rng(0)
    feeds = {name: random.standard_normal((1, 3, 20, 16), np.float32) for name in "qkv"}
    feeds["mask"] = np.where(np.tri(20, dtype=bool), 0, -np.inf).astype(np.float32)
    np.testing.assert_allclose(compiled(**feeds), expected(**feeds), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mask", [None, ["n", "m"], ["b", 1, 1, "m"], ["b", 6, "n", "m"]], ids=str)
@pytest.mark.parametrize("heads", [1, 2, 6])
def test_heads_that_share_keys(heads: int, mask: Dims | None) -> None:
    check(operator(mask, heads), LENGTHS)


@pytest.mark.parametrize("heads", [2, 6])
def test_causal(heads: int) -> None:
    check(operator(None, heads, is_causal=1), LENGTHS, threads=2)


@pytest.mark.parametrize(
    "text",
    [model(MASKS["all"], 16, 16), operator(None, 6, is_causal=1), operator(["n", "m"], 2)],
    ids=["separate", "causal", "shared"],
)
def test_scores_are_in_no_kernel_but_one(text: onnx.ModelProto, tmp_path: Path) -> None:
    onnx.save(text, tmp_path / "model.onnx")
    module = succeed("inspect", "model.onnx", "--stage", "fuse", folder=tmp_path)
    assert sum("tile.matmul" in kernel for kernel in module.split("func.func private")) == 1


def layer(queries: int, keys: int, heads: int, size: int) -> onnx.ModelProto:
    """Fixed sizes, a projection before and one behind; heads lie in rows of memory."""
    width = heads * size
    weights = np.random.default_rng(0).standard_normal((width, width), np.float32) / np.float32(width**0.5)
    arrays = {"w": weights, "scale": np.float32(size**0.5), "whole": np.array([1, queries, width])}
    arrays |= {"of_rows": np.array([1, queries, heads, size]), "of_keys": np.array([1, keys, heads, size])}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["projected"])]
    for name, source, shape, order in [
        ("q", "projected", "of_rows", [0, 2, 1, 3]),
        ("k", "keys", "of_keys", [0, 2, 3, 1]),
        ("v", "values", "of_keys", [0, 2, 1, 3]),
    ]:
        nodes.append(helper.make_node("Reshape", [source, shape], [f"{name}_rows"]))
        nodes.append(helper.make_node("Transpose", [f"{name}_rows"], [name], perm=order))
    nodes += [
        helper.make_node("MatMul", ["q", "k"], ["products"]),
        helper.make_node("Div", ["products", "scale"], ["s"]),
    ]
    nodes += [helper.make_node("Softmax", ["s"], ["p"]), helper.make_node("MatMul", ["p", "v"], ["by_head"])]
    nodes.append(helper.make_node("Transpose", ["by_head"], ["by_row"], perm=[0, 2, 1, 3]))
    nodes += [helper.make_node("Reshape", ["by_row", "whole"], ["z"]), helper.make_node("MatMul", ["z", "w"], ["y"])]
    shapes = {"x": [1, queries, width], "keys": [1, keys, width], "values": [1, keys, width]}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, shapes["x"])]
    initializers = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "layer", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("precision", ["f32", "bf16", "f16", "int8"])
@pytest.mark.parametrize(("queries", "keys"), [(784, 49), (784, 50), (196, 49), (49, 49), (64, 13), (2000, 77)])
def test_windows_and_other_odd_lengths(queries: int, keys: int, precision: str, tmp_path: Path) -> None:
    """Words of two bf16 want an even number of keys: zeros stand behind the rows of the softmax, which is in the kernel
    of both products or only of the first."""
    onnx.save(layer(queries, keys, 2, 32), tmp_path / "layer.onnx")
    assert "the outputs agree" in succeed("check", "layer.onnx", "--precision", precision, folder=tmp_path)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_powers_of_softmax_are_not_subnormal(kind: type[np.floating[Any]]) -> None:
    """A multiplication by each of them would take some hundred cycles."""
    least = np.finfo(np.float64 if kind == np.float64 else np.float32).smallest_normal
    x = np.array([np.log([1.0, 2 * least, least / 2, 1e-3]), [-np.inf, -np.inf, 1, 1], np.full(4, np.nan)]).astype(kind)
    type_of_x = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    values = [helper.make_tensor_value_info(name, type_of_x, ["n", 4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Softmax", ["x"], ["y"])], "rows", values[:1], values[1:])
    result = np.asarray(perpend.compile(helper.make_model(graph))(x))
    first = x[0].astype(np.float64)
    expected = np.exp(first - np.logaddexp.reduce(first))
    expected[2] = 0
    np.testing.assert_allclose(result[0], expected.astype(kind), rtol=2e-3 if kind == np.float16 else 1e-5)
    assert result[0, 2] == 0 and (result[1] == [0, 0, 0.5, 0.5]).all() and np.isnan(result[2]).all()
