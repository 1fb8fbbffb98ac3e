"""Graphs inside nodes, recurrent networks, and shapes computed at run time, against ONNX Runtime.

The imported module is run by the reference interpreter, so this tests what they mean.
"""

import itertools
import re

import numpy as np
import onnx
import onnxruntime
import perpend
import pytest
from operator_cases import Case, float32, int64, integers, normal
from test_operators import build, run


def expect_same(model, feeds):
    results = run(model, feeds)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, feeds)
    for got, want in zip(results, expected, strict=True):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), 2e-5, 2e-5)
    return expected


def fix_extents(model, feeds, is_fixed):
    """Gives inputs the extents of their arrays."""
    for value in model.graph.input:
        if is_fixed(value.name):
            for dimension, extent in zip(value.type.tensor_type.shape.dim, feeds[value.name].shape, strict=True):
                dimension.dim_value = extent


def parse(text):
    return onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 17]>\n' + text)


# Graphs that use the values around them: names of their own, constants of their own, two levels up.
BRANCHES = """branches (bool c, bool d, float[n] x) => (float[m] y, float[k] z) {
  twice = Add(x, x)
  y, z = If (c) <
    then_branch = inner () => (float[p] r, float[q] s) <float[2] w = {1.0, 2.0}> {
      r = If (d) <
        then_branch = deep () => (float[a] u) { u = Concat <axis = 0> (twice, w) },
        else_branch = deep () => (float[b] u) { u = Neg(x) }>
      s = Identity(twice)
    },
    else_branch = inner () => (float[p] r, float[q] s) <float[1] w = {7.0}> {
      r = Concat <axis = 0> (x, w, w, w)
      s = Identity(w)
    }>
}"""


@pytest.mark.parametrize(("c", "d"), itertools.product([True, False], repeat=2))
@pytest.mark.parametrize("extent", [1, 3, 7])
def test_branches(c, d, extent):
    feeds = {"c": np.array(c), "d": np.array(d), "x": normal(extent)}
    expect_same(parse(BRANCHES), feeds)


GROWING = """growing (int64 trips, float[n] x) => (float[m] y, float[k] sums, int64 total) {
  zero = Constant <value_int = 0> ()
  y, total, sums = Loop (trips, , x, zero) <
    body = step (int64 i, bool go, float[a] state, int64 count)
        => (bool on, float[b] next, int64 more, float element) {
      on = Identity(go)
      next = Concat <axis = 0> (state, x)
      more = Add(count, i)
      element = ReduceSum <keepdims = 0> (next)
    }>
}"""


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_loop_with_growing_state(trips):
    expect_same(parse(GROWING), {"trips": np.array(trips), "x": normal(3)})


def test_negative_trip_count_is_none():
    results = run(parse(GROWING), {"trips": np.array(-3), "x": float32(1, 2)})
    assert [result.shape for result in results] == [(2,), (0,), ()]


# Ends by its condition, or by its limit; a loop inside sees the iteration of the one around it.
NESTED = """nested (int64 trips, float limit, float[2,3] x) => (float[2,3] y, int64[a] numbers) {
  yes = Constant <value = bool {1}> ()
  three = Constant <value_int = 3> ()
  y, numbers = Loop (trips, yes, x) <
    body = outer (int64 i, bool go, float[2,3] state) => (bool on, float[2,3] next, int64 number) {
      next = Loop (three, , state) <
        body = inner (int64 j, bool g, float[2,3] s) => (bool o, float[2,3] t) {
          o = Identity(g)
          ij = Mul(i, j)
          f = Cast <to = 1> (ij)
          t = Add(s, f)
        }>
      sum = ReduceSum <keepdims = 0> (next)
      on = Less(sum, limit)
      number = Identity(i)
    }>
}"""


