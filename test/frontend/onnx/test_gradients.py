"""The operator Gradient: which function its names mean, what its errors say, and every operator against differences."""

import numpy as np
import onnx
import perpend
import pytest
from image_cases import CASES
from onnx import TensorProto, helper
from operator_cases import normal

TRAINING = "ai.onnx.preview.training"
HEADER = f'<ir_version: 8, opset_import: ["" : 17, "{TRAINING}" : 1]>\n'


def parse(text):
    return onnx.parser.parse_model(HEADER + text.replace("Gradient", f"{TRAINING}.Gradient"))


def results(model, feeds):
    """Of the compiled model, which the interpreter confirms."""
    compiled = perpend.compile(model)(**feeds)
    compiled = compiled if isinstance(compiled, tuple) else (compiled,)
    for got, meant in zip(compiled, perpend.import_model(model).evaluate(*feeds.values()), strict=True):
        np.testing.assert_allclose(got, meant, 1e-5, 1e-5)
    return compiled


def scalars(**values):
    return {name: np.array(value, np.float32) for name, value in values.items()}


def expect(text, feeds, *expected):
    for got, want in zip(results(parse(text), feeds), expected, strict=True):
        np.testing.assert_allclose(got, np.asarray(want, np.float32), 1e-6)


def message(text):
    with pytest.raises(perpend.CompileError) as caught:
        perpend.compile(parse(text))
    return str(caught.value)


# --------------------------------------------------------------------------------------------------------------------
# What the names mean
# --------------------------------------------------------------------------------------------------------------------


def test_of_a_product():
    text = """g (float a, float b) => (float da, float db) {
      c = Add(a, b)
      d = Mul(c, a)
      da, db = Gradient <xs = ["a", "b"], y = "d"> (a, b)
    }"""
    expect(text, scalars(a=1, b=2), 4, 1)


def test_of_an_intermediate_value():
    """h and a are independent of each other, though h is computed from a."""
    text = """g (float a) => (float dh, float da) {
      h = Mul(a, a)
      y = Mul(h, a)
      dh, da = Gradient <xs = ["h", "a"], y = "y"> (h, a)
    }"""
    expect(text, scalars(a=3), 3, 9)


def test_of_a_value_that_is_also_called_otherwise():
    text = """g (float a) => (float d) {
      h = Identity(a)
      y = Mul(h, a)
      d = Gradient <xs = ["h"], y = "y"> (h)
    }"""
    expect(text, scalars(a=3), 3)


def test_at_other_values():
    """Another point, of another shape than the named one."""
    text = """g (float[2] w, float[3, 2] x, float[n, 2] other) => (float[3, 2] y, float[2] dw, float[n, 2] dx) {
      y = Mul(w, x)
      dw, dx = Gradient <xs = ["w", "x"], y = "y"> (w, other)
    }"""
    feeds = {"w": normal(2), "x": normal(3, 2), "other": normal(5, 2)}
    expected = [feeds["w"] * feeds["x"], feeds["other"].sum(0), np.broadcast_to(feeds["w"], (5, 2))]
    expect(text, feeds, *expected)


def test_zs_are_given_but_not_differentiated():
    text = """g (float a, float b, float c) => (float da) {
      y = Mul(a, b)
      da = Gradient <xs = ["a"], zs = ["b"], y = "y"> (a, c)
    }"""
    expect(text, scalars(a=2, b=3, c=5), 5)


def test_of_weights():
    """A constant exponent is not known to be one in its own derivative."""
    text = """g (float a) => (float dw, float da) <float w = {2.0}> {
      y = Pow(a, w)
      dw, da = Gradient <xs = ["w", "a"], y = "y"> (w, a)
    }"""
    expect(text, scalars(a=3), 9 * np.log(3), 6)


def test_of_itself_and_of_what_does_not_matter():
    text = """g (float[2] a, float[n] b) => (float[2] da, float[n] db) {
      y = Neg(b)
      da, db = Gradient <xs = ["a", "b"], y = "a"> (a, b)
    }"""
    expect(text, {"a": normal(2), "b": normal(3)}, [1, 1], [0, 0, 0])


def test_only_some_outputs():
    text = """g (float a, float b) => (float db) {
      y = Mul(a, b)
      unused, db = Gradient <xs = ["a", "b"], y = "y"> (a, b)
    }"""
    model = parse(text)
    model.graph.node[1].output[0] = ""
    np.testing.assert_allclose(results(model, scalars(a=2, b=3)), [2])


