"""Values that a model computes and that do not fit its tensors: an error, never a wrong or an outside element."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
perpend = pytest.importorskip("perpend")

SUMS = """
    body = step (float s, float xi, float zi) => (float next, float sum) {
      sum = Add(xi, zi)
      next = Add(s, sum)
    }"""


def compiled(text, version=17):
    return perpend.compile(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {version}]>\n{text}'))


def ramp(*shape):
    return np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)


def scan(first, second):
    return f"""scanned (float s, float[{first}] x, float[{second}] z) => (float last, float[k] sums) {{
      last, sums = Scan <num_scan_inputs = 2, {SUMS}> (s, x, z)
    }}"""


def test_scan_over_equal_extents():
    last, sums = compiled(scan("n", "m"))(np.float32(1), ramp(3), ramp(3))
    assert last == 13
    np.testing.assert_array_equal(sums, [2, 4, 6])


@pytest.mark.parametrize(("n", "m"), [(3, 2), (2, 3), (0, 1), (1, 0)])
def test_scan_over_unequal_extents(n, m):
    with pytest.raises(perpend.CompileError, match="scanned tensors"):
        compiled(scan(n, m))
    with pytest.raises(ValueError, match="scanned tensors"):
        compiled(scan("n", "m"))(np.float32(1), ramp(n), ramp(m))


def scan8(times):
    return f"""scanned (int64[b] lengths, float[b] s, float[b,{times[0]}] x, float[b,{times[1]}] z)
        => (float[b] last, float[b,k] sums) {{
      last, sums = Scan <num_scan_inputs = 2, {SUMS}> (lengths, s, x, z)
    }}"""


@pytest.mark.parametrize("times", [("t", "t"), ("t", "u"), (3, 3)])
def test_scan_of_lengths(times):
    network = compiled(scan8(times), 8)
    feeds = (ramp(2), ramp(2, 3), ramp(2, 3))
    last, sums = network(np.array([3, 1]), *feeds)
    np.testing.assert_array_equal(last, [13, 10])
    np.testing.assert_array_equal(sums, [[2, 4, 6], [8, 0, 0]])
    for lengths in ([4, 1], [1, 1 << 40], [-1, 1]):
        with pytest.raises(ValueError, match=r"longer than the scanned tensors|at least 0"):
            network(np.array(lengths), *feeds)


def test_scan8_over_unequal_extents():
    with pytest.raises(ValueError, match="scanned tensors"):
        compiled(scan8(("t", "u")), 8)(np.array([2, 2]), ramp(2), ramp(2, 3), ramp(2, 2))
    with pytest.raises(perpend.CompileError, match="scanned tensors"):
        compiled(scan8((3, 2)), 8)


def test_scan8_over_unequal_batches():
    network = compiled(scan8(("t", "t")).replace("float[b] s", "float[c] s").replace("int64[b]", "int64[d]"), 8)
    x = ramp(2, 3)
    network(np.array([2, 2]), ramp(2), x, x)
    for lengths, states in [(2, 1), (2, 3), (1, 2), (3, 2)]:
        with pytest.raises(ValueError, match="the sequences have"):
            network(np.full(lengths, 2), ramp(states), x, x)


GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def recurrent(op, lengths="int32[b] lengths, ", steps="t", constant=""):
    gates = 2 * GATES[op]
    return f"""network ({lengths}float[{steps},b,3] x, float[1,{gates},3] w, float[1,{gates},2] r) => (float[t,1,b,2] y)
    {constant} {{
      y = {op} <hidden_size = 2> (x, w, r, , lengths)
    }}"""


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("steps", ["t", 4])
def test_sequence_lengths(op, steps):
    network = compiled(recurrent(op, steps=steps))
    feeds = (ramp(4, 2, 3), ramp(1, 2 * GATES[op], 3), ramp(1, 2 * GATES[op], 2))
    outputs = network(np.array([4, 0], np.int32), *feeds)
    assert not outputs[:, 0, 1].any() and outputs[:, 0, 0].any()
    for lengths in ([5, 1], [1, 2**31 - 1], [-1, 4]):
        with pytest.raises(ValueError, match="sequence_lens"):
            network(np.array(lengths, np.int32), *feeds)


@pytest.mark.parametrize("op", GATES)
def test_constant_sequence_lengths(op):
    given = {"lengths": "", "steps": 4}
    for bad in ("5, 1", "1, -1"):
        with pytest.raises(perpend.CompileError, match="sequence_lens"):
            compiled(recurrent(op, constant=f"<int32[2] lengths = {{{bad}}}>", **given))
    compiled(recurrent(op, constant="<int32[2] lengths = {4, 0}>", **given))


TOPK = """best (float[n,m] x, int64[1] k) => (float[n,a] values, int64[n,b] places) {
  values, places = TopK (x, k)
}"""


@pytest.mark.parametrize("shape", ["n,m", "2,3"])
def test_topk_of_more_than_there_are(shape):
    network = compiled(TOPK.replace("n,m", shape))
    values, places = network(ramp(2, 3), np.array([3]))
    np.testing.assert_array_equal(values, [[3, 2, 1], [6, 5, 4]])
    np.testing.assert_array_equal(places, [[2, 1, 0]] * 2)
    assert network(ramp(2, 3), np.array([0]))[0].shape == (2, 0)
    for k in (4, 1 << 40, -1):
        with pytest.raises(ValueError, match=r"topk|at least 0"):
            network(ramp(2, 3), np.array([k]))


@pytest.mark.parametrize("op", ["CumSum", "CumProd"])
def test_cumulation_axis(op):
    network = compiled(
        f"""running (float[n,m] x, int64 axis) => (float[n,m] y) {{
          y = {op} (x, axis)
        }}""",
        26,
    )
    x, whole = ramp(2, 3), np.cumsum if op == "CumSum" else np.cumprod
    for axis in (-2, -1, 0, 1):
        np.testing.assert_array_equal(network(x, np.array(axis)), whole(x, axis))
    for axis in (2, -3, 1 << 40):
        with pytest.raises(ValueError, match="axis"):
            network(x, np.array(axis))


def reshaped(target, allowzero=0):
    """x [n, m] under a shape of numbers and the extents of a [k], b [l]."""
    names = {"k": "a", "l": "b"}
    parts = [f"t{i} = Shape(v{names[t]})" if t in names else f"t{i} = Constant <value_ints = [{t}]> ()"
             for i, t in enumerate(target)]  # fmt: skip
    joined = ", ".join(f"t{i}" for i in range(len(target)))
    return f"""reshaped (float[n, m] x, float[k] va, float[l] vb) => (float[p, q] y) {{
      {" ".join(parts)}
      t = Concat <axis = 0> ({joined})
      y = Reshape <allowzero = {allowzero}> (x, t)
    }}"""


COPIES = r"which copies the input's extent, [nm], and gives another shape"


@pytest.mark.parametrize("shape", [(2, 0), (0, 3)])
def test_a_size_of_zero_copies(shape):
    """ONNX's shape is that of the input, then; allowzero copies nothing."""
    feeds = ramp(*shape), ramp(0), ramp(0)
    with pytest.raises(ValueError, match=rf"node 'y': .*{COPIES}"):
        compiled(reshaped("kl"))(*feeds)
    assert compiled(reshaped("kl", 1))(*feeds).shape == (0, 0)