@pytest.mark.parametrize(("trips", "limit"), [(5, 30.0), (2, 1e9), (0, 1.0), (9, -1e9)])
def test_nested_loops(trips, limit):
    feeds = {"trips": np.array(trips), "limit": np.array(limit, np.float32), "x": normal(2, 3)}
    expect_same(parse(NESTED), feeds)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_scan(axis, reverse):
    text = f"""scanned (float[s] start, float[a,b] x, float[a,b] z)
        => (float[s] last, float[c,d] sums, float[e] dots) {{
      last, sums, dots = Scan <
        num_scan_inputs = 2, scan_input_axes = [{axis}, {axis}], scan_input_directions = [{reverse}, 0],
        scan_output_axes = [{axis}, 0], scan_output_directions = [{1 - reverse}, {reverse}],
        body = step (float[s] state, float[q] xi, float[q] zi) => (float[s] next, float[q] sum, float dot) {{
          product = Mul(xi, zi)
          dot = ReduceSum <keepdims = 0> (product)
          next = Add(state, dot)
          sum = Sub(xi, zi)
        }}> (start, x, z)
    }}"""
    expect_same(parse(text), {"start": normal(2), "x": normal(3, 5), "z": normal(3, 5)})


def test_branch_not_taken_is_not_imported():
    # The other branch would not fit: another rank.
    text = """chosen (float[n] x) => (float[n] y) {
      size = Size(x)
      zero = Constant <value_int = 0> ()
      never = Less(size, zero)
      y = If (never) <
        then_branch = a () => (float[p,q] r) { one = Constant <value_ints = [0]> () r = Unsqueeze(x, one) },
        else_branch = b () => (float[p] r) { r = Neg(x) }>
    }"""
    feeds = {"x": float32(1, 2)}
    (result,) = run(parse(text), feeds)
    np.testing.assert_array_equal(result, -feeds["x"])


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize("is_swapped", [True, False])
def test_branch_of_another_rank_is_an_error_of_the_run(taken, is_swapped):
    branches = ["Squeeze(x, axes)", "Neg(x)"]
    text = """ranks (bool c, float[1,n] x) => (float[m] y) {{
      axes = Constant <value_ints = [0]> ()
      y = If (c) <then_branch = a () => (float[p] r) {{ r = {} }},
                  else_branch = b () => (float[p,q] r) {{ r = {} }}>
    }}""".format(*(reversed(branches) if is_swapped else branches))
    feeds = {"c": np.array(taken), "x": normal(1, 3)}
    if taken != is_swapped:
        expect_same(parse(text), feeds)
    else:
        message = f"chooses the {'then' if taken else 'else'} branch, whose results have another rank"
        with pytest.raises(perpend.CompileError, match=message):
            run(parse(text), feeds)


SQUEEZED = """squeezed (float[{0}] x) => (float[{1}] y) {{
  one = Constant <value_int = 1> () ones = Constant <value_ints = [1]> () shape = Shape (x)
  {2}
  extent = Gather (shape, one) is_one = {3} (extent, one)
  z = If (is_one) <then_branch = a () => (float[p] r) {{ {4} }}, else_branch = b () => (float[p,q] r) {{ {5} }}>
  {6}
}}"""
SQUEEZE, KEEP = "r = Squeeze (x, ones)", "r = Identity (x)"


def squeezed(inputs, before="", after="y = Neg (z)", output="m", comparison="Equal", is_swapped=False):
    bodies = (KEEP, SQUEEZE) if is_swapped else (SQUEEZE, KEEP)
    return parse(SQUEEZED.format(inputs, output, before, comparison, *bodies, after))


@pytest.mark.parametrize("is_swapped", [True, False])
@pytest.mark.parametrize(
    ("inputs", "before", "shape"),
    [
        ("3,1", "", (3, 1)),
        ("3,4", "", (3, 4)),
        ("n,d", "weights = Constant <value = float[1,2] {1, 2}> () product = MatMul (x, weights)", (3, 1)),
        ("n,d", "second = Gather <axis = 1> (x, one)", (3, 4)),
    ],
)
def test_ranks_that_shapes_and_earlier_nodes_choose(inputs, before, shape, is_swapped):
    """What a node before needs of the extent decides: binding checks it."""
    comparison = "Greater" if is_swapped else "Equal"
    model = squeezed(
        inputs, before, output="a" if shape[1] == 1 else "a,b", comparison=comparison, is_swapped=is_swapped
    )
    model.graph.output[0].type.tensor_type.ClearField("shape")
    x = normal(*shape)
    compiled = perpend.compile(model)
    np.testing.assert_array_equal(compiled(x), -x.squeeze() if shape[1] == 1 else -x)
    if before:
        with pytest.raises(ValueError, match=r"expected|needs"):
            compiled(normal(3, 5 - shape[1]))


