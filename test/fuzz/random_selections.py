"""The operators of random models that choose, sort and scatter, that have graphs inside, or are quantised.

Those whose result has an extent that depends on the data end in one whose shape inference knows it.
"""

import numpy as np
from onnx import TensorProto, helper
from random_graph import BOOL, FLOAT, INT32, INT64, UINT8, Rejected, random_operator

ANY = [FLOAT] * 4 + [INT32, INT64, UINT8, BOOL]
NUMBERS = [FLOAT] * 3 + [INT32, INT64]


def info(name, kind, shape):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape)


@random_operator(2)
def largest(g):
    a = g.pick([FLOAT, INT64], exact=True)
    axis = g.some_axis(a.rank)
    count = g.constant(np.array([g.number(1, a.shape[axis])], INT64))
    g.add("TopK", a, count, outputs=2, axis=axis, largest=g.number(0, 1), exact=True)


@random_operator(2)
def scatter_elements(g):
    a = g.pick(NUMBERS, high=4)
    axis = g.number(0, a.rank - 1)
    shape = [g.number(1, extent) for extent in a.shape]
    # Each place is written once: which of two writes wins is not defined.
    places = np.broadcast_to(np.arange(a.shape[axis]), [*shape[:axis], *shape[axis + 1 :], a.shape[axis]])
    indices = np.moveaxis(g.random.permuted(places, axis=-1)[..., : shape[axis]], -1, axis)
    negative = g.random.random(indices.shape) < 0.3
    indices = np.where(negative, indices - a.shape[axis], indices).astype(INT64)
    reduction = g.choose(["none", "none", "add", "max", "min"])
    updates = g.constant(g.array(shape, a.type))
    g.add("ScatterElements", a, g.constant(indices), updates, axis=axis, reduction=reduction,
          exact=a.exact and reduction != "add")  # fmt: skip


@random_operator(2)
def scatter_rows(g):
    a = g.pick(NUMBERS, high=4)
    rows = g.number(1, a.shape[0])
    indices = g.random.permutation(a.shape[0])[:rows].reshape(rows, 1).astype(INT64)
    updates = g.constant(g.array([rows, *a.shape[1:]], a.type))
    g.add("ScatterND", a, g.constant(indices), updates, exact=a.exact)


@random_operator(2)
def positions_counted(g):
    """How many elements are not zero, and the sum of their positions along each dimension."""
    a = g.pick([FLOAT, INT32, INT64, BOOL], exact=True)
    found = g.name("found")
    g.add_hidden("NonZero", [a], found)
    g.add_named("ReduceSum", [found, g.constant(np.array([1], INT64)).name], INT64, (a.rank,), True, keepdims=0)


@random_operator(2)
def chosen_and_filled(g):
    """A part whose extent depends on the data, padded so that it has a known one."""
    a = g.pick([FLOAT, INT64], low=1, high=3)
    mask = g.constant(g.array([a.shape[0]], BOOL)) if g.chance(0.3) else None
    if mask is None:
        fits = [v for v in g.values if v.type is BOOL and v.rank == 1 and v.shape == a.shape[:1]]
        mask = g.choose(fits) if fits else g.constant(g.array([a.shape[0]], BOOL))
    part, total = g.name("part"), g.constant(np.array([0], INT64)).name
    g.add_hidden("Compress", [a, mask], part, axis=0)
    g.add_named("ReduceSum", [part, total], a.type, a.shape[1:], a.exact and a.type is INT64, keepdims=0)


@random_operator(2)
def branch(g):
    """Either side of a condition; a side may use values of the graph around it."""
    a = g.pick(low=1, high=4)
    conditions = [v for v in g.values if v.type is BOOL and v.rank == 0]
    condition = g.choose(conditions) if conditions and g.chance(0.7) else g.constant(np.bool_(g.number(0, 1)))
    sides = []
    for _ in range(2):
        result = g.name("side")
        op = g.choose(["Neg", "Abs", "Relu", "Tanh", "Identity"])
        sides.append(helper.make_graph([helper.make_node(op, [a.name], [result])], g.name("branch"), [],
                                       [info(result, a.type, a.shape)]))  # fmt: skip
    g.add_named("If", [condition.name], a.type, a.shape, False, then_branch=sides[0], else_branch=sides[1])
    g.used.update([a.name, condition.name])


@random_operator(2)
def repeat(g):
    """A loop that carries one value and collects another, and reads one from outside."""
    a = g.pick(low=1, high=3)
    count = g.number(0, 4)
    i, go, h = g.name("i"), g.name("go"), g.name("h")
    again, grown, after, seen = (g.name("inner") for _ in range(4))
    nodes = [helper.make_node("Identity", [go], [again]), helper.make_node("Add", [h, a.name], [grown]),
             helper.make_node("Tanh", [grown], [after]), helper.make_node("Neg", [after], [seen])]  # fmt: skip
    body = helper.make_graph(
        nodes, g.name("body"), [info(i, INT64, []), info(go, BOOL, []), info(h, a.type, a.shape)],
        [info(again, BOOL, []), info(after, a.type, a.shape), info(seen, a.type, a.shape)])  # fmt: skip
    last, every = g.name("value"), g.name("value")
    limits = [g.constant(INT64(count)).name, g.constant(np.bool_(True)).name, a.name]
    node = helper.make_node("Loop", limits, [last, every], g.name("node"), body=body)
    g.nodes.append(node)
    g.used.add(a.name)
    g.keep(last, a.type, a.shape, False)
    if count:
        g.keep(every, a.type, (count, *a.shape), False)