def test_a_size_that_may_copy_and_is_too_long_an_expression():
    """It was taken for one that copies nothing: what a run would have to check is no expression any more."""
    parts, size = ["n = Shape <start = 0, end = 1> (x) m = Shape <start = 1, end = 2> (x)"], "n"
    parts.append("two = Constant <value_ints = [2]> () rest = Constant <value_ints = [-1]> ()")
    for depth in range(63):
        parts.append(f"h{depth} = Div ({size}, two) g{depth} = Mul (h{depth}, m) s{depth} = Add (g{depth}, n)")
        size = f"s{depth}"
    parts.append(f"q = Div ({size}, two) t = Concat <axis = 0> (q, rest) y = Reshape (x, t)")
    text = f"long (float[n, m] x) => (float[p, q] y) {{ {' '.join(parts)} }}"
    with pytest.raises(perpend.CompileError, match=r"(?s)too long an expression\n.*hint: make this"):
        compiled(text)


def test_a_size_of_zero_copies_before_the_rest_follows():
    network = compiled("""turned (float[n, m] x) => (float[p, q] y) {
      rows = Shape <start = 1> (x)
      rest = Constant <value_ints = [-1]> ()
      t = Concat <axis = 0> (rows, rest)
      y = Reshape (x, t)
    }""")
    assert network(ramp(2, 3)).shape == (3, 2)
    with pytest.raises(ValueError, match=rf"node 'y': .*{COPIES}"):
        network(ramp(2, 0))


@pytest.mark.parametrize(
    ("target", "shape", "sizes", "result"),
    [("kl", (0, 3), (0, 3), (0, 3)), ("kl", (2, 6), (3, 4), (3, 4)), (("k", -1), (4, 6), (3, 1), (3, 8))],
)
def test_sizes_that_copy_nothing(target, shape, sizes, result):
    feeds = ramp(*shape), ramp(sizes[0]), ramp(sizes[1])
    np.testing.assert_array_equal(compiled(reshaped(target))(*feeds), feeds[0].reshape(result))