@pytest.mark.parametrize(("output", "shape", "other"), [("m", (3, 1), (3, 2)), ("m,k", (3, 2), (3, 1))])
def test_ranks_that_the_model_declares(output, shape, other):
    """Of two branches the one whose result has the rank that the model says; binding refuses the runs of the other."""
    model = parse(SQUEEZED.format("n,d", output, "", "Equal", SQUEEZE, KEEP, "").replace("z = If", "y = If"))
    x = normal(*shape)
    compiled = perpend.compile(model)
    np.testing.assert_array_equal(compiled(x), x.reshape(x.shape[: len(output.split(","))]))
    with pytest.raises(ValueError, match=r"number of dimensions|expected|needs"):
        compiled(normal(*other))


@pytest.mark.parametrize(
    ("inputs", "condition", "hint"),
    [
        ("float[n,d] x", "is_one = Equal (extent, one)", r"hint: 'd' decides: give a number for it \(--dim\)"),
        ("float[n,d] x, bool c", "is_one = Not (c)", "hint: 'c' decides: make it a constant"),
    ],
)
def test_a_rank_that_nothing_chooses(inputs, condition, hint):
    """The error was that of the Gather, which needs the rank of the branch that was left out."""
    text = f"""squeezed ({inputs}) => (y) {{
      one = Constant <value_int = 1> () ones = Constant <value_ints = [1]> () shape = Shape (x)
      extent = Gather (shape, one) {condition}
      z = If (is_one) <then_branch = a () => (float[p] r) {{ {SQUEEZE} }},
                       else_branch = b () => (float[p,q] r) {{ {KEEP} }}>
      s = Shape (z) y = Gather (s, one)
    }}""".replace("=> (y)", "=> (int64 y)")
    message = r"node 'z' \(If\): its then branch has a result of rank 1, its else branch of rank 2, and the condition"
    with pytest.raises(perpend.CompileError, match=rf"(?s){message} .*'y' \(Gather\): gather: index 1 .*{hint}"):
        perpend.compile(parse(text))
    x = normal(3, 4)
    if "bool" not in inputs:
        assert perpend.compile(parse(text), dims={"d": 4})(x) == 4


BEYOND = "two = Constant <value_ints = [2, 3]> () r, rest = Split (x, two)"
DEEP = "axes = Constant <value_ints = [0, 1]> () deep = Unsqueeze (x, axes) r = MaxPool <kernel_shape = [9]> (deep)"
RANKS = """wide = Constant <value_ints = [2, 2]> () square = Reshape (x, wide)
           joined = Concat <axis = 0> (square, x) r = Neg (x)"""
FIVE = "five = Constant <value_ints = [5]> () r = Reshape (x, five)"


def branches(then_body, else_body, inputs="bool c, float[4] x"):
    return f"""sizes ({inputs}) => (float[m] y) {{
      y = If (c) <then_branch = a () => (float[p] r) {{ {then_body} }},
                  else_branch = b () => (float[q] r) {{ {else_body} }}>
    }}"""


@pytest.mark.parametrize("problem", [BEYOND, DEEP, RANKS, FIVE])
@pytest.mark.parametrize("is_then", [True, False])
def test_a_branch_that_cannot_run_is_an_error_where_it_is_reached(problem, is_then):
    """The model was refused, whichever branch its runs take."""
    model = parse(branches(*([problem, "r = Neg (x)"] if is_then else ["r = Neg (x)", problem])))
    feeds = {"c": np.array(not is_then), "x": normal(4)}
    name = "then" if is_then else "else"
    with pytest.warns(UserWarning, match=rf"(?s)\(If\): a run that chooses the {name} branch will be an error: node '"):
        compiled = perpend.compile(model)
    np.testing.assert_array_equal(compiled(**feeds), -feeds["x"])
    with pytest.raises(ValueError, match=f"the {name} branch, which cannot run: node '.*' "):
        compiled(**{**feeds, "c": np.array(is_then)})
    with pytest.warns(UserWarning) as warnings:
        (result,) = run(model, feeds)
    np.testing.assert_array_equal(result, -feeds["x"])
    assert len(warnings) == 1


