"""Functions of a model: calls are replaced by the function's nodes, and mean what ONNX's reference says."""

import math

import numpy as np
import onnx
import perpend
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

SETS = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


def function(name, inputs, outputs, nodes, attributes=(), defaults=(), sets=SETS, overload=""):
    made = helper.make_function("local", name, inputs, outputs, nodes, sets, attributes, defaults)
    if overload:
        made.overload = overload
    return made


def call(name, inputs, outputs, overload="", **attributes):
    node = helper.make_node(name, inputs, outputs, domain="local", **attributes)
    if overload:
        node.overload = overload
    return node


def model(nodes, functions, outputs=("y",)):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph(nodes, "g", [x], results)
    return helper.make_model(graph, opset_imports=SETS, functions=functions, ir_version=10)


def referring(op, inputs, outputs, attribute, source, kind):
    """A node whose attribute is that of the call."""
    node = helper.make_node(op, inputs, outputs)
    node.attribute.append(onnx.AttributeProto(name=attribute, ref_attr_name=source, type=kind))
    return node


def results_of(made):
    outputs = perpend.compile(made)(X)
    return outputs if isinstance(outputs, tuple) else (outputs,)


def agrees(made):
    for got, expected in zip(results_of(made), ReferenceEvaluator(made).run(None, {"x": X}), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6)


LEAKY = function(
    "Leaky",
    ["a"],
    ["b"],
    [
        referring("LeakyRelu", ["a"], ["t"], "alpha", "slope", onnx.AttributeProto.FLOAT),
        helper.make_node("Neg", ["t"], ["b"]),
    ],
    defaults=[helper.make_attribute("slope", 0.5)],
)


def leaky(x, slope=0.5):
    return -np.where(x < 0, np.float32(slope) * x, x)


def test_attributes_given_and_by_default():
    made = model([call("Leaky", ["x"], ["t"]), call("Leaky", ["t"], ["y"], slope=0.25)], [LEAKY])
    np.testing.assert_allclose(results_of(made)[0], leaky(leaky(X), 0.25), rtol=1e-6)


def test_names_of_two_calls_do_not_meet():
    nodes = [call("Leaky", ["x"], ["p"]), call("Leaky", ["x"], ["q"], slope=3.0)]
    for node in nodes:
        node.name = "same"
    made = model([*nodes, helper.make_node("Sub", ["p", "q"], ["y"])], [LEAKY])
    np.testing.assert_allclose(results_of(made)[0], leaky(X) - leaky(X, 3.0), rtol=1e-6)


def test_function_calls_function():
    twice = function("Twice", ["a"], ["b"], [call("Leaky", ["a"], ["t"]), call("Leaky", ["t"], ["b"])])
    made = model([call("Twice", ["x"], ["y"])], [twice, LEAKY])
    np.testing.assert_allclose(results_of(made)[0], leaky(leaky(X)), rtol=1e-6)


def test_overloads():
    one = function("Scale", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], overload="one")
    two = function("Scale", ["a"], ["b"], [helper.make_node("Exp", ["a"], ["b"])], overload="two")
    made = model([call("Scale", ["x"], ["t"], "one"), call("Scale", ["t"], ["y"], "two")], [one, two])
    np.testing.assert_allclose(results_of(made)[0], np.exp(-X), rtol=1e-5)


def test_subgraph_in_a_function():
    branch = helper.make_tensor_value_info("r", TensorProto.FLOAT, None)
    then = helper.make_graph([helper.make_node("Neg", ["a"], ["r"])], "then", [], [branch])
    otherwise = helper.make_graph([helper.make_node("Exp", ["a"], ["r"])], "else", [], [branch])
    nodes = [
        helper.make_node("ReduceMax", ["a"], ["m"], keepdims=0),
        helper.make_node("Greater", ["m", "limit"], ["c"]),
        helper.make_node("If", ["c"], ["b"], then_branch=then, else_branch=otherwise),
    ]
    made = function("Choose", ["a", "limit"], ["b"], nodes)
    for limit in (0.0, 100.0):
        constant = helper.make_node("Constant", [], ["k"], value_float=limit)
        agrees(model([constant, call("Choose", ["x", "k"], ["y"])], [made]))


def test_missing_input_and_output_and_an_input_returned():
    nodes = [helper.make_node("Clip", ["a", "low", ""], ["b"]), helper.make_node("Neg", ["a"], ["c"])]
    clip = function("Maybe", ["a", "low"], ["b", "c", "a"], nodes)
    made = model([call("Maybe", ["x"], ["y", "", "z"]), helper.make_node("Neg", ["z"], ["n"])], [clip], ["y", "n"])
    y, n = results_of(made)
    np.testing.assert_array_equal(y, X)
    np.testing.assert_array_equal(n, -X)


@pytest.mark.parametrize(
    ("functions", "nodes", "message"),
    [
        ([function("F", ["a"], ["b"], [call("F", ["a"], ["b"])])], [call("F", ["x"], ["y"])], "calls itself"),
        ([LEAKY, LEAKY], [call("Leaky", ["x"], ["y"])], "two functions have the name 'Leaky'"),
        ([LEAKY], [call("Leaky", ["x", "x"], ["y"])], "has 1 input and 1 output, got 2 and 1"),
        (
            [function("F", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], sets=[helper.make_opsetid("", 7)])],
            [call("F", ["x"], ["y"])],
            "version 7 of the operator set '', the model version 18\nhint",
        ),
    ],
)
def test_errors(functions, nodes, message):
    with pytest.raises(perpend.CompileError) as caught:
        perpend.compile(model(nodes, functions))
    assert message in str(caught.value)


