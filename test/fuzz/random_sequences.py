"""The operators of random models on lists, optional values, and positions that are counted or chosen."""

import numpy as np
from random_graph import BOOL, FLOAT, INT64, Rejected, random_operator

ANY = [FLOAT] * 4 + [INT64, BOOL]


@random_operator(3)
def list_of_parts(g):
    """A tensor in pieces, one of them taken out, put elsewhere or left out, and joined again."""
    a = g.pick(ANY, high=4)
    axis = g.number(0, a.rank - 1)
    pieces = g.number(1, a.shape[axis])
    sizes = np.diff([0, *sorted(g.random.permutation(np.arange(1, a.shape[axis]))[: pieces - 1]), a.shape[axis]])
    parts, joined = g.name("parts"), list(a.shape)
    g.add_hidden("SplitToSequence", [a, g.constant(sizes.astype(INT64))], parts, axis=axis)
    position = g.number(-len(sizes), len(sizes) - 1)
    at = g.constant(INT64(position))
    taken = list(a.shape)
    taken[axis] = int(sizes[position])
    kind = g.choose(["at", "erased", "moved", "joined"])
    if kind == "at":
        return g.add_named("SequenceAt", [parts, at.name], a.type, taken, a.exact)
    if kind == "erased":
        if len(sizes) < 2:
            raise Rejected
        left = g.name("left")
        add_list(g, "SequenceErase", [parts, at.name], left)
        joined[axis] -= taken[axis]
        return g.add_named("ConcatFromSequence", [left], a.type, joined, a.exact, axis=axis)
    if kind == "moved":
        part, longer = g.name("part"), g.name("longer")
        add_list(g, "SequenceAt", [parts, at.name], part)
        place = [g.constant(INT64(g.number(0, len(sizes)))).name] if g.chance(0.7) else []
        add_list(g, "SequenceInsert", [parts, part, *place], longer)
        joined[axis] += taken[axis]
        parts = longer
    g.add_named("ConcatFromSequence", [parts], a.type, joined, a.exact, axis=axis)


def add_list(g, op, operands, result):
    g.add_named(op, operands, FLOAT, (), False)
    g.values.pop()
    g.nodes[-1].output[0] = result


@random_operator(2)
def list_of_values(g):
    a = g.pick(ANY, high=4)
    fits = [v for v in g.values if v.type is a.type and v.shape == a.shape]
    items = [a, *(g.choose(fits) for _ in range(g.number(0, 3)))]
    sequence = g.name("list")
    add_list(g, "SequenceConstruct", [x.name for x in items], sequence)
    exact = all(x.exact for x in items)
    kind = g.choose(["stacked", "length", "at"])
    if kind == "length":
        return g.add_named("SequenceLength", [sequence], INT64, (), True)
    if kind == "at":
        position = g.constant(INT64(g.number(-len(items), len(items) - 1)))
        return g.add_named("SequenceAt", [sequence, position.name], a.type, a.shape, exact)
    axis = g.number(0, a.rank)
    shape = [*a.shape[:axis], len(items), *a.shape[axis:]]
    g.add_named("ConcatFromSequence", [sequence], a.type, shape, exact, axis=axis, new_axis=1)


@random_operator(2)
def distinct(g):
    """The distinct numbers are as many as the data say: their sum, and how often each element's number occurs."""
    a = g.pick([FLOAT, INT64], high=3, exact=True)
    found, places, back, counts = (g.name("unique") for _ in range(4))
    add_list(g, "Unique", [a.name], found)
    del g.nodes[-1].output[:]
    g.nodes[-1].output.extend([found, places, back, counts])
    if g.chance(0.5):
        size = int(np.prod(a.shape))
        return g.add_named("Gather", [counts, back], INT64, (size,), True)
    zero = g.constant(np.array([0], INT64))
    g.add_named("ReduceSum", [places, zero.name], INT64, (), True, keepdims=0)


@random_operator(2)
def gathered_by_tuples(g):
    a = g.pick(ANY, low=2, high=4)
    batch = g.number(0, 1) if a.rank > 2 else 0
    width = g.number(1, a.rank - batch)
    limits = a.shape[batch : batch + width]
    tuples = [*a.shape[:batch], g.number(1, 4)]
    indices = np.stack([g.random.integers(-extent, extent, tuples) for extent in limits], -1)
    g.add("GatherND", a, g.constant(indices.astype(INT64)), batch_dims=batch, exact=a.exact)


@random_operator()
def one_hot(g):
    indices = g.pick([INT64, np.int32], high=3, exact=True)
    depth = g.constant(INT64(g.number(2, 6)))
    kind = g.choose([FLOAT, INT64]) if indices.type is INT64 else FLOAT
    limits = g.constant(np.array([g.number(-2, 0), g.number(1, 3)], kind))
    g.add("OneHot", indices, depth, limits, axis=g.number(-1, indices.rank), exact=True)


@random_operator()
def reversed_rows(g):
    a = g.pick([FLOAT, INT64], low=2, high=4)
    batch = g.number(0, 1)
    lengths = g.random.integers(0, a.shape[1 - batch] + 1, a.shape[batch])
    g.add("ReverseSequence", a, g.constant(np.maximum(lengths, 1).astype(INT64)), batch_axis=batch,
          time_axis=1 - batch, exact=a.exact)  # fmt: skip


@random_operator()
def progression(g):
    """As many numbers as an extent of a value says."""
    a = g.pick(ANY)
    start, step = g.number(-3, 3), g.choose([1, 2, 3])
    axis = g.number(0, a.rank - 1)
    extent = g.add("Gather", g.add("Shape", a, keep=False), g.constant(INT64(axis)), axis=0, keep=False)
    last = g.add("Add", g.add("Mul", extent, g.constant(INT64(step)), keep=False), g.constant(INT64(start)), keep=False)
    operands = [g.constant(INT64(start)).name, last.name, g.constant(INT64(step)).name]
    g.add_named("Range", operands, INT64, (a.shape[axis],), True)


@random_operator()
def identity_matrix(g):
    a = g.pick([FLOAT, INT64], low=2, high=2)
    g.add("EyeLike", a, k=g.number(-2, 2), exact=True)


@random_operator()
def present_or_not(g):
    if g.opset < 18:
        raise Rejected
    a = g.pick(ANY)
    option = g.name("optional")
    add_list(g, "Optional", [a.name], option)
    if g.chance(0.3):
        return g.add_named("OptionalHasElement", [option], BOOL, (), True)
    g.add_named("OptionalGetElement", [option], a.type, a.shape, a.exact)