def test_second_derivative():
    text = """g (float x) => (float first, float second, float third) {
      y = Exp(x)
      z = Mul(x, y)
      first = Gradient <xs = ["x"], y = "z"> (x)
      second = Gradient <xs = ["x"], y = "first"> (x)
      third = Gradient <xs = ["x"], y = "second"> (x)
    }"""
    e = np.exp(0.5)
    expect(text, scalars(x=0.5), 1.5 * e, 2.5 * e, 3.5 * e)


def test_in_branches():
    """Nodes of the graph outside are part of the function; those inside too."""
    text = """g (bool c, float a) => (float d) {
      h = Mul(a, a)
      d = If (c) <
        then_branch = inner () => (float r) {
          y = Mul(h, a)
          r = Gradient <xs = ["a"], y = "y"> (a)
        },
        else_branch = inner () => (float s) { s = Gradient <xs = ["a"], y = "h"> (a) }>
    }"""
    for c, expected in [(True, 12), (False, 4)]:
        expect(text, {"c": np.array(c), **scalars(a=2)}, expected)


def test_in_a_loop():
    """Newton's method for the root of x^2 - 2."""
    text = """g (int64 trips, float start) => (float x) <float two = {2.0}> {
      x = Loop (trips, , start) <
        body = step (int64 i, bool go, float state) => (bool on, float next) {
          on = Identity(go)
          square = Mul(state, state)
          y = Sub(square, two)
          slope = Gradient <xs = ["state"], y = "y"> (state)
          change = Div(y, slope)
          next = Sub(state, change)
        }>
    }"""
    expect(text, {"trips": np.array(6), **scalars(start=1)}, np.sqrt(2))


def test_in_a_function():
    model = parse("""g (float a) => (float d) { d = Copy(a) }""")
    body = [
        helper.make_node("Mul", ["x", "x"], ["y"]),
        helper.make_node("Gradient", ["x"], ["slope"], domain=TRAINING, xs=["x"], y="y"),
    ]
    sets = [helper.make_opsetid("", 17), helper.make_opsetid(TRAINING, 1)]
    model.functions.append(helper.make_function("own", "Slope", ["x"], ["slope"], body, sets))
    model.opset_import.append(helper.make_opsetid("own", 1))
    del model.graph.node[:]
    model.graph.node.append(helper.make_node("Slope", ["a"], ["d"], domain="own"))
    np.testing.assert_allclose(results(model, scalars(a=3)), [6])


def test_of_branches_that_are_known():
    text = """g (float a) => (float d) <bool c = {1}> {
      y = If (c) <
        then_branch = inner () => (float r) { r = Mul(a, a) },
        else_branch = inner () => (float s) { s = Neg(a) }>
      d = Gradient <xs = ["a"], y = "y"> (a)
    }"""
    expect(text, scalars(a=3), 6)


@pytest.mark.parametrize("extent", [0, 1, 7])
def test_of_no_elements(extent):
    text = """g (float[n, 3] x, float[3, 2] w) => (float[n, 3] dx, float[3, 2] dw) {
      h = MatMul(x, w)
      y = Softmax(h)
      z = Mul(y, y)
      dx, dw = Gradient <xs = ["x", "w"], y = "z"> (x, w)
    }"""
    dx, dw = results(parse(text), {"x": normal(extent, 3), "w": normal(3, 2)})
    assert (dx.shape, dw.shape) == ((extent, 3), (3, 2))
    assert np.isfinite(dx).all() and (dw.any() == (extent > 0))


@pytest.mark.parametrize("element", ["float16", "bfloat16"])
def test_of_narrow_floats(element):
    text = f"""g ({element}[n, 3] x, {element}[3, 2] w) => (float[3, 2] wide) {{
      y = MatMul(x, w)
      z = Tanh(y)
      dw = Gradient <xs = ["w"], zs = ["x"], y = "z"> (w, x)
      wide = Cast <to = 1> (dw)
    }}"""
    x, w = normal(5, 3), normal(3, 2)
    kind = helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT16 if element == "float16" else TensorProto.BFLOAT16)
    x, w = x.astype(kind).astype(np.float32), w.astype(kind).astype(np.float32)
    expected = x.T @ (1 - np.tanh(x @ w) ** 2)
    (got,) = results(parse(text), {"x": x.astype(kind), "w": w.astype(kind)})
    np.testing.assert_allclose(got, expected, 2e-2, 2e-2)