def test_shapes_known_in_the_branch_that_stays_are_known_behind_it():
    """As if the branch stood alone: the reshape needs the sizes that it computed."""
    text = f"""sizes (bool c, float[4] x) => (float[2, 2] y) {{
      z, s = If (c) <
        then_branch = a () => (float[p] r, int64[2] t) {{ {BEYOND} t = Constant <value_ints = [9, 9]> () }},
        else_branch = b () => (float[q] r, int64[2] t) {{ r = Neg (x) t = Constant <value_ints = [2, 2]> () }}>
      y = Reshape (z, s)
    }}"""
    feeds = {"c": np.array(False), "x": normal(4)}
    with pytest.warns(UserWarning, match="a run that chooses the then branch"):
        (result,) = run(parse(text), feeds)
    np.testing.assert_array_equal(result, -feeds["x"].reshape(2, 2))


def test_branches_of_which_none_can_run():
    with pytest.raises(perpend.CompileError, match=r"node '.*' \(Split\)"):
        run(parse(branches(BEYOND, DEEP)), {})
    inner = """inner = If (d) <then_branch = e () => (float[s] r) {{ {} }}, else_branch = f () => (float[t] r) {{ {} }}>
               r = Neg (inner)"""
    model = parse(branches(inner.format(BEYOND, DEEP), "r = Neg (x)", "bool c, bool d, float[4] x"))
    feeds = {"c": np.array(False), "d": np.array(True), "x": normal(4)}
    with pytest.warns(UserWarning, match=r"then branch will be an error: node '.*' \(Split\)"):
        (result,) = run(model, feeds)
    np.testing.assert_array_equal(result, -feeds["x"])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("r = Neg (nothing)", "nothing"),
        ("i = Constant <value_ints = [1, 2, 3, 4]> () r = Add (x, i)", "element type"),
        ("r = LeakyRelu <alpha = 1> (x)", "alpha"),
    ],
)
def test_a_branch_that_no_shapes_make_right_is_an_error(body, message):
    with pytest.raises(perpend.CompileError, match=message):
        run(parse(branches(body, "r = Neg (x)")), {})


def test_a_loop_that_gives_up_what_it_took_for_known_does_not_warn(recwarn):
    """As long as the size is 5 in every iteration, no tensor of 4 elements has it."""
    text = """sizes (float[4] x) => (float[1] y) {
      one = Constant <value_int = 1> () start = Constant <value_ints = [5]> () step = Constant <value_ints = [1]> ()
      count = Constant <value_int = 3> () yes = Constant <value = bool {1}> ()
      empty = Constant <value = float[1] {0}> ()
      last, y = Loop (count, yes, start, empty) <body = body (int64 i, bool go, int64[1] size, float[1] h) =>
        (bool again, int64[1] next, float[1] out) {
        again = Identity (go)
        is_second = Equal (i, one)
        out = If (is_second) <
          then_branch = a () => (float[1] r) { shaped = Reshape (x, size) r = ReduceSum <keepdims = 1> (shaped) },
          else_branch = b () => (float[1] s) { s = Add (h, h) }>
        next = Sub (size, step)
      }>
    }"""
    feeds = {"x": np.float32([1, 2, 4, 8])}
    (result,) = run(parse(text), feeds)
    assert result.tolist() == [30.0]
    assert not recwarn.list


@pytest.mark.parametrize(
    ("then_result", "else_result", "message"),
    [
        ("r, t = Split (x)", "r = Neg (x)", "the then branch has 2 results, the else branch has 1"),
        ("r = Neg (x)", "r = Cast <to = 7> (x)", r"f32 \[n\] in the then branch and i64 \[n\] in the else branch"),
    ],
)
def test_branches_that_do_not_fit(then_result, else_result, message):
    outputs = "float[p] r, float[q] t" if "t =" in then_result else "float[p] r"
    kind = "int64" if "Cast" in else_result else "float"
    text = f"""branches (bool c, float[n] x) => (float[a] y) {{
      y = If (c) <then_branch = a () => ({outputs}) {{ {then_result} }},
                  else_branch = b () => ({kind}[p] r) {{ {else_result} }}>
    }}"""
    with pytest.raises(perpend.CompileError, match=message):
        perpend.compile(parse(text))


