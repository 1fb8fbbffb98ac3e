"""Small models that once went wrong, compiled and compared with ONNX Runtime."""

import re

import numpy as np
import onnx
import perpend
import pytest
from differential import CONFIGURATIONS, check_model, compiled_results
from onnx import TensorProto, helper, numpy_helper


def build(nodes, inputs, outputs, constants=None):
    """`inputs` and `constants` give arrays by name; an input with dimensions beside it is symbolic."""
    feeds = {name: value[0] if isinstance(value, tuple) else value for name, value in inputs.items()}
    dims = {name: value[1] if isinstance(value, tuple) else value.shape for name, value in inputs.items()}
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims[name])
        for name, array in feeds.items()
    ]
    arrays = [onnx.numpy_helper.from_array(np.asarray(x), name) for name, x in (constants or {}).items()]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph([helper.make_node(*node[:3], **node[3]) for node in nodes], "g", infos, results, arrays)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model), feeds


def ramp(*shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def agrees(model, feeds, folder):
    assert check_model(model, feeds, {}, CONFIGURATIONS, folder) == []


def test_input_returned_twice(tmp_path):
    nodes = [("Reshape", ["x", "flat"], ["y"], {}), ("Reshape", ["x", "column"], ["z"], {})]
    constants = {"flat": np.array([7]), "column": np.array([-1])}
    agrees(*build(nodes, {"x": ramp(1, 7)}, ["y", "z"], constants), tmp_path)


def test_unnamed_dimensions_of_inputs_with_names_that_look_alike(tmp_path):
    """Both were a_b_dim0, and had to be equal."""
    nodes = [("Neg", ["a.b"], ["y"], {}), ("Neg", ["a_b"], ["z"], {})]
    model, feeds = build(nodes, {"a.b": (ramp(3), [None]), "a_b": (ramp(5), [None])}, ["y", "z"])
    assert [tensor.shape for tensor in perpend.compile(model).inputs] == [["a_b_dim0"], ["a_b_dim0_"]]
    agrees(model, feeds, tmp_path)


def test_equal_results(tmp_path):
    """Two results of the same computation each have memory of their own."""
    nodes = [("Transpose", ["x"], ["y"], {"perm": [1, 0]}), ("Transpose", ["x"], ["z"], {"perm": [1, 0]})]
    agrees(*build(nodes, {"x": ramp(3, 5)}, ["y", "z"]), tmp_path)


def test_symbolic_extents_that_do_not_broadcast(tmp_path):
    """The second sum makes the first one's extent a number, so an extent of 1 is refused, and nothing read outside."""
    nodes = [("Add", ["x", "y"], ["z"], {}), ("ReduceSum", ["y"], ["total"], {})]
    model, feeds = build(nodes, {"x": (ramp(4), ["n"]), "y": (ramp(1), ["m"])}, ["z", "total"])
    onnx.save(model, tmp_path / "model.onnx")
    for name, array in feeds.items():
        np.save(tmp_path / f"{name}.npy", array)
    with pytest.raises(RuntimeError, match=r"(?s)input 'y', dimension 0: expected 4, got 1.*--dim"):
        compiled_results(tmp_path / "model.onnx", feeds, ["z", "total"], "host", 3, tmp_path)


@pytest.mark.parametrize("extent", [0, 1, 5])
@pytest.mark.parametrize("start", [0, 1, 4, 6, 9])
def test_backwards_from_before_the_tensor(start, extent, tmp_path):
    """x[-n::-1] has the first element when n is larger than the extent: ONNX clamps the start, other than numpy."""
    nodes = [
        ("Shape", ["z"], ["n"], {}),
        ("Neg", ["n"], ["start"], {}),
        ("Slice", ["x", "start", "end", "axis", "step"], ["y"], {}),
    ]
    constants = {"end": np.array([-(2**63)]), "axis": np.array([0]), "step": np.array([-1])}
    inputs = {"x": (ramp(extent), ["m"]), "z": (ramp(start), ["n"])}
    agrees(*build(nodes, inputs, ["y"], constants), tmp_path)


@pytest.mark.parametrize("rows", [1, 3])
def test_extents_of_a_sum_whose_shape_alone_is_used(rows, tmp_path):
    """Without the sum itself, its extents must be those of both operands all the same."""
    nodes = [
        ("Sub", ["x", "y"], ["difference"], {}),
        ("Shape", ["difference"], ["shape"], {}),
        ("ConstantOfShape", ["shape"], ["zeros"], {}),
    ]
    model, feeds = build(nodes, {"x": (ramp(rows), ["n"]), "y": (ramp(3), ["m"])}, ["zeros"])
    module = perpend.Module.from_onnx(model.SerializeToString())
    for run in (perpend.compile(model), lambda *arrays: module.evaluate(*arrays)[0]):
        if rows == 3:
            assert run(*feeds.values()).shape == (3,)
            continue
        with pytest.raises(ValueError, match="got"):
            run(*feeds.values())


def test_extent_that_is_always_one(tmp_path):
    """floordiv(min(n, 3) + 2, 3) is 1 for every n, so it broadcasts."""
    constants = {"zero": np.array([0]), "three": np.array([3])}
    nodes = [
        ("Slice", ["x", "zero", "three", "zero", "three"], ["y"], {}),
        ("Add", ["y", "w"], ["z"], {}),
    ]
    agrees(*build(nodes, {"x": (ramp(5), ["n"]), "w": ramp(2, 17)}, ["z"], constants), tmp_path)


@pytest.mark.parametrize("extent", [3, 7, 8, 9])
@pytest.mark.parametrize("way", ["compile", "evaluate"])
def test_slice_at_a_position_that_is_negative_for_some_extents(extent, way):
    """x[:, :-(-n % 4)] is empty where 4 divides n; x[:, n - 7:] and x[:, : n - 7 : 2] count from the end below 7."""
    constants = {"at": 1, "four": 4, "seven": 7, "zero": [0], "one": [1], "two": [2], "all": [2**31]}
    nodes = [
        ("Shape", ["x"], ["shape"], {}),
        ("Gather", ["shape", "at"], ["n"], {}),
        ("Neg", ["n"], ["opposite"], {}),
        ("Mod", ["opposite", "four"], ["rest"], {}),
        ("Neg", ["rest"], ["end"], {}),
        ("Unsqueeze", ["end", "zero"], ["ends"], {}),
        ("Slice", ["x", "zero", "ends", "one"], ["a"], {}),
        ("Sub", ["n", "seven"], ["less"], {}),
        ("Unsqueeze", ["less", "zero"], ["lesses"], {}),
        ("Slice", ["x", "lesses", "all", "one"], ["b"], {}),
        ("Slice", ["x", "zero", "lesses", "one", "two"], ["c"], {}),
    ]
    constants = {name: np.array(value) for name, value in constants.items()}
    x = ramp(2, extent)
    model, _ = build(nodes, {"x": (x, ["b", "n"])}, ["a", "b", "c"], constants)
    run = perpend.compile(model) if way == "compile" else perpend.Module.from_onnx(model.SerializeToString()).evaluate
    for got, want in zip(run(x), [x[:, : -(-extent % 4)], x[:, extent - 7 :], x[:, : extent - 7 : 2]], strict=True):
        np.testing.assert_array_equal(got, want)


def test_long_sum_of_rows(tmp_path):
    """The mean of many nearly equal numbers, over channels last: one rounding of the mean is 6e-5."""
    x = (1000 + np.random.default_rng(0).standard_normal((1, 4, 300, 301))).astype(np.float32)
    scale = {"scale": np.ones(4, np.float32), "shift": np.zeros(4, np.float32)}
    weight = np.eye(4, dtype=np.float32).reshape(4, 4, 1, 1)
    nodes = [
        ("Conv", ["x", "weight"], ["y"], {}),
        ("InstanceNormalization", ["y", "scale", "shift"], ["z"], {}),
    ]
    model, feeds = build(nodes, {"x": x}, ["z"], {**scale, "weight": weight})
    onnx.save(model, tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", x)
    exact = x.astype(np.float64)
    exact = (exact - exact.mean((2, 3), keepdims=True)) / np.sqrt(exact.var((2, 3), keepdims=True) + 1e-5)
    for level in (0, 3):
        [got] = compiled_results(tmp_path / "model.onnx", feeds, ["z"], "x86-64-v3", level, tmp_path)
        np.testing.assert_allclose(got, exact, atol=1e-3)


def test_half_precision_rounds_where_the_model_says(tmp_path):
    """A product of f16 is f32 inside; an explicit cast rounds it, a following operator does not."""
    x = (1 + np.arange(8) / 1024).astype(np.float16)
    nodes = [
        ("Cast", ["x32"], ["rounded"], {"to": onnx.TensorProto.FLOAT16}),
        ("Cast", ["rounded"], ["y"], {"to": onnx.TensorProto.FLOAT}),
    ]
    agrees(*build(nodes, {"x32": np.float32(1) + ramp(9) / 5000}, ["y"]), tmp_path)
    column = x.reshape(8, 1)
    nodes = [
        ("MatMul", ["x", "column"], ["p"], {}),
        ("Relu", ["p"], ["r"], {}),
        ("MatMul", ["r", "one"], ["q"], {}),
        ("Cast", ["q"], ["y"], {"to": onnx.TensorProto.FLOAT}),
    ]
    constants = {"column": column, "one": np.ones((1, 1), np.float16)}
    model, feeds = build(nodes, {"x": x.reshape(1, 8)}, ["y"], constants)
    onnx.save(model, tmp_path / "model.onnx")
    np.save(tmp_path / "x.npy", feeds["x"])
    for level in (0, 3):
        [got] = compiled_results(tmp_path / "model.onnx", feeds, ["y"], "x86-64-v3", level, tmp_path)
        np.testing.assert_allclose(got, [[np.square(x.astype(np.float64)).sum()]], rtol=1e-6)


def run_numbers(operator, a, b):
    """`operator` on two vectors of i64, compiled."""
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, [len(a)]) for name in ("a", "b")]
    output = helper.make_tensor_value_info("y", TensorProto.INT64, [len(a)])
    graph = helper.make_graph([helper.make_node(operator, ["a", "b"], ["y"])], "g", inputs, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return perpend.compile(model)(np.array(a, np.int64), np.array(b, np.int64))


def test_integer_division_never_traps():
    lowest = -(2**63)
    assert run_numbers("Div", [7, -9, lowest, 5], [0, 3, -1, -2]).tolist() == [0, -3, lowest, -2]
    assert run_numbers("Mod", [7, -9, lowest, 5], [0, 4, -1, 3])[2] == 0


def test_integer_power():
    assert run_numbers("Pow", [2, 3, -2], [10, 0, 3]).tolist() == [1024, 1, -8]


def test_static_extent_of_zero():
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 0])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])
    weight = numpy_helper.from_array(np.zeros((0, 3), np.float32), "w")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert perpend.compile(model)(np.zeros((2, 0), np.float32)).tolist() == [[0.0] * 3] * 2