def test_far_from_zero():
    """No infinity times 0 where a function is flat; and the derivative of softplus at 0."""
    functions = {"Sigmoid": [0, 0.25, 0], "Softplus": [0, 0.5, 1], "Tanh": [0, 1, 0], "Elu": [0, 1, 1]}
    functions |= {"Celu": [0, 1, 1], "Selu": [0, 1.0507009873554804, 1.0507009873554804], "Mish": [0, 0.6, 1]}
    for name, expected in functions.items():
        text = f"""g (float[n] x) => (float[n] d) {{
          y = {name}(x)
          d = Gradient <xs = ["x"], y = "y"> (x)
        }}"""
        model = parse(text)
        model.opset_import[0].version = 18
        (got,) = results(model, {"x": np.array([-200, 0, 200], np.float32)})
        np.testing.assert_allclose(got, expected, 1e-6, 1e-6, err_msg=name)


def test_what_is_not_chosen_has_no_part():
    """No 0 times infinity where the slope of the other choice is infinite, nor in a derivative of the derivative."""
    text = """g (float[n] x) => (float[n] first, float[n] second) <float zero = {0.0}> {
      c = Greater(x, zero)
      root = Sqrt(x)
      y = Where(c, root, zero)
      first = Gradient <xs = ["x"], y = "y"> (x)
      second = Gradient <xs = ["x"], y = "first"> (x)
    }"""
    feeds = {"x": np.array([-1, 0, 4], np.float32)}
    expect(text, feeds, [0, 0, 1 / 4], [0, 0, -1 / 32])


def test_second_derivative_where_the_first_is_zero():
    text = """g (float x) => (float first, float second) <float two = {2.0}> {
      h = Sin(x)
      d = Sub(h, h0)
      y = Pow(d, two)
      first = Gradient <xs = ["x"], y = "y"> (x)
      second = Gradient <xs = ["x"], y = "first"> (x)
    }""".replace("(float x)", "(float x, float h0)")
    expect(text, scalars(x=0, h0=0), 0, 2)


def gradient_of(node, weights, x, version=17):
    model = parse(
        f"""g (float[n] x) => (float[n] d) <{weights}> {{
      {node}
      d = Gradient <xs = ["x"], y = "y"> (x)
    }}"""
    )
    model.opset_import[0].version = version
    return results(model, {"x": np.array(x, np.float32)})[0].tolist()


def test_at_the_bounds_of_clip():
    """As torch.clamp: a value on a bound is within."""
    x, expected = [-2, 0, 0.5, 6, 7], [0, 1, 1, 1, 0]
    assert gradient_of("y = Clip(x, low, high)", "float low = {0.0}, float high = {6.0}", x) == expected
    assert gradient_of("y = Clip <min = 0.0, max = 6.0> (x)", "float unused = {0.0}", x, version=6) == expected
    assert gradient_of("y = Clip(x, low)", "float low = {0.0}", x) == [0, 1, 1, 1, 1]


def test_of_bounds_that_are_variables():
    """Where x is on a bound, the bound has no part."""
    text = """g (float[n] x, float low, float high) => (float[n] dx, float dlow, float dhigh) {
      y = Clip(x, low, high)
      dx, dlow, dhigh = Gradient <xs = ["x", "low", "high"], y = "y"> (x, low, high)
    }"""
    feeds = {"x": np.array([-2, 0, 0.5, 6, 7, 8], np.float32), **scalars(low=0, high=6)}
    expect(text, feeds, [0, 1, 1, 1, 0, 0], 1, 2)


def test_at_a_constant_extremum():
    """As relu; that of two variables is shared."""
    for zero in ("float zero = {0.0}", "float[1] zero = {0.0}"):
        assert gradient_of("y = Max(x, zero)", zero, [-1, 0, 1]) == [0, 0, 1]
        assert gradient_of("y = Min(zero, x)", zero, [-1, 0, 1]) == [1, 0, 0]
    assert gradient_of("y = Max(x, several)", "float[3] several = {0.0, 1.0, 2.0}", [0, 1, 3]) == [0, 0, 1]
    text = """g (float a, float b) => (float da, float db) {
      y = Max(a, b)
      da, db = Gradient <xs = ["a", "b"], y = "y"> (a, b)
    }"""
    expect(text, scalars(a=1, b=1), 0.5, 0.5)


def test_clip_keeps_what_is_no_number():
    text = """g (float[n] x, float low, float high) => (float[n] y) { y = Clip(x, low, high) }"""
    nan = np.nan
    for low, high, expected in [(0, 6, [nan, 1, 6]), (nan, 6, [nan] * 3), (0, nan, [nan] * 3), (6, 0, [nan, 0, 0])]:
        expect(text, {"x": np.array([nan, 1, 7], np.float32), **scalars(low=low, high=high)}, expected)


