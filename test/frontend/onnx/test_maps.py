"""Maps as inputs: against ONNX Runtime where its interface takes the type, else against dicts."""

import numpy as np
import onnxruntime
import perpend
import pytest
from onnx import TensorProto, helper

TYPES = {"int64": TensorProto.INT64, "string": TensorProto.STRING, "float": TensorProto.FLOAT}
TYPES["double"] = TensorProto.DOUBLE
DTYPES = {"int64": np.int64, "string": np.dtype(object), "float": np.float32, "double": np.float64}
SAMPLES = {"int64": [7, -8], "string": ["grün", ""], "float": [1.5, -2.25], "double": [0.1, 1e300]}


def build(operator, key, value, extra=(), **attributes):
    """A model of one operator on a map `m`, and of further nodes."""
    node = helper.make_node(operator, ["m"], ["y"], "node", domain="ai.onnx.ml", **attributes)
    kind = helper.make_map_type_proto(TYPES[key], helper.make_tensor_type_proto(TYPES[value], []))
    outputs = [helper.make_empty_tensor_value_info("y")]
    graph = helper.make_graph([node, *extra], "maps", [helper.make_value_info("m", kind)], outputs)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def reference(model, given):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"m": given})[0]


def same(got, expected, dtype):
    assert (got.dtype, got.shape) == (dtype, np.shape(expected))
    assert got.tolist() == np.asarray(expected).tolist()


def keys_and_values(given, key, value):
    return np.array(list(given), DTYPES[key]), np.array(list(given.values()), DTYPES[value])


FLOATS = [{5: -2.5, 1: 3.75, 0: 1e10, 2: 0.5}, {3: 1.0}, {9: 1.0, 6: 2.0}]


@pytest.mark.parametrize("form", [{"map_form": "DENSE"}, {"map_form": "SPARSE", "max_map": 7}])
@pytest.mark.parametrize("cast", ["TO_FLOAT", "TO_INT64"])
def test_cast_of_floats(form, cast):
    model = build("CastMap", "int64", "float", cast_to=cast, **form)
    compiled = perpend.compile(model)
    for given in FLOATS:
        expected = reference(model, given)
        same(compiled(given), expected, expected.dtype)
    columns = 7 if form["map_form"] == "SPARSE" else 0
    same(compiled({}), np.zeros((1, columns)), np.float32 if cast == "TO_FLOAT" else np.int64)


def test_cast_of_one_position():
    same(perpend.compile(build("CastMap", "int64", "float", map_form="SPARSE"))({0: 2.0, 1: 3.0}), [[2]], np.float32)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("cast", "blank"), [("TO_FLOAT", 0), ("TO_INT64", 0), ("TO_STRING", "0.f")])
def test_cast_of_texts(sparse, cast, blank):
    form = {"map_form": "SPARSE", "max_map": 5} if sparse else {}
    compiled = perpend.compile(build("CastMap", "int64", "string", cast_to=cast, **form))
    dtype = {"TO_FLOAT": np.float32, "TO_INT64": np.int64, "TO_STRING": object}[cast]
    for given in [{3: "-2", 0: "12", 8: "7"}, {1: "4"}, {}]:
        numbers = {key: text if cast == "TO_STRING" else int(text) for key, text in given.items()}
        row = [numbers.get(key, blank) for key in range(5)] if sparse else [numbers[key] for key in sorted(numbers)]
        same(compiled(given), np.array([row], dtype), dtype)


def test_cast_of_floats_to_texts():
    compiled = perpend.compile(build("CastMap", "int64", "float", cast_to="TO_STRING", map_form="SPARSE", max_map=3))
    assert compiled({2: 0.1, 0: -2.5}).tolist() == [["-2.5", "0.f", "0.1"]]


def test_dense_keys_may_be_negative():
    model = build("CastMap", "int64", "float")
    given = {-3: 1.0, 7: 2.0, -(1 << 40): 3.0}
    same(perpend.compile(model)(given), reference(model, given), np.float32)


def test_sparse_keys_are_not_negative():
    model = build("CastMap", "int64", "float", map_form="SPARSE", max_map=3)
    compiled = perpend.compile(model)
    for given in [{-1: 1.0, 0: 2.0}, {0: 1.0, -(1 << 40): 1.0}]:
        with pytest.raises(Exception, match="Negative index"):
            reference(model, given)
        with pytest.raises(ValueError, match="keys of a sparse map must be at least 0"):
            compiled(given)
    same(compiled({1: 4.0}), [[0, 4, 0]], np.float32)


@pytest.mark.parametrize(
    ("key", "value"),
    [(key, value) for key in ("int64", "string") for value in ("int64", "string", "float", "double") if key != value],
)
def test_dict_vectorizer(key, value):
    words = [5, -1, 3, 9] if key == "int64" else ["öl", "", "c", "d"]
    vocabulary = {f"{key}_vocabulary": words}
    model = build("DictVectorizer", key, value, **vocabulary)
    compiled = perpend.compile(model)
    first, second = SAMPLES[value]
    other = 77 if key == "int64" else "elsewhere"
    for given in [{words[2]: first, words[0]: second}, {words[1]: first, other: second}, {other: first}, {}]:
        row = [given.get(word, "" if value == "string" else 0) for word in words]
        expected = np.array([row], DTYPES[value])
        same(compiled(given), expected, DTYPES[value])
        same(compiled(*keys_and_values(given, key, value)), expected, DTYPES[value])
        if given and value == "float":
            same(compiled(given), reference(model, given), np.float32)