def test_reduction_over_many_dimensions_compiles_quickly():
    shape = [2, 16, 16, 16, 16]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    node = helper.make_node("ReduceMean", ["x"], ["y"], axes=[1, 2, 3, 4], keepdims=0)
    graph = helper.make_graph([node], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    values = np.random.default_rng(0).standard_normal(shape, np.float32)
    np.testing.assert_allclose(perpend.compile(model)(values), values.mean((1, 2, 3, 4)), atol=1e-6)


def test_remainder_of_zero_has_the_sign_of_the_divisor(tmp_path):
    """What numpy.mod gives; ONNX Runtime refuses floats without fmod."""
    x, y = np.float32([0.0, -0.0, 4.0, -4.0]), np.float32([-2.0, 2.0, -2.0, 2.0])
    model, _ = build([("Mod", ["x", "y"], ["z"], {})], {"x": x, "y": y}, ["z"])
    results = perpend.compile(model)(x, y)
    np.testing.assert_array_equal(np.signbit(results), [True, False, True, False])


def test_average_of_a_window_that_starts_in_the_padding(tmp_path):
    """Rounding up leaves such windows out, of the averages and of their counts alike."""
    attributes = {"kernel_shape": [3, 3], "strides": [3, 3], "pads": [1, 1, 1, 1], "ceil_mode": 1}
    model, _ = build(
        [("AveragePool", ["x"], ["y"], attributes | {"count_include_pad": 1})], {"x": ramp(1, 1, 2, 2)}, ["y"]
    )
    np.testing.assert_allclose(perpend.compile(model)(ramp(1, 1, 2, 2)), [[[[6 / 9]]]], rtol=1e-6)


def test_space_to_depth_with_columns_and_rows_inside(tmp_path):
    model, _ = build([("SpaceToDepth", ["x"], ["y"], {"blocksize": 2})], {"x": ramp(1, 2, 2, 4)}, ["y"])
    model.graph.node[0].attribute.append(helper.make_attribute("mode", "CRD"))
    model.opset_import[0].version, model.ir_version = 28, 13
    expected = ramp(1, 2, 2, 4).reshape(1, 2, 1, 2, 2, 2).transpose(0, 1, 3, 5, 2, 4).reshape(1, 8, 1, 2)
    np.testing.assert_array_equal(perpend.compile(model)(ramp(1, 2, 2, 4)), expected)


def test_more_indices_than_rows_are_refused(tmp_path):
    """Each element is read at the index of an index, so there must be as many rows as indices: checked by the run."""
    indices = np.zeros((5, 4), np.int64)
    model, feeds = build(
        [("GatherElements", ["x", "i"], ["y"], {"axis": 1})],
        {"x": (ramp(2, 4), ["n", 4]), "i": (indices, ["m", 4])},
        ["y"],
    )
    compiled = perpend.compile(model)
    with pytest.raises((ValueError, RuntimeError), match="gather_elements"):
        compiled(x=feeds["x"], i=indices)
    feeds["i"] = indices[:2]
    assert np.array_equal(np.asarray(compiled(**feeds)), feeds["x"][:, :1].repeat(4, axis=1))


@pytest.mark.parametrize("level", [0, 3])
def test_symbolic_channels_divide_into_blocks(level):
    """A division of extents that the symbols leave open is made, and inputs with a remainder are refused."""
    model, feeds = build([("DepthToSpace", ["x"], ["y"], {"blocksize": 2})], {"x": (ramp(1, 8, 2, 3), "nchw")}, ["y"])
    compiled = perpend.compile(model, opt_level=level)
    expected = feeds["x"].reshape(1, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 4, 6)
    np.testing.assert_array_equal(compiled(feeds["x"]), expected)
    assert compiled(ramp(0, 8, 2, 3)).shape == (0, 2, 4, 6)
    with pytest.raises(ValueError, match=r"dimension 1|do not fit|remainder"):
        compiled(ramp(1, 7, 2, 3))


def test_symbolic_heads_of_attention():
    """Query heads are a multiple of the key heads, which only the inputs show."""
    model, feeds = build_opset(
        23, "Attention", {"q": ramp(1, 4, 3, 2) / 9, "k": ramp(1, 2, 5, 2) / 9, "v": ramp(1, 2, 5, 2)}
    )
    expected = perpend.import_model(model).evaluate(*feeds)[0]
    compiled = perpend.compile(model)
    np.testing.assert_allclose(compiled(*feeds), expected, rtol=1e-5)
    repeated = [feeds[0], *(np.repeat(x, 2, axis=1) for x in feeds[1:])]
    np.testing.assert_allclose(compiled(*repeated), expected, rtol=1e-5)
    with pytest.raises(ValueError):
        compiled(feeds[0][:, :3], *feeds[1:])


def build_opset(version, operator, inputs):
    """One node whose inputs have a symbol for every dimension."""
    infos = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [f"{name}{i}" for i in range(array.ndim)])
        for name, array in inputs.items()
    ]
    node = helper.make_node(operator, list(inputs), ["y"])
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info("y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10), [*inputs.values()]


@pytest.mark.parametrize(("operator", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
@pytest.mark.parametrize("broken", ["w", "b"])
def test_recurrent_weights_of_another_shape_are_refused(operator, gates, broken):
    """The message of the first step that fails, with nothing built on it."""
    features, width = 3, 2 * gates
    weights = {
        "w": np.ones((1, width, features + (broken == "w")), np.float32),
        "r": np.ones((1, width, 2), np.float32),
        "b": np.ones((1, 2 * width + 2 * (broken == "b"), 5)[: 2 + (broken == "b")], np.float32),
    }
    node = (operator, ["x", "w", "r", "b"], ["y"], {"hidden_size": 2})
    with pytest.raises(
        perpend.CompileError, match=r"matrix multiplication: expected|cannot broadcast|expected biases of rank 2"
    ):
        perpend.compile(build_unchecked(node, ramp(4, 1, features), weights))


def build_unchecked(node, x, weights):
    """One node, without the checks of ONNX's own shape inference."""
    info = helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)
    arrays = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    output = helper.make_empty_tensor_value_info(node[2][0])
    graph = helper.make_graph([helper.make_node(*node[:3], **node[3])], "g", [info], [output], arrays)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def test_number_of_parts_is_the_number_of_outputs():
    """A third part that no output names would have been shared out among the two."""
    node = ("Split", ["x"], ["y"], {"num_outputs": 3})
    with pytest.raises(perpend.CompileError, match="num_outputs is 3, the node has 1 outputs"):
        perpend.compile(build_unchecked(node, ramp(6, 2), {}))


def test_models_say_what_they_are():
    """Types that contradict what is computed, and versions that nobody knows yet."""

    def message(change):
        model = build_unchecked(("Abs", ["x"], ["y"], {}), ramp(2), {})
        change(model)
        with pytest.raises(perpend.CompileError) as raised:
            perpend.compile(model)
        return str(raised.value)

    def declare(model):
        model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT8

    def newest(model):
        model.opset_import[0].version = 127

    def newer_file(model):
        model.ir_version = 1000

    def unversioned_file(model):
        model.ClearField("ir_version")

    def mistyped(model):
        model.graph.node[0].op_type = "Flatten"
        model.graph.node[0].attribute.append(onnx.AttributeProto(name="axis", i=1, type=onnx.AttributeProto.FLOAT))

    def untyped(model):
        model.graph.initializer.append(TensorProto(name="unused", dims=[2]))

    assert "'y' is declared as int8 and is f32" in message(declare)
    assert "initializer 'unused': it has no element type\nhint: " in message(untyped)
    assert "version 127 of ONNX's operator set, expected 1 to 28" in message(newest)
    assert "IR version 1000, the newest that is known is 14" in message(newer_file)
    assert "expected an IR version of at least 1, got 0\nhint: " in message(unversioned_file)
    assert "attribute 'axis' does not have the type that it declares" in message(mistyped)


@pytest.mark.parametrize("extents", [[2, 3], ["n", 3]])
def test_scales_beyond_all_extents_are_refused(extents):
    model = build_unchecked(("Resize", ["x", "", "s"], ["y"], {}), ramp(2, 3), {"s": np.float32([1e21, 1])})
    for dim, extent in zip(model.graph.input[0].type.tensor_type.shape.dim, extents, strict=True):
        dim.Clear()
        setattr(dim, "dim_param" if isinstance(extent, str) else "dim_value", extent)
    with pytest.raises(perpend.CompileError, match="cannot scale the extent"):
        perpend.compile(model)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pads_of_four_dimensions_known_at_run_time(mode, tmp_path):
    nodes = [("Pad", ["x", "pads"], ["y"], {"mode": mode})]
    pads = np.array([0, 1, 2, 0, 0, 0, 1, 3])
    agrees(*build(nodes, {"x": ramp(1, 3, 4, 5), "pads": pads}, ["y"]), tmp_path)


@pytest.mark.parametrize("first", [0, 2, 3])
def test_a_new_shape_in_two_parts(first):
    """How many of its elements are in which part is only known in a run."""
    nodes = [
        ("Shape", ["x"], ["n"], {}),
        ("Slice", ["v", "zero", "n", "zero"], ["p"], {}),
        ("Slice", ["v", "n", "three", "zero"], ["q"], {}),
        ("Concat", ["p", "q"], ["s"], {"axis": 0}),
        ("Reshape", ["y", "s"], ["z"], {}),
    ]
    constants = {"zero": np.array([0]), "three": np.array([3])}
    inputs = {"x": (ramp(first), ["n"]), "v": np.array([2, 3, 1]), "y": (ramp(6), ["k"])}
    model, feeds = build(nodes, inputs, ["z"], constants)
    try:
        run = perpend.compile(model)
    except perpend.CompileError as error:
        assert "expected a known number of values" in str(error)
    else:
        np.testing.assert_array_equal(run(*feeds.values()), ramp(2, 3, 1))


def test_a_loop_in_a_branch_that_does_not_run():
    """Its values would have a negative extent."""
    loop = onnx.parser.parse_graph(
        "body (int64 i, bool go, float[1, 1, m] h) => (bool again, float[1, 1, m] next, float[1, m] out) "
        "{ again = Identity (go) next = Sin (h) out = ReduceSum <keepdims = 0> (next, axes) }"
    )
    info = helper.make_tensor_value_info
    results = [info("r", TensorProto.FLOAT, [])]
    branches = {
        "then_branch": [
            helper.make_node("Conv", ["x", "w"], ["c"]),
            helper.make_node("Loop", ["trip", "", "c"], ["last", "all"], body=loop),
            helper.make_node("ReduceSum", ["all"], ["r"], keepdims=0),
        ],
        "else_branch": [helper.make_node("ReduceSum", ["x"], ["r"], keepdims=0)],
    }
    graphs = {name: helper.make_graph(nodes, name, [], results) for name, nodes in branches.items()}
    constants = {"w": np.ones((1, 1, 5), np.float32), "trip": np.array(3), "axes": np.array([0])}
    inputs = {"cond": np.array(False), "x": (ramp(1, 1, 2), [1, 1, "n"])}
    model, feeds = build([("If", ["cond"], ["y"], graphs)], inputs, ["y"], constants)
    run = perpend.compile(model)
    assert run(*feeds.values()) == 1
    assert np.isfinite(run(np.array(True), ramp(1, 1, 7)))


@pytest.mark.parametrize("parts", [2, 3, 70])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_concatenation_of_many_parts(parts, axis):
    """A choice for each part inside that for the part before took time and depth that grow with the square of them."""
    feeds = {f"x{i}": np.full((3, 4), i, np.float32)[: 3 if axis else i * 2] for i in range(3)}
    names = [f"x{i % 3}" for i in range(parts)]
    nodes = [("Concat", names, ["c"], {"axis": axis}), ("Neg", ["c"], ["y"], {}), ("Identity", ["c"], ["z"], {})]
    inputs = {name: (x, [3, 4] if axis else [f"{name}_rows", 4]) for name, x in feeds.items()}
    model, _ = build(nodes, inputs, ["y", "z"])
    expected = np.concatenate([feeds[name] for name in names], axis)
    negative, same = perpend.compile(model)(*feeds.values())
    np.testing.assert_array_equal(same, expected)
    np.testing.assert_array_equal(negative, -expected)


@pytest.mark.parametrize(
    ("kind", "number"), [(TensorProto.UINT8, 300), (TensorProto.INT8, -129), (TensorProto.FLOAT16, -1)]
)
def test_numbers_that_elements_cannot_hold(kind, number):
    """They were reduced modulo 256 or 65536."""
    tensor = TensorProto(name="w", data_type=kind, dims=[1], int32_data=[number])
    output = helper.make_tensor_value_info("y", kind, [1])
    graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [], [output], [tensor])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    with pytest.raises(perpend.CompileError, match=f"initializer 'w': its element {number} does not fit"):
        perpend.compile(model)


def test_declared_shapes_and_types_that_contradict_the_model():
    def compile_declared(dims, change=lambda model: None):
        model = build_unchecked(("Abs", ["x"], ["y"], {}), ramp(2, 3), {})
        model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, dims))
        change(model)
        perpend.compile(model)

    number = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    others = {
        "a map": helper.make_map_type_proto(TensorProto.INT64, number),
        "a sequence": helper.make_sequence_type_proto(number),
        "an optional value": helper.make_optional_type_proto(number),
    }

    for dims in ([2, 3], ["a", "b"], [None, "n"], ["n", 3]):
        compile_declared(dims)
    for dims in ([7, 7, 7], [6], [2, 4]):  # ONNX Runtime runs them
        text = f"output 'y': its declared shape is {dims}, the computed one is [2, 3]"
        with pytest.warns(UserWarning, match=re.escape(text)):
            compile_declared(dims)
    for name, kind in others.items():
        with pytest.raises(perpend.CompileError, match=f"'y' is declared as {name} and is f32"):
            compile_declared([2, 3], lambda model, kind=kind: model.graph.output[0].type.CopyFrom(kind))