def test_norm_of_zeros():
    """No infinity times 0."""
    assert gradient_of("y = ReduceL2 <keepdims = 0> (x)", "float unused = {0.0}", [0, 0, 0]) == [0, 0, 0]
    assert (
        gradient_of("y = ReduceL2 <keepdims = 0> (x)", "float unused = {0.0}", [3, 4])
        == np.float32([0.6, 0.8]).tolist()
    )


def test_attention_of_a_row_without_keys():
    text = """g (float[n, 2, 3, 4] q, float[n, 2, 5, 4] k, float[n, 2, 5, 4] v, bool[3, 5] mask)
        => (float[n, 2, 3, 4] y, float[n, 2, 3, 4] dq, float[n, 2, 5, 4] dk, float[n, 2, 5, 4] dv) {
      y = Attention(q, k, v, mask)
      dq, dk, dv = Gradient <xs = ["q", "k", "v"], zs = ["mask"], y = "y"> (q, k, v, mask)
    }"""
    model = parse(text)
    model.opset_import[0].version = 23
    mask = np.ones((3, 5), np.bool_)
    mask[1] = False
    feeds = {"q": normal(2, 2, 3, 4), "k": normal(2, 2, 5, 4), "v": normal(2, 2, 5, 4), "mask": mask}
    y, *gradients = results(model, feeds)
    assert not y[:, :, 1].any()
    assert all(np.isfinite(gradient).all() and gradient.any() for gradient in gradients)
    assert not gradients[0][:, :, 1].any()


# --------------------------------------------------------------------------------------------------------------------
# Errors
# --------------------------------------------------------------------------------------------------------------------


def test_operator_without_a_derivative():
    text = """g (int64 trips, float x) => (float d) {
      y = Loop (trips, , x) <
        body = step (int64 i, bool go, float state) => (bool on, float next) {
          on = Identity(go)
          next = Mul(state, x)
        }>
      z = Exp(y)
      d = Gradient <xs = ["x"], y = "z"> (x)
    }"""
    said = message(text)
    assert "node 'd' (Gradient): no derivative of node 'y' (Loop) (graph.loop)\ninputs: 'x' f32 []\nhint: " in said
    assert said.count("error") <= 1


def test_integers_have_no_derivative():
    assert "(Gradient): no derivative in elements of type i64\ninputs: 'a' i64 []\nhint: " in message(
        """g (int64 a) => (int64 d) {
          y = Mul(a, a)
          d = Gradient <xs = ["a"], y = "y"> (a)
        }"""
    )
    assert "(Gradient): no derivative of elements of type bool\ninputs: 'a' f32 []\nhint: " in message(
        """g (float a) => (float d) {
          y = Less(a, a)
          d = Gradient <xs = ["a"], y = "y"> (a)
        }"""
    )


def test_order_has_a_limit():
    """Every order doubles the import, so a file could ask for any amount of time."""

    def derivatives(order):
        nodes = [f'd{i + 1} = Gradient <xs = ["x"], y = "d{i}"> (x)' for i in range(order)]
        return f"g (float x) => (float d{order}) {{ d0 = Mul(x, x) {' '.join(nodes)} }}"

    np.testing.assert_allclose(results(parse(derivatives(3)), scalars(x=2)), [0])
    assert "expected derivatives of at most order 8\ninputs: 'x' f32 []\nhint: " in message(derivatives(40))


def test_names_and_inputs():
    body = "g (float a, float b) => (float d) { y = Mul(a, b) d = Gradient <%s> (%s) }"
    for attributes in ('xs = ["a"]', 'y = "y"', 'xs = [""], y = "y"'):
        assert "expected the attribute" in message(body % (attributes, "a"))
    assert "attribute 'xs': expected texts, got integers" in message(body % ('xs = [1], y = "y"', "a"))
    assert "attribute 'y': expected a text, got texts" in message(body % ('xs = ["a"], y = ["y"]', "a"))
    assert "expected an input for each of the 2 xs and 0 zs, got 1" in message(body % ('xs = ["a", "b"], y = "y"', "a"))
    assert "a name occurs twice in xs and zs" in message(body % ('xs = ["a"], zs = ["a"], y = "y"', "a, b"))
    assert "'q' is not defined anywhere" in message(body % ('xs = ["a"], y = "q"', "a"))
    assert "'q' is not defined anywhere" in message(body % ('xs = ["q"], y = "y"', "a"))


