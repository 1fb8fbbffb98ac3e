"""The operators of random models on quantised numbers: integers that a scale and a zero point make real."""

import numpy as np
from random_arithmetic import image, window_attributes
from random_graph import FLOAT, INT64, UINT8, Rejected, random_operator

BYTES = [np.uint8, np.int8]


def integers(g, shape, kind):
    limits = np.iinfo(kind)
    return g.random.integers(limits.min, limits.max + 1, shape).astype(kind)


def quantise(g, value, kind):
    """The numbers, their scale and zero point."""
    scale = g.constant(FLOAT(g.choose([0.0625, 0.03125])))
    zero = g.constant(np.asarray(g.number(0, 9), kind))
    return g.add("QuantizeLinear", value, scale, zero, exact=True, keep=False), scale, zero


def filter_of(g, shape, kind, columns):
    """Numbers, scale and zero point; per column where `columns` are given."""
    count = [columns] if columns else []
    scale = g.constant(np.asarray(2.0 ** g.random.integers(-7, -4, count), FLOAT))
    zero = np.zeros(count, kind) if columns or kind is np.int8 else np.asarray(g.number(0, 255), kind)
    return g.constant(integers(g, shape, kind)), scale, g.constant(zero)


def result_scale(g, kind):
    """A power of two: sums times it are multiples of a power of two, which both round to even."""
    return g.constant(FLOAT(g.choose([0.25, 0.5]))), g.constant(np.asarray(g.number(0, 9), kind))


def dequantise(g, numbers, scale, zero):
    g.add("DequantizeLinear", numbers, scale, zero, exact=True)


@random_operator(3)
def quantised_convolution(g):
    x = image(g, exact=True)
    groups = g.choose([1, 1, x.shape[1]])
    outputs = groups * g.choose([1, 2, 3, 8] if groups < 4 else [1, 2])
    kernel = [g.number(1, min(3, extent)) for extent in x.shape[2:]]
    attributes = window_attributes(g, x.shape[2:], kernel)
    left = quantise(g, x, g.choose(BYTES))
    shape = [outputs, x.shape[1] // groups, *kernel]
    right = filter_of(g, shape, np.int8, outputs if g.chance(0.5) else 0)
    scale, zero = result_scale(g, left[2].type)
    bias = [g.constant(g.random.integers(-99, 99, outputs).astype(np.int32))] if g.chance(0.5) else []
    y = g.add("QLinearConv", *left, *right, scale, zero, *bias, group=groups, kernel_shape=kernel, exact=True,
              keep=False, **attributes)  # fmt: skip
    dequantise(g, y, scale, zero)


@random_operator(2)
def integer_convolution(g):
    x = image(g, exact=True)
    numbers, _, zero = quantise(g, x, np.uint8)
    kernel = [g.number(1, min(3, extent)) for extent in x.shape[2:]]
    attributes = window_attributes(g, x.shape[2:], kernel)
    weight = g.constant(integers(g, [g.number(1, 9), x.shape[1], *kernel], g.choose(BYTES)))
    g.add("ConvInteger", numbers, weight, zero, kernel_shape=kernel, exact=True, **attributes)


@random_operator(3)
def quantised_product(g):
    a = g.pick(low=2, high=4, exact=True)
    columns = g.choose([1, 3, 8, 17])
    left = quantise(g, a, g.choose(BYTES))
    right = filter_of(g, [a.shape[-1], columns], np.int8, columns if g.chance(0.5) else 0)
    scale, zero = result_scale(g, left[2].type)
    y = g.add("QLinearMatMul", *left, *right, scale, zero, exact=True, keep=False)
    dequantise(g, y, scale, zero)


@random_operator(2)
def dequantised_weights(g):
    """A product with a weight that is stored as integers, a scale for each column or row."""
    a = g.pick(low=2, high=3)
    columns, axis = g.choose([1, 3, 8, 17]), g.number(0, 1)
    shape = [a.shape[-1], columns]
    numbers = g.constant(integers(g, shape, np.int8))
    scale = g.constant(np.abs(g.array([shape[axis]])) / 64 + FLOAT(0.001))
    zero = [g.constant(integers(g, [shape[axis]], np.int8))] if g.chance(0.5) else []
    g.add("MatMul", a, g.add("DequantizeLinear", numbers, scale, *zero, axis=axis, keep=False))


@random_operator()
def dynamically_quantised(g):
    """The zero point; the numbers are a multiple of a scale that rounding has touched."""
    a = g.pick(exact=True)
    numbers, scale, zero = g.add("DynamicQuantizeLinear", a, outputs=3, keep=False)
    g.add("DequantizeLinear", numbers, scale, zero)


@random_operator()
def quantised_at_both_ends(g):
    """Numbers that a type cannot hold, and how they end at its limits."""
    a = g.pick(exact=True)
    kind = g.choose([np.uint8, np.int8, np.uint16, np.int16] if g.opset >= 21 else BYTES)
    large = g.add("Mul", a, g.constant(FLOAT(4096)), keep=False, exact=True)
    scale, zero = g.constant(FLOAT(g.choose([1, 0.5, 32]))), g.constant(np.asarray(g.number(0, 99), kind))
    numbers = g.add("QuantizeLinear", large, scale, zero, exact=True, keep=False)
    dequantise(g, numbers, scale, zero)


@random_operator()
def quantised_by_blocks(g):
    if g.opset < 21:
        raise Rejected
    size, blocks, rows = g.choose([2, 4]), g.number(1, 3), g.number(1, 5)
    numbers = g.constant(integers(g, [rows, blocks * size], np.int8))
    scale = g.constant(np.abs(g.array([rows, blocks])) + FLOAT(0.1))
    weight = g.add("DequantizeLinear", numbers, scale, axis=1, block_size=size, keep=False)
    a = g.constant(g.array([g.number(1, 4), rows]))
    g.add("MatMul", a, weight)


@random_operator()
def looked_up(g):
    """Rows of a table of quantised numbers, as embeddings are stored."""
    rows, width = g.number(2, 9), g.number(1, 6)
    table = g.constant(integers(g, [rows, width], np.uint8))
    indices = g.pick([np.int32, INT64, UINT8], high=2, exact=True)
    wide = g.add("Cast", indices, to=7, keep=False)
    bounded = g.add("Mod", wide, g.constant(INT64(rows)), keep=False)
    part = g.add("Gather", table, bounded, axis=0, keep=False, exact=True)
    dequantise(g, part, g.constant(FLOAT(0.125)), g.constant(np.asarray(128, np.uint8)))