def test_calls_that_multiply_are_refused():
    """Each of 30 functions calls the next twice: a billion nodes."""
    functions = [
        function(f"F{i}", ["a"], ["b"], [call(f"F{i + 1}", ["a"], ["t"]), call(f"F{i + 1}", ["t"], ["b"])])
        for i in range(30)
    ]
    functions.append(function("F30", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])]))
    with pytest.raises(perpend.CompileError, match="expand to more than"):
        perpend.compile(model([call("F0", ["x"], ["y"])], functions))


@pytest.mark.parametrize(("inputs", "outputs"), [(["", "a"], ["b"]), (["a"], ["b", ""])])
def test_formal_names_that_are_empty(inputs, outputs):
    body = [helper.make_node("Neg", ["a"], ["b"])]
    made = model([call("f", ["x"], ["y"])], [function("f", inputs, outputs, body)])
    with pytest.raises(perpend.CompileError, match="the function 'f': an input or output has no name"):
        perpend.import_model(made)


def test_a_domain_that_the_model_does_not_import():
    made = model([call("f", ["x"], ["y"])], [function("f", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])])])
    perpend.import_model(made)
    del made.opset_import[1]
    with pytest.raises(perpend.CompileError, match=r"\(f\): the model imports no operator set of 'local'\nhint: "):
        perpend.import_model(made)


GELU = [helper.make_node("Gelu", ["a"], ["b"], "gelu", domain="com.microsoft")]


def expect_gelu(made):
    with pytest.warns(UserWarning, match=r"\(Gelu\): the model does not import its domain, 'com.microsoft'; version 1"):
        compiled = perpend.compile(made)
    values = [-1.0, 0.5, 2.0]
    wanted = [v / 2 * (1 + math.erf(v / math.sqrt(2))) for v in values]
    np.testing.assert_allclose(compiled(np.float32([values] * 2)), [wanted] * 2, rtol=1e-5)


def test_known_domains_that_nothing_imports():
    """Version 1 is taken, once for all nodes, also of those in functions and in graphs of nodes."""
    made = model([call("f", ["x"], ["y"])], [function("f", ["a"], ["b"], GELU)])
    expect_gelu(made)
    text = """<ir_version: 8, opset_import: ["" : 17]> f (bool c, float[2, 3] x) => (float[2, 3] y) {
      y = If (c) <then_branch = g () => (float[2, 3] p) { p = com.microsoft.Gelu (x) },
                  else_branch = h () => (float[2, 3] q) { t = com.microsoft.Gelu (x) q = Neg (t) }> }"""
    given = onnx.parser.parse_model(text)
    with pytest.warns(UserWarning, match="version 1 is taken") as warnings:
        perpend.import_model(given)
    assert len(warnings) == 1
    text = """<ir_version: 8, opset_import: ["" : 17]> f (float[n, 3] x) => (float[n, 3] y) {
      y = ai.onnx.ml.Scaler <offset = [1.0], scale = [2.0]> (x) }"""
    with pytest.warns(UserWarning, match="'ai.onnx.ml'; version 1 is taken"):
        scaler = perpend.compile(onnx.parser.parse_model(text))
    np.testing.assert_array_equal(scaler(np.ones((2, 3), np.float32)), np.zeros((2, 3)))


def test_unknown_domains_that_nothing_imports():
    text = '<ir_version: 8, opset_import: ["" : 17]> f (float[n] x) => (float[n] y) { y = other.Gelu (x) }'
    with pytest.raises(perpend.CompileError, match=r"not supported:\n  other.Gelu \(1 node\): 'y'"):
        perpend.import_model(onnx.parser.parse_model(text))


def test_a_domain_that_a_function_does_not_import():
    body = [helper.make_node("Neg", ["a"], ["b"])]
    made = model([call("f", ["x"], ["y"])], [function("f", ["a"], ["b"], body, sets=SETS[1:])])
    with pytest.raises(perpend.CompileError, match=r"the function 'f', node 'b' \(Neg\): the function imports no "):
        perpend.import_model(made)


def test_a_domain_that_a_graph_in_a_function_needs():
    """Its nodes were not looked at, and the model's own import stood in for the function's."""
    branch = helper.make_graph(
        [helper.make_node("f", ["a"], ["t"], domain="local")], "t", [], [helper.make_empty_tensor_value_info("t")]
    )
    body = [
        helper.make_node("Constant", [], ["yes"], value=helper.make_tensor("yes", TensorProto.BOOL, [], [True])),
        helper.make_node("If", ["yes"], ["b"], then_branch=branch, else_branch=branch),
    ]
    inner = function("f", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])])
    made = model([call("g", ["x"], ["y"])], [inner, function("g", ["a"], ["b"], body, sets=SETS)])
    perpend.import_model(made)
    made = model([call("g", ["x"], ["y"])], [inner, function("g", ["a"], ["b"], body, sets=SETS[:1])])
    with pytest.raises(perpend.CompileError, match=r"the function 'g', node 't' \(f\): the function imports no "):
        perpend.import_model(made)


def test_an_output_that_nothing_computes():
    body = [helper.make_node("Neg", ["a"], ["b"])]
    made = model([call("f", ["x"], ["y"])], [function("f", ["a"], ["b", "c"], body)])
    with pytest.raises(perpend.CompileError, match="the function 'f': output 'c' is not computed by any node"):
        perpend.import_model(made)