# --------------------------------------------------------------------------------------------------------------------
# Every operator against differences, in double precision
# --------------------------------------------------------------------------------------------------------------------

# Loops, and functions of the runtime's library.
WITHOUT_DERIVATIVE = {"LSTM", "GRU", "RNN"}


def is_variable(case, position):
    array = case.inputs[position]
    return array is not None and position not in case.constants and np.asarray(array).dtype == np.float32


def accepts_double(case):
    schema = onnx.defs.get_schema(case.op, case.opset, "")
    types = {bound.type_param_str: bound.allowed_type_strs for bound in schema.type_constraints}
    for position in range(len(case.inputs)):
        formal = schema.inputs[min(position, len(schema.inputs) - 1)]
        if is_variable(case, position) and "tensor(double)" not in types.get(formal.type_str, [formal.type_str]):
            return False
    return True


def wide(array):
    array = np.asarray(array)
    return array.astype(np.float64) if array.dtype == np.float32 else array


def moved_a_little(array):
    """Away from where functions jump."""
    return np.asarray(array * 1.0009765625 + 0.0001220703125) if array.dtype == np.float64 else array


def build(case):
    """The operator on float64, and its gradient in every input that is one."""
    names, inputs, constants, feeds, xs = [], [], [], {}, []
    for position, array in enumerate(case.inputs):
        name = "" if array is None else f"input{position}"
        names.append(name)
        if array is None:
            continue
        if position in case.constants:
            constants.append(onnx.numpy_helper.from_array(wide(array), name))
            continue
        feeds[name] = moved_a_little(wide(array))
        kind = helper.np_dtype_to_tensor_dtype(feeds[name].dtype)
        inputs.append(helper.make_tensor_value_info(name, kind, feeds[name].shape))
        if is_variable(case, position):
            xs.append(name)
    outputs = [f"output{index}" for index in range(case.outputs)]
    node = helper.make_node(case.op, names, outputs, "node", **case.attributes)
    gradient = helper.make_node("Gradient", xs, [f"d{x}" for x in xs], domain=TRAINING, xs=xs, y=outputs[0])
    infos = [helper.make_empty_tensor_value_info(name) for name in [outputs[0], *gradient.output]]
    graph = helper.make_graph([node, gradient], "operator", inputs, infos, constants)
    sets = [helper.make_opsetid("", case.opset), helper.make_opsetid(TRAINING, 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8 if case.opset < 20 else 10), feeds, xs


def differentiable_cases():
    def is_suitable(case):
        floats = [case.inputs[i] for i in range(len(case.inputs)) if is_variable(case, i)]
        return floats and all(np.isfinite(array).all() for array in floats) and accepts_double(case)

    return [case for case in CASES if is_suitable(case)]


def precision(case, y):
    """The step of a difference, and the relative tolerance: by what the operator computes in."""
    is_single = y.dtype != np.float64 or case.op in {"Resize", "Upsample"}
    return (1e-2, 1e-3) if is_single else (1e-6, 1e-4)


@pytest.mark.parametrize("case", differentiable_cases(), ids=str)
def test_operator(case):
    model, feeds, xs = build(case)
    try:
        module = perpend.import_model(model)
    except perpend.CompileError as error:
        known = case.op in WITHOUT_DERIVATIVE and "no derivative of node 'node'" in str(error)
        known |= case.op == "Cast" and "no derivative of the scalar operation arith.bitcast" in str(error)  # to f16
        if known or "no derivative of elements of type" in str(error):
            return
        raise
    y, *gradients = module.evaluate(*feeds.values())
    assert case.op not in WITHOUT_DERIVATIVE
    generator, (relative_step, tolerance) = np.random.default_rng(1), precision(case, y)
    for name, gradient in zip(xs, gradients, strict=True):
        assert gradient.shape == feeds[name].shape
        count = min(3, gradient.size)
        for place in generator.choice(gradient.size, count, replace=False) if count else []:
            index = np.unravel_index(place, gradient.shape)
            values, step = [], relative_step * max(1.0, abs(feeds[name][index]))
            for sign in (1, -1):
                moved = feeds[name].copy()
                moved[index] += sign * step
                values.append(module.evaluate(*{**feeds, name: moved}.values())[0].astype(np.float64))
            difference = (values[0] - values[1]).sum() / (2 * step)
            scale = 1 + np.abs(y).max(initial=0)
            np.testing.assert_allclose(gradient[index], difference, tolerance, 0.01 * tolerance * scale)