def test_transposed_convolution_of_no_rows():
    """What stood between its rows had -1 of them, and so no size."""
    attributes = {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}
    node = ("ConvTranspose", ["x", "w"], ["y"], attributes)
    model, _ = build([node], {"x": (ramp(1, 2, 3, 5), [1, 2, "h", 5])}, ["y"], {"w": ramp(2, 3, 3, 3)})
    for level in range(4):
        compiled = perpend.compile(model, opt_level=level)
        assert compiled(np.zeros((1, 2, 0, 5), np.float32)).shape == (1, 3, 0, 10)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_factor_that_is_added_to_its_product(tmp_path, swapped):
    """Of y * b + y, the scale of b and that of y were divided by the result's, and the product read the divided y."""
    product = ["b_real", "y"] if swapped else ["y", "b_real"]
    nodes = [
        ("DequantizeLinear", ["a", "a_scale", "zero"], ["a_real"], {}),
        ("DequantizeLinear", ["b", "b_scale", "zero"], ["b_real"], {}),
        ("DequantizeLinear", ["c", "c_scale", "zero"], ["c_real"], {}),
        ("Add", ["a_real", "c_real"], ["y"], {}),
        ("Mul", product, ["z"], {}),
        ("Add", ["y", "z"] if swapped else ["z", "y"], ["sum"], {}),
        ("QuantizeLinear", ["sum", "scale", "zero"], ["q"], {}),
    ]
    numbers = np.array([3, 100, 200], np.uint8)
    constants = {
        "a_scale": np.float32(0.5),
        "b_scale": np.float32(0.01),
        "c_scale": np.float32(0.3),
        "scale": np.float32(4),
        "zero": np.uint8(0),
    }
    agrees(*build(nodes, {"a": numbers, "b": numbers[::-1].copy(), "c": numbers}, ["q"], constants), tmp_path)
