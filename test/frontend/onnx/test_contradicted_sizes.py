"""Sizes that contradict an operator, found while constants are folded, or by the number of dimensions."""

import numpy as np
import onnx
import perpend
import pytest


def parse(text, version=17):
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {version}]>\n{text}')


def ramp(*shape):
    return np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)


def branches(then_body, else_body, inputs="bool c, float[4] x"):
    return f"""sizes ({inputs}) => (float[m] y) {{
      y = If (c) <then_branch = a () => (float[p] r) {{ {then_body} }},
                  else_branch = b () => (float[q] r) {{ {else_body} }}>
    }}"""


PAST = """seven = Constant <value_float = 7.2> () whole = Cast <to = 7> (seven)
          one = Constant <value_ints = [1]> () size = Reshape (whole, one)"""


@pytest.mark.parametrize("is_then", [True, False])
@pytest.mark.parametrize("is_nested", [True, False])
def test_a_branch_that_later_turns_out_not_to_run(is_then, is_nested):
    """Its sizes become known when constants have been folded; that was an error of the compiler."""
    wrong = "wide = Reshape (x, size) r = Neg (wide)"
    if is_nested:
        wrong = f"r = If (d) <then_branch = e () => (float[s] t) {{ {wrong.replace('r =', 't =')} }}, "
        wrong += "else_branch = f () => (float[s] u) { u = Abs (x) }>"
    text = branches(*([wrong, "r = Neg (x)"] if is_then else ["r = Neg (x)", wrong]), "bool c, bool d, float[4] x")
    model = parse(text.replace("y = If", PAST + " y = If"))
    name = "then" if is_then or is_nested else "else"
    with pytest.warns(UserWarning, match=rf"(?s)a run that chooses the {name} branch will be an error: node 'wide': "):
        compiled = perpend.compile(model)
    x, wrong_way = ramp(4), {"c": np.array(is_then), "d": np.array(True)}
    np.testing.assert_array_equal(compiled(np.array(not is_then), np.array(True), x), -x)
    if is_nested:
        np.testing.assert_array_equal(compiled(np.array(is_then), np.array(False), x), np.abs(x))
    with pytest.raises(ValueError, match=f"the {name} branch, which cannot run: node 'wide': graph.reshape: cannot"):
        compiled(**wrong_way, x=x)


def test_sizes_that_later_turn_out_to_be_wrong():
    """An error of the model with the node and both shapes, not a mistake of the compiler."""
    text = f"""sizes (float[4] x) => (float[m] y) {{ {PAST} [culprit] y = Reshape (x, size) }}"""
    message = r"node 'culprit': graph.reshape: cannot reshape \[4\] to \[7\]: .*, 4 and 7\nhint: the sizes are known"
    with pytest.raises(perpend.CompileError, match=message) as raised:
        perpend.compile(parse(text))
    assert "bug" not in str(raised.value)


def test_a_padded_shape_is_known():
    text = """padded (float[2, 3, 4] x) => (float[p, q, r] y) {
      shape = Shape (x) one = Constant <value_ints = [1]> ()
      none = Slice (shape, one, one) ends = Constant <value_ints = [1, 1]> () fill = Constant <value_int = 6> ()
      sizes = Pad (none, ends, fill) at = Constant <value_ints = [0]> ()
      first = Gather (shape, at) all = Concat <axis = 0> (first, sizes) [culprit] y = Reshape (x, all) }"""
    with pytest.raises(
        perpend.CompileError, match=r"node 'culprit' \(Reshape\): .*\[2, 3, 4\] to \[2, 6, 6\].*24 and 72"
    ):
        perpend.import_model(parse(text))
    fits = parse(text.replace("[2, 3, 4] x", "[2, 9, 4] x"))
    x = ramp(2, 9, 4)
    np.testing.assert_array_equal(perpend.compile(fits)(x), x.reshape(2, 6, 6))


@pytest.mark.parametrize(
    "problem",
    [
        "turned = Transpose <perm = [1, 0]> (x) r = Neg (turned)",
        "two = Constant <value_ints = [2, 2]> () r, a, b = Split <axis = 0> (x, two)",
        "square = EyeLike (x) r = Neg (x)",
        "t = Trilu (x) r = Neg (x)",
        "d = Det (x) r = Neg (x)",
        "g = Gemm (x, x) r = Neg (x)",
    ],
)
def test_branches_for_other_ranks(problem):
    """Where the number of dimensions is what contradicts, too."""
    feeds = {"c": np.array(False), "x": ramp(4)}
    with pytest.warns(UserWarning, match="a run that chooses the then branch will be an error: node '"):
        result = perpend.compile(parse(branches(problem, "r = Neg (x)")))(**feeds)
    np.testing.assert_array_equal(result, -feeds["x"])