def test_repeated_words():
    model = build("DictVectorizer", "int64", "float", int64_vocabulary=[1, 1, 2])
    same(perpend.compile(model)({1: 2.0}), reference(model, {1: 2.0}), np.float32)


def test_interface():
    compiled = perpend.compile(build("DictVectorizer", "string", "float", string_vocabulary=["a", "b"]))
    shapes = [("m.keys", "string", ["m_size"]), ("m.values", "f32", ["m_size"])]
    assert [tuple(info) for info in compiled.inputs] == shapes
    assert [entry["map"] for entry in compiled.description["inputs"]] == ["m", "m"]
    keys, values = np.array(["b"], object), np.array([3], np.float32)
    for result in [compiled({"b": 3}), compiled(m={"b": 3}), compiled(keys, **{"m.values": values})]:
        same(result, [[0, 3]], np.float32)
    assert compiled.profile({"b": 3})
    with pytest.raises(TypeError, match="'m': expected a dict, got list"):
        compiled(m=[1])
    with pytest.raises(TypeError, match=r"'m.keys' is given twice"):
        compiled({"b": 3}, m={"b": 3})
    with pytest.raises(TypeError, match=r"'m.values' is missing"):
        compiled(keys)
    with pytest.raises(TypeError, match="expected 2 inputs, got 3"):
        compiled({"b": 3}, keys, keys)
    with pytest.raises(TypeError, match=r"m.values: expected elements of type f32, got <U1"):
        compiled({"b": "c"})
    with pytest.raises(ValueError, match="m_size"):
        compiled(keys, np.zeros(2, np.float32))


def test_keys_are_not_rounded():
    compiled = perpend.compile(build("CastMap", "int64", "float"))
    with pytest.raises(TypeError, match=r"m.keys: expected elements of type i64, got float64"):
        compiled({1.5: 2.0})
    same(compiled({(1 << 53) + 1: 1, 1 << 53: 2}), [[2, 1]], np.float32)


def test_a_dict_is_for_a_map_only():
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])
    model = build("CastMap", "int64", "float", [helper.make_node("Relu", ["x"], ["z"])])
    model.graph.input.insert(0, x)
    model.graph.output.append(helper.make_empty_tensor_value_info("z"))
    compiled = perpend.compile(model)
    y, z = compiled(np.array([-1, 2], np.float32), {4: 2.0})
    assert (y.tolist(), z.tolist()) == ([[2]], [0, 2])
    with pytest.raises((TypeError, ValueError), match="x"):
        compiled({1: 2.0}, {4: 2.0})


def test_maps_in_branches():
    branches = {}
    for name, attributes in {"then": {}, "else": {"map_form": "SPARSE", "max_map": 2}}.items():
        node = helper.make_node("CastMap", ["m"], [name], domain="ai.onnx.ml", **attributes)
        out = helper.make_empty_tensor_value_info(name)
        branches[f"{name}_branch"] = helper.make_graph([node], name, [], [out])
    model = build("CastMap", "int64", "float", [helper.make_node("If", ["c"], ["z"], **branches)])
    model.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    model.graph.output.append(helper.make_empty_tensor_value_info("z"))
    compiled = perpend.compile(model)
    for condition, expected in [(True, [[4, 3, 2]]), (False, [[0, 4]])]:
        assert compiled({5: 2.0, 1: 4.0, 2: 3.0}, np.array(condition))[1].tolist() == expected


@pytest.mark.parametrize(
    ("operator", "key", "value", "attributes", "message"),
    [
        ("CastMap", "int64", "float", {"cast_to": "FLOAT"}, "cast_to to be .*, got 'FLOAT'"),
        ("CastMap", "int64", "float", {"map_form": "dense"}, "map_form to be DENSE or SPARSE, got 'dense'"),
        ("CastMap", "int64", "float", {"map_form": "SPARSE", "max_map": 0}, "max_map to be at least 1"),
        ("CastMap", "string", "float", {}, "a map from int64 to float or string"),
        ("CastMap", "int64", "int64", {}, "a map from int64 to float or string"),
        ("DictVectorizer", "int64", "float", {"string_vocabulary": ["a"]}, "int64_vocabulary for int64 keys"),
        ("DictVectorizer", "string", "float", {}, "string_vocabulary for string keys"),
        ("Identity", "int64", "float", {}, r"node 'node' \(Identity\): expected no map, got the input 'm'"),
    ],
)
def test_refused(operator, key, value, attributes, message):
    model = build(operator, key, value, **attributes)
    model.graph.node[0].domain = "" if operator == "Identity" else "ai.onnx.ml"
    with pytest.raises(perpend.CompileError, match=message):
        perpend.compile(model)


def test_maps_stay_inputs():
    model = build("CastMap", "int64", "float")
    model.graph.output.append(model.graph.input[0])
    with pytest.raises(perpend.CompileError, match="output 'm': expected a tensor or list, got a map"):
        perpend.compile(model)
    model = build("CastMap", "int64", "float")
    model.graph.input[0].CopyFrom(helper.make_tensor_value_info("m", TensorProto.FLOAT, ["n"]))
    with pytest.raises(perpend.CompileError, match=r"node 'node'.*expected a map that is an input"):
        perpend.compile(model)
    model = build("CastMap", "int64", "float")
    nested = helper.make_map_type_proto(TensorProto.INT64, model.graph.input[0].type)
    model.graph.input[0].type.CopyFrom(nested)
    with pytest.raises(perpend.CompileError, match=r"input 'm'.*got a map"):
        perpend.compile(model)
