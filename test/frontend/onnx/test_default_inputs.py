"""An initializer that is an input too is a constant; without its default it is an ordinary input."""

import numpy as np
import perpend
import pytest
from onnx import TensorProto, helper, numpy_helper


@pytest.mark.parametrize("ir_version", [3, 8])
def test_default_of_an_input(ir_version):
    x, w, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in "xwy")
    default = numpy_helper.from_array(np.array([2], np.float32), "w")
    graph = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["y"])], "g", [x, w], [y], [default])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 7)], ir_version=ir_version)
    values, own = np.arange(3, dtype=np.float32), np.full(3, 5, np.float32)
    constant = perpend.compile(model, opt_level=0)
    assert (np.asarray(constant(x=values)) == values * 2).all()
    with pytest.raises(ValueError, match=r"expected one of .x., got .w.; hint: weights .* are not inputs"):
        constant(x=values, w=own)
    model.graph.initializer.remove(default)
    assert (np.asarray(perpend.compile(model, opt_level=0)(x=values, w=own)) == values * 5).all()
