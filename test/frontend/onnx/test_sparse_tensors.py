"""Sparse initializers and constants are dense ones, written in another way; what is wrong with one is said."""

import numpy as np
import onnx
import onnxruntime
import perpend
import pytest
from onnx import TensorProto, helper, numpy_helper


def sparse(name, dense, linear):
    flat = np.flatnonzero(dense)
    values = numpy_helper.from_array(dense.ravel()[flat], name)
    positions = flat if linear else np.stack(np.unravel_index(flat, dense.shape), 1)
    return helper.make_sparse_tensor(values, numpy_helper.from_array(positions.astype(np.int64), "at"), dense.shape)


def matrix(dtype, shape=(4, 3)):
    random = np.random.default_rng(0)
    return (random.integers(1, 9, shape) * (random.random(shape) > 0.6)).astype(dtype)


def build(tensor, dtype, shape, as_constant=False):
    """x + w, the type and shape of both."""
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    if as_constant:
        nodes.insert(0, helper.make_node("Constant", [], ["w"], sparse_value=tensor))
    x, y = (helper.make_tensor_value_info(name, kind, shape) for name in "xy")
    graph = helper.make_graph(nodes, "g", [x], [y])
    if not as_constant:
        graph.sparse_initializer.append(tensor)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("as_constant", [False, True], ids=["initializer", "constant"])
@pytest.mark.parametrize("linear", [False, True], ids=["coordinates", "positions"])
@pytest.mark.parametrize("shape", [(4, 3), (7,), (2, 0), (2, 3, 40), (1, 1)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32])
def test_sparse_tensor(dtype, shape, linear, as_constant):
    dense, x = matrix(dtype, shape), np.ones(shape, dtype)
    model = build(sparse("w", dense, linear), dtype, shape, as_constant)
    result = np.asarray(perpend.compile(model, opt_level=0)(x=x))
    np.testing.assert_array_equal(result, x + dense)
    if not as_constant and dense.size:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        np.testing.assert_array_equal(result, session.run(None, {"x": x})[0])


def test_scalar_and_zeros():
    for dense in [np.array(5.0, np.float32), np.zeros((3, 100), np.float32)]:
        tensor = sparse("w", dense.reshape(-1), linear=True)
        tensor.dims[:] = dense.shape
        model = build(tensor, np.float32, dense.shape)
        assert (np.asarray(perpend.compile(model, opt_level=0)(x=dense)) == dense * 2).all()


def tensor_of(values, indices, dims, kind=np.int64):
    indices = numpy_helper.from_array(np.array(indices, kind), "at")
    result = helper.make_sparse_tensor(numpy_helper.from_array(np.array(values, np.float32), "w"), indices, [2, 3])
    result.dims[:] = dims
    return result


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (tensor_of([1, 2], [0, 6], [2, 3]), "indices inside its shape that ascend, which index 1 does not"),
        (tensor_of([1, 2], [-1, 0], [2, 3]), "indices inside its shape that ascend, which index 0 does not"),
        (tensor_of([1, 2], [3, 3], [2, 3]), "indices inside its shape that ascend, which index 1 does not"),
        (tensor_of([1, 2], [[0, 1], [0, 3]], [2, 3]), "indices inside its shape that ascend, which index 1 does not"),
        (tensor_of([1], [0, 1], [2, 3]), r"n values and indices of int64 of the shape \[n\] or \[n, 2\]"),
        (tensor_of([1], [[0, 1, 2]], [2, 3]), r"n values and indices of int64 of the shape \[n\] or \[n, 2\]"),
        (tensor_of([1], [0], [2, 3], np.int32), r"n values and indices of int64 of the shape \[n\] or \[n, 2\]"),
        (tensor_of([[1]], [[0, 1]], [2, 3]), r"n values and indices of int64 of the shape \[n\] or \[n, 2\]"),
        (tensor_of([1, 2], np.zeros((2, 0)), []), "it has 1 elements, got values for 2"),
        (tensor_of([1], [0], [2, -3]), "dimension -3 is negative"),
        (tensor_of([1], [0], [1 << 20, 1 << 20]), "takes more than 1 GiB when it is dense"),
    ],
)
def test_wrong_sparse_tensor(tensor, message):
    with pytest.raises(perpend.CompileError, match=f"initializer 'w': .*{message}"):
        perpend.compile(build(tensor, np.float32, [2, 3]))


def test_texts_are_refused():
    text = helper.make_tensor("w", TensorProto.STRING, [1], [b"a"])
    tensor = onnx.SparseTensorProto(values=text, indices=numpy_helper.from_array(np.array([0])), dims=[3])
    with pytest.raises(perpend.CompileError, match="elements of type string are not supported"):
        perpend.compile(build(tensor, np.float32, [3]))
