"""Building graphs by hand: values, symbolic shapes, attributes, errors."""

from __future__ import annotations

import gc
import weakref

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
    with pytest.raises(perpend.CompileError, match=r"node 'layer3' \(demo.reshape\): "):
        graph.composite("concat", [x, graph.input("z", [2, 2], "f32")], {"axis": 0})


def test_a_finished_graph_is_closed() -> None:
    graph = perpend.GraphBuilder("closed")
    x = graph.input("x", [2], "f32")
    graph.finish(["y"], graph.composite("relu", [x]))
    with pytest.raises(perpend.CompileError, match="finished"):
        graph.composite("relu", [x])
