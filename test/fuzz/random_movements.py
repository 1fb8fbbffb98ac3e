"""The operators of random models that move elements and compute none."""

import numpy as np
from random_graph import BOOL, FLOAT, INT32, INT64, UINT8, Rejected, random_operator

ANY = [FLOAT] * 4 + [INT32, INT64, UINT8, BOOL]


@random_operator(5)
def transpose(g):
    a = g.pick(ANY, low=2)
    g.add("Transpose", a, perm=[int(x) for x in g.random.permutation(a.rank)], exact=a.exact)


@random_operator(5)
def reshape(g):
    a = g.pick(ANY)
    factors = [f for extent in a.shape for f in prime_factors(extent)] or [1]
    g.random.shuffle(factors)
    shape = []
    for factor in factors:
        if shape and (len(shape) >= 5 or g.chance(0.5)):
            shape[g.number(0, len(shape) - 1)] *= factor
        else:
            shape.append(factor)
    if g.chance(0.3):
        shape.insert(g.number(0, len(shape)), 1)
    if g.chance(0.4):
        shape[g.number(0, len(shape) - 1)] = -1
    g.add("Reshape", a, g.constant(np.array(shape, INT64)), exact=a.exact)


def prime_factors(number):
    return next(([p, *prime_factors(number // p)] for p in range(2, number + 1) if number % p == 0), [])


@random_operator()
def merge_neighbours(g):
    a = g.pick(ANY, low=2)
    axis = g.number(0, a.rank - 2)
    shape = [0] * axis + [-1] + list(a.shape[axis + 2 :])
    g.add("Reshape", a, g.constant(np.array(shape, INT64)), exact=a.exact)


@random_operator()
def flatten(g):
    a = g.pick(ANY)
    g.add("Flatten", a, axis=g.number(-a.rank, a.rank), exact=a.exact)


@random_operator(2)
def units(g):
    a = g.pick(ANY, high=4)
    ones = [d for d, extent in enumerate(a.shape) if extent == 1]
    if ones and g.chance(0.5):
        return g.add("Squeeze", a, g.constant(np.array([g.choose(ones)], INT64)), exact=a.exact)
    g.add("Unsqueeze", a, g.constant(np.array([g.number(-a.rank - 1, a.rank)], INT64)), exact=a.exact)


@random_operator(4)
def part(g):
    a = g.pick(ANY)
    axes = sorted({axis % a.rank for axis in g.some_axes(a.rank)})
    starts, ends, steps = [], [], []
    for axis in axes:
        extent, step = a.shape[axis], g.choose([1, 1, 1, 2, 3, -1, -2])
        first, last = sorted(g.numbers(2, 0, extent))
        if step < 0:
            first, last = last, first - extent - 1
        elif g.chance(0.3):
            first, last = first - extent, 2**40
        starts.append(first)
        ends.append(last)
        steps.append(step)
    arrays = [g.constant(np.array(x, INT64)) for x in (starts, ends, axes, steps)]
    g.add("Slice", a, *arrays, exact=a.exact)


@random_operator(3)
def padding(g):
    a = g.pick([FLOAT])
    mode = g.choose(["constant", "constant", "reflect", "edge"])
    most = [min(3, extent - 1) if mode == "reflect" else 3 for extent in a.shape]
    pads = [g.number(0, m) if g.chance(0.5) else 0 for m in most * 2]
    if mode == "constant" and g.chance(0.2):
        pads[g.number(0, len(pads) - 1)] = -1
    value = [g.constant(FLOAT(g.choose([0, 1.5, -2])))] if mode == "constant" and g.chance(0.6) else []
    g.add("Pad", a, g.constant(np.array(pads, INT64)), *value, mode=mode, exact=a.exact)


@random_operator(4)
def concatenate(g):
    a = g.pick(ANY)
    axis = g.number(0, a.rank - 1)
    rest = a.shape[:axis] + a.shape[axis + 1 :]
    fits = [
        v for v in g.values if v.type is a.type and v.rank == a.rank and v.shape[:axis] + v.shape[axis + 1 :] == rest
    ]
    others = [g.choose(fits) for _ in range(g.number(1, 3))]
    if g.chance(0.4):
        others.append(g.constant(g.array([*a.shape[:axis], g.number(1, 4), *a.shape[axis + 1 :]], a.type)))
    g.add("Concat", a, *others, axis=axis - a.rank if g.chance(0.3) else axis, exact=all(x.exact for x in [a, *others]))


@random_operator(2)
def split(g):
    a = g.pick(ANY)
    axis = g.choose([d for d, extent in enumerate(a.shape) if extent > 1])
    extent = a.shape[axis]
    first = g.number(1, extent - 1)
    sizes = g.constant(np.array([first, extent - first], INT64))
    g.add("Split", a, sizes, outputs=2, axis=axis, exact=a.exact)


@random_operator(3)
def gather(g):
    a = g.pick(ANY)
    axis = g.some_axis(a.rank)
    extent = a.shape[axis]
    indices = g.random.integers(-extent, extent, g.choose([[], [1], [3], [2, 3]]))
    g.add("Gather", a, g.constant(np.asarray(indices, INT64)), axis=axis, exact=a.exact)


@random_operator()
def gather_computed(g):
    a = g.pick(ANY, high=3)
    index = g.pick([INT32, INT64], high=2, exact=True)
    axis = g.some_axis(a.rank)
    bounded = g.add("Mod", index, g.constant(index.type(a.shape[axis])), keep=False)
    g.add("Gather", a, bounded, axis=axis, exact=a.exact)


@random_operator()
def gather_elements(g):
    a = g.pick(ANY)
    axis = g.number(0, a.rank - 1)
    shape = [g.number(1, 5) if d == axis else g.number(1, extent) for d, extent in enumerate(a.shape)]
    indices = g.random.integers(-a.shape[axis], a.shape[axis], shape)
    g.add("GatherElements", a, g.constant(indices.astype(INT64)), axis=axis, exact=a.exact)


@random_operator()
def expand(g):
    a = g.pick(ANY, high=4)
    shape = [g.number(1, 4) if extent == 1 and g.chance(0.6) else g.choose([1, extent]) for extent in a.shape]
    if g.chance(0.5):
        shape.insert(0, g.number(1, 3))
    g.add("Expand", a, g.constant(np.array(shape, INT64)), exact=a.exact)


@random_operator()
def tile(g):
    a = g.pick([FLOAT, INT32, INT64])
    g.add("Tile", a, g.constant(np.array(g.numbers(a.rank, 1, 3), INT64)), exact=a.exact)


@random_operator(2)
def resize(g):
    a = g.pick([FLOAT], low=3, high=4)
    mode = g.choose(["nearest", "linear"])
    scales = [1.0, 1.0] + [g.choose([1.0, 2.0, 3.0, 0.5, 1.5]) for _ in a.shape[2:]]
    if any(int(s * e) < 1 for s, e in zip(scales, a.shape, strict=True)):
        raise Rejected
    coordinates = g.choose(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
    attributes = {"nearest_mode": g.choose(["floor", "ceil", "round_prefer_floor"])} if mode == "nearest" else {}
    # Of an extent that is no whole number, ONNX aligns the corners before rounding it and ONNX Runtime after.
    if coordinates == "align_corners" and any(s * e % 1 for s, e in zip(scales, a.shape, strict=True)):
        raise Rejected
    scale = g.constant(np.array(scales, FLOAT))
    exact = a.exact and mode == "nearest"
    g.add("Resize", a, None, scale, mode=mode, coordinate_transformation_mode=coordinates, exact=exact, **attributes)


@random_operator()
def blocks(g):
    a = g.pick([FLOAT], low=4, high=4)
    if a.shape[1] % 4 == 0 and g.chance(0.6):
        return g.add("DepthToSpace", a, blocksize=2, mode=g.choose(["DCR", "CRD"]), exact=a.exact)
    if a.shape[2] % 2 or a.shape[3] % 2:
        raise Rejected
    g.add("SpaceToDepth", a, blocksize=2, exact=a.exact)


@random_operator()
def triangle(g):
    a = g.pick([FLOAT, INT64], low=2)
    g.add("Trilu", a, g.constant(INT64(g.number(-2, 2))), upper=g.number(0, 1), exact=a.exact)