@random_operator(2)
def scan(g):
    """Running sums along the first dimension, either way."""
    a = g.pick(low=2, high=4)
    h, x, after, out = (g.name("inner") for _ in range(4))
    row = a.shape[1:]
    nodes = [helper.make_node("Add", [h, x], [after]), helper.make_node("Tanh", [after], [out])]
    body = helper.make_graph(nodes, g.name("body"), [info(h, a.type, row), info(x, a.type, row)],
                             [info(after, a.type, row), info(out, a.type, row)])  # fmt: skip
    start = g.constant(g.array(row))
    g.add("Scan", start, a, outputs=2, body=body, num_scan_inputs=1, scan_input_directions=[g.number(0, 1)],
          scan_output_directions=[g.number(0, 1)])  # fmt: skip


@random_operator(2)
def recurrent(g):
    a = g.pick(low=3, high=3)
    op, gates = g.choose([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    hidden, direction = g.number(1, 5), g.choose(["forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    operands = [a, g.constant(g.array([ways, gates * hidden, a.shape[2]]) / 2),
                g.constant(g.array([ways, gates * hidden, hidden]) / 2)]  # fmt: skip
    if g.chance(0.6):
        operands.append(g.constant(g.array([ways, 2 * gates * hidden]) / 2))
    attributes = {"linear_before_reset": g.number(0, 1)} if op == "GRU" else {}
    outputs = 3 if op == "LSTM" else 2
    g.add(op, *operands, outputs=outputs, hidden_size=hidden, direction=direction, **attributes)


@random_operator(2)
def quantised(g):
    """There and back; what comes back is a multiple of the scale, and exact where the source is."""
    a = g.pick(exact=True)
    scale = g.constant(FLOAT(g.choose([0.25, 0.5, 0.03125])))
    zero = g.constant(np.asarray(g.number(0, 9), g.choose([np.uint8, np.int8])))
    numbers = g.add("QuantizeLinear", a, scale, zero, exact=True, keep=False)
    g.add("DequantizeLinear", numbers, scale, zero, exact=True)


@random_operator(2)
def integer_product(g):
    a = g.pick([UINT8], low=2, high=3, exact=True)
    b = g.constant(
        g.random.integers(0, 256, (a.shape[-1], g.choose([1, 3, 8, 17]))).astype(g.choose([np.uint8, np.int8]))
    )
    zero = g.constant(np.asarray(g.number(0, 255), UINT8))
    g.add("MatMulInteger", a, b, zero, exact=True)


@random_operator(2)
def through_another_type(g):
    """To a narrow type and back: rounding to it is what both do."""
    a = g.pick(exact=True)
    kind = g.choose([TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16])
    g.add("Cast", g.add("Cast", a, to=kind, exact=True, keep=False), to=TensorProto.FLOAT, exact=True)


@random_operator(2)
def reshape_as(g):
    """The shape comes from a value: known to shape inference, computed by the nodes."""
    a = g.pick(ANY, low=2, high=4)
    shape = g.add("Shape", a, keep=False)
    last = g.add("Slice", shape, *[g.constant(np.array([x], INT64)) for x in (a.rank - 1, a.rank)], keep=False)
    rest = g.constant(np.array([-1], INT64))
    sizes = g.add("Concat", rest, last, axis=0, keep=False)
    if g.chance(0.5):
        shape = (int(np.prod(a.shape[:-1])), a.shape[-1])
        return g.add_named("Reshape", [a.name, sizes.name], a.type, shape, a.exact)
    flat, count = g.name("flat"), g.number(1, 3)
    g.add_hidden("Reshape", [a, sizes], flat)
    limits = [g.constant(np.array([x], INT64)).name for x in (0, 1)]
    g.add_named("Slice", [flat, *limits], a.type, (1, a.shape[-1]), a.exact)
    one = g.values.pop()
    wide = g.add("Concat", g.constant(np.array([count], INT64)), last, axis=0, keep=False)
    g.add_named("Expand", [one.name, wide.name], a.type, (count, a.shape[-1]), a.exact)


@random_operator()
def empty_part(g):
    """A value without elements, beside another one and then added to it."""
    a = g.pick([FLOAT, INT64], high=3)
    part = g.name("empty")
    zero = g.constant(np.array([0], INT64))
    g.add_hidden("Slice", [a, zero, zero, zero], part)
    if g.chance(0.5):
        return g.add_named("ReduceSum", [part, zero.name], a.type, a.shape[1:], True, keepdims=0)
    if a.rank < 1:
        raise Rejected
    g.add_named("Concat", [a.name, part], a.type, a.shape, a.exact, axis=0)
