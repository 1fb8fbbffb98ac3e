"""Building graphs by hand: values, symbolic shapes, attributes, errors."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import perpend
import pytest
import torch
from perpend._perpend import Type


def test_a_graph_of_composites() -> None:
    graph = perpend.GraphBuilder("affine")
    x = graph.input("x", ["n", 3], "f32")
    weight = graph.constant(np.arange(6, dtype=np.float32).reshape(2, 3))
    (y,) = graph.composite("linear", [x, weight, None])
    assert (y.shape, y.dtype) == (["n", 2], "f32")
    (count,) = graph.composite("cast", [graph.dims(["2*n + 1"], scalar=True)], {"to": Type("f32")})
    (scaled,) = graph.composite("mul", [y, count])
    model = perpend.compile(graph.finish(["scaled"], [scaled]))
    values = np.ones((4, 3), np.float32)
    np.testing.assert_allclose(model(values), values @ np.arange(6).reshape(2, 3).T * 9)


def test_attributes_with_expressions() -> None:
    graph = perpend.GraphBuilder("slices")
    x = graph.input("x", ["n", 4], "i64")
    (half,) = graph.composite("slice", [x], {"starts": ["floordiv(n, 2)"], "ends": ["n"], "axes": [0]})
    parts = graph.composite("split", [half], {"axis": 1, "sizes": [1, 3]})
    assert [part.shape[1] for part in parts] == [1, 3]
    module = graph.finish(["a", "b"], parts)
    values = np.arange(20).reshape(5, 4)
    first, second = module.evaluate(values)
    np.testing.assert_array_equal(first, values[2:, :1])
    np.testing.assert_array_equal(second, values[2:, 1:])


def test_contents_follow_shapes() -> None:
    graph = perpend.GraphBuilder("contents")
    x = graph.input("x", ["n"], "f32")
    assert graph.dims(["n", 7]).contents == ["n", 7]
    assert x.contents is None


def test_large_constants_are_kept_not_copied() -> None:
    tensor = torch.ones(1000)
    alive = weakref.ref(tensor)
    graph = perpend.GraphBuilder("weights")
    constant = graph.constant(tensor)
    tensor.mul_(3)  # seen by the graph: the memory is shared
    module = graph.finish(["y"], graph.composite("relu", [constant]))
    del tensor, constant, graph
    gc.collect()
    assert alive() is not None
    np.testing.assert_array_equal(module.evaluate()[0], np.full(1000, 3.0))
    del module
    gc.collect()
    assert alive() is None


def test_errors() -> None:
    graph = perpend.GraphBuilder("errors")
    x = graph.input("x", ["n", 3], "f32")
    with pytest.raises(perpend.CompileError, match="no composite 'matmull'"):
        graph.composite("matmull", [x, x])
    with pytest.raises(perpend.CompileError, match="no element type 'f33'"):
        graph.input("y", [1], "f33")
    with pytest.raises(perpend.CompileError, match=r"extent 'n \+'"):
        graph.input("y", ["n +"], "f32")
    with pytest.raises(perpend.CompileError, match="a value of another graph"):
        perpend.GraphBuilder("other").composite("relu", [x])
    graph.set_location("layer3", "demo.reshape")
    with pytest.raises(perpend.CompileError, match=r"node 'layer3' \(demo.reshape\): .*") as raised:
        graph.composite("concat", [x, graph.input("z", [2, 2], "f32")], {"axis": 0})
    assert str(raised.value).endswith("\ninputs: f32 [n, 3], f32 [2, 2]")


def test_a_finished_graph_is_closed() -> None:
    graph = perpend.GraphBuilder("closed")
    x = graph.input("x", [2], "f32")
    graph.finish(["y"], graph.composite("relu", [x]))
    with pytest.raises(perpend.CompileError, match="finished"):
        graph.composite("relu", [x])


def test_regions() -> None:
    """x doubled until its sum passes a limit, in as many iterations; the other branch for what is negative."""
    graph = perpend.GraphBuilder("regions")
    x = graph.input("x", ["n"], "f32")
    zero, limit = graph.constant(np.float32(0)), graph.constant(np.float32(100))

    def total(value: perpend._perpend.Value) -> perpend._perpend.Value:
        return graph.composite("reduce_sum", [value], {"keepdims": 0})[0]

    def is_less(value: perpend._perpend.Value) -> perpend._perpend.Value:
        return graph.composite("less", [total(value), limit])[0]

    def iterate(number: perpend._perpend.Value, carried: list[perpend._perpend.Value]) -> Any:
        (twice,) = graph.composite("add", [carried[0], carried[0]])
        return is_less(twice), [twice], [number]

    def grown() -> list[perpend._perpend.Value]:
        return graph.loop(None, is_less(x), [x], iterate)[:1]

    (positive,) = graph.composite("less", [zero, total(x)])
    (result,) = graph.branch(positive, grown, lambda: graph.composite("neg", [x]))
    model = perpend.compile(graph.finish(["y"], [result]))
    np.testing.assert_array_equal(model(np.float32([1, 6])), [16, 96])
    np.testing.assert_array_equal(model(np.float32([60, 60, 0])), [60, 60, 0])
    np.testing.assert_array_equal(model(np.float32([-1, -2])), [1, 2])


def test_sizes_from_data() -> None:
    graph = perpend.GraphBuilder("sizes")
    x, n = graph.input("x", [7], "f32"), graph.input("n", [], "i64")
    assert graph.measure(graph.dims([5], scalar=True)) == 5
    count = graph.measure(n)
    assert isinstance(count, str)
    (y,) = graph.composite("slice", [x], {"starts": [0], "ends": [count], "axes": [0]})
    model = perpend.compile(graph.finish(["y"], [y]))
    for number in (0, 3, 7):
        np.testing.assert_array_equal(model(np.arange(7, dtype=np.float32), np.int64(number)), np.arange(number))


def test_an_exception_in_a_region_is_the_error() -> None:
    graph = perpend.GraphBuilder("thrown")
    condition = graph.input("c", [], "bool")

    def fails() -> Any:
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        graph.branch(condition, fails, fails)
    graph = perpend.GraphBuilder("thrown")
    with pytest.raises(KeyError, match="inside"):
        graph.loop(graph.input("n", [], "i64"), None, [], lambda number, carried: fails())