def test_condition_of_two_elements():
    text = """loop (float[2] x) => (float[2] y) <int64 count = {3}, bool yes = {1}> {
      y = Loop (count, yes, x) <body = b (int64 i, bool[2] go, float[2] h) => (bool[2] again, float[2] next) {
        next = Add (h, h)
        again = Less (h, next)
      }>
    }"""
    with pytest.raises(perpend.CompileError, match=r"condition: expected one boolean, got a tensor of shape \[2\]"):
        perpend.compile(parse(text))


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize("is_swapped", [True, False])
def test_branches_of_one_element(taken, is_swapped):
    """Rank 0 in one branch and [1] or [1, 1] in the other: all broadcast to the same."""
    scalar = "a () => (float p, float q) { p = ReduceSum <keepdims = 0> (x) q = Neg(p) }"
    matrix = """b () => (float[i] p, float[j,k] q) {
      first = Constant <value_ints = [0]> ()
      p = Gather(x, first)
      square = Constant <value_ints = [1, 1]> ()
      q = Reshape(p, square)
    }"""
    branches = (matrix, scalar) if is_swapped else (scalar, matrix)
    text = f"""ones (bool c, float[n] x, float[2,n] z) => (float[a,b] y) {{
      p, q = If (c) <then_branch = {branches[0]}, else_branch = {branches[1]}>
      sum = Add(p, z)
      y = Mul(sum, q)
    }}"""
    expect_same(parse(text), {"c": np.array(taken), "x": normal(3), "z": normal(2, 3)})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            """types (int64 t, float[n] x) => (float[m] y) {
              y = Loop (t, , x) <body = b (int64 i, bool g, float[n] s) => (bool o, int64[n] u)
                { o = Identity(g) u = Cast <to = 7> (s) }>
            }""",
            "carried value 0 begins as f32 [n] and continues as i64 [n]",
        ),
        (
            """endless (float[n] x) => (float[m] y) {
              y = Loop ( , , x) <body = b (int64 i, bool g, float[n] s) => (bool o, float[n] u)
                { o = Identity(g) u = Neg(s) }>
            }""",
            "the loop has neither a limit nor a condition that ends it",
        ),
        (
            """unknown (bool c, float[n] x) => (float[m] y) {
              y = If (c) <then_branch = a () => (float[p] r) { r = Mystery(x) },
                          else_branch = b () => (float[p] r) { r = Neg(x) }>
            }""",
            "Mystery-17 (1 node)",
        ),
    ],
)
def test_refusals(text, message):
    with pytest.raises(perpend.CompileError, match=re.escape(message)):
        perpend.import_model(parse(text))


GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def recurrent(op, direction, lengths=False, optional=True, peepholes=False, activations=(), **attributes):
    """A network of 2 units on 5 steps of 3 rows of 4 numbers."""
    directions, gates = (2 if direction == "bidirectional" else 1), GATES[op]
    inputs = [normal(5, 3, 4), normal(directions, gates * 2, 4), normal(directions, gates * 2, 2)]
    inputs.append(normal(directions, gates * 4) if optional else None)
    inputs.append(np.array([3, 5, 1], np.int32) if lengths else None)
    inputs.append(normal(directions, 3, 2) if optional else None)
    if op == "LSTM":
        inputs += [normal(directions, 3, 2) if optional else None, normal(directions, 6) if peepholes else None]
    while inputs[-1] is None:
        inputs.pop()
    if activations:
        attributes["activations"] = list(activations) * directions
    outputs = 3 if op == "LSTM" else 2
    return Case(op, inputs, {}, 14, outputs, "", {"hidden_size": 2, "direction": direction, **attributes})


DIRECTIONS = ["forward", "reverse", "bidirectional"]
NETWORKS = [
    *[recurrent(op, d, n, o) for op in GATES for d in DIRECTIONS for n in (False, True) for o in (False, True)],
    *[recurrent("LSTM", d, n, peepholes=True) for d in DIRECTIONS for n in (False, True)],
    *[recurrent("GRU", d, n, linear_before_reset=1) for d in DIRECTIONS for n in (False, True)],
    *[recurrent(op, "forward", clip=0.3) for op in GATES],
    recurrent("LSTM", "reverse", peepholes=True, input_forget=1),
    recurrent("RNN", "bidirectional", activations=["LeakyRelu"], activation_alpha=[0.1, 0.3]),
    recurrent("GRU", "forward", activations=["HardSigmoid", "ScaledTanh"], activation_alpha=[0.3, 0.7],
              activation_beta=[0.4, 0.6]),
    recurrent("LSTM", "forward", activations=["HardSigmoid", "Affine", "Softsign"], activation_alpha=[0.3, 0.7],
              activation_beta=[0.4, 0.6]),
]  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "symbolic"])
@pytest.mark.parametrize("case", NETWORKS, ids=[f"{index}-{case}" for index, case in enumerate(NETWORKS)])
def test_recurrent_network(case, dynamic):
    model, feeds = build(case, dynamic)
    fix_extents(model, feeds, lambda name: name in ("input1", "input2", "input3", "input7"))
    expect_same(model, feeds)


MEASURED = [
    Case("Reshape", [normal(2, 3, 4), int64(4, 6)]),
    Case("Reshape", [normal(2, 3, 4), int64(0, -1)]),
    Case("Reshape", [normal(2, 3, 4), int64(2, 0, -1, 2)], label="copy"),
    Case("Expand", [normal(3, 1), int64(2, 1, 4)]),
    Case("ConstantOfShape", [int64(2, 0, 3)]),
    Case("Tile", [normal(2, 3), int64(2, 3)]),
    Case("Range", [np.array(5), np.array(-4), np.array(-3)]),
    Case("Range", [np.array(1, np.float32), np.array(2, np.float32), np.array(0.3, np.float32)]),
    Case("Slice", [normal(5, 6), int64(1, -4), int64(100, -1)]),
    Case("Slice", [normal(5, 6), int64(-1), int64(-100), int64(0), int64(-2)]),
    Case("Slice", [normal(5, 6), int64(3), int64(1), int64(-1)], label="empty"),
    Case("Slice", [normal(5, 6), int64(-100), int64(-200), int64(1), int64(-1)], label="from-before"),
    Case("Slice", [normal(5, 6), int64(-6), int64(-7), int64(0), int64(-1)], {4: 0}, label="from-before-known-step"),
    Case("Slice", [normal(5, 6), int64(9, 0), int64(-9, 4), int64(1, 0), int64(-2, 3)], label="both"),
    Case("Slice", [normal(5, 6), int64(1), int64(-1), int64(1), int64(2)], {3: 0, 4: 0}, label="known-axes"),
    Case("Pad", [normal(2, 3), int64(1, 0, 2, 1), np.array(7, np.float32)]),
    Case("Pad", [normal(4, 5), int64(-1, 2, -2, 1)], label="crop"),
    Case("Pad", [normal(4, 5), int64(1, 2, 2, 1)], attributes={"mode": "reflect"}),
    Case("Pad", [normal(4, 5), int64(1, 2), np.array(3, np.float32), int64(-1)], opset=18),
    Case("OneHot", [integers(-3, 3, 2, 3), np.array(4), float32(2, 5)], {2: 0}),
    Case("Split", [normal(7, 2), int64(3, 0, 4)], outputs=3),
    Case("Squeeze", [normal(1, 3, 1, 2), int64(-2)]),
    Case("Squeeze", [normal(1, 3, 1, 2), int64(0, 2)]),
    Case("Unsqueeze", [normal(3, 2), int64(3, 0)]),
    Case("Unsqueeze", [np.array(3, np.float32), int64(0)], label="scalar"),
    Case("Trilu", [normal(3, 5), np.array(-1)]),
    Case("Trilu", [normal(3, 5), np.array(2)], attributes={"upper": 0}),
    *[Case(op, [normal(2, 3, 4), int64(*axes)], opset=18, attributes={"keepdims": keep}, label=str(axes))
      for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceLogSumExp")
      for axes in [(1,), (-1, 0), (0, 1, 2)] for keep in (0, 1)],
]  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "symbolic"])
@pytest.mark.parametrize("case", MEASURED, ids=[f"{index}-{case}" for index, case in enumerate(MEASURED)])
def test_shape_computed_at_run_time(case, dynamic):
    model, feeds = build(case, dynamic)
    # Lists of sizes keep their length.
    fix_extents(model, feeds, lambda name: name != "input0" or case.op == "ConstantOfShape")
    expect_same(model, feeds)
