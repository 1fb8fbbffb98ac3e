"""torch.linalg: QR, eigenvalues of symmetric matrices, singular values; products of reflections and exponentials.

The latter are loops of the graph. All are computed in f64. Matrices are stacks [n, rows, columns].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from .._perpend import Value
from .call import Call
from .linear_algebra import transposed
from .selection import iota
from .types import Extent

TAYLOR = 16  # the degree of the series of exp
# Its error relative to the norm is 1e-20 of matrices of norm 1/2, for f64, and 2e-10 of matrices of norm 2.
LARGEST_EXPONENT = {True: -1, False: 1}


class Term:
    """A tensor in a formula. Numbers take its type."""

    def __init__(self, call: Call, value: Value) -> None:
        self.call, self.value = call, value

    def op(self, name: str, *others: Term | float, **attributes: Any) -> Term:
        dtype = torch.int64 if self.value.dtype == "i64" else torch.float64
        values = [other.value if isinstance(other, Term) else self.call.number(other, dtype) for other in others]
        return Term(self.call, self.call.op(name, self.value, *values, **attributes))

    def __add__(self, other: Term | float) -> Term:
        return self.op("add", other)

    def __sub__(self, other: Term | float) -> Term:
        return self.op("sub", other)

    def __mul__(self, other: Term | float) -> Term:
        return self.op("mul", other)

    def __truediv__(self, other: Term | float) -> Term:
        return self.op("div", other)

    def __mod__(self, other: Term | float) -> Term:
        return self.op("mod", other)

    def __matmul__(self, other: Term) -> Term:
        return self.op("matmul", other)

    def __lt__(self, other: Term | float) -> Term:
        return self.op("less", other)

    def __le__(self, other: Term | float) -> Term:
        return self.op("less_equal", other)

    def is_(self, other: Term | float) -> Term:
        return self.op("equal", other)

    def __getitem__(self, at: tuple[Term, int]) -> Term:
        """x[at, axis]: slices along an axis."""
        return self.op("gather", at[0], axis=at[1])

    def at(self, axis: int) -> Term:
        """Inserts a dimension."""
        return self.op("unsqueeze", axes=[axis])

    def sum(self, axis: int) -> Term:
        return self.op("reduce_sum", axes=[axis], keepdims=0)

    def transposed(self) -> Term:
        return self.op("transpose", perm=[0, 2, 1])

    def leading(self, rows: Extent, columns: Extent) -> Term:
        """The upper left part of matrices."""
        sizes = [self.value.shape[0], rows, columns]
        return self.op("slice", starts=[0, 0, 0], ends=sizes, axes=[0, 1, 2])

    def shaped(self, shape: list[Extent]) -> Term:
        return Term(self.call, self.call.reshape(self.value, shape))


def choose(condition: Term, then: Term | float, otherwise: Term | float) -> Term:
    call = condition.call
    sides = (x.value if isinstance(x, Term) else call.number(x, torch.float64) for x in (then, otherwise))
    return Term(call, call.op("where", condition.value, *sides))


def places(call: Call, count: Extent) -> Term:
    return Term(call, iota(call, count))


def extent(call: Call, text: Extent) -> Term:
    return Term(call, call.converter.graph.dims([text], scalar=True))


def stack_of(call: Call, name: str) -> tuple[Term, list[Extent]]:
    """Matrices [.., rows, columns] as a stack in f64, and the extents before those of a matrix."""
    value = call.cast(call.tensor(name), torch.float64)
    outer = value.shape[:-2]
    count = " * ".join(f"({size})" for size in outer) or 1
    return Term(call, value).shaped([count, *value.shape[-2:]]), outer


def result(term: Term, outer: list[Extent], dtype: torch.dtype) -> Value:
    return term.call.cast(term.shaped([*outer, *term.value.shape[1:]]).value, dtype)


def unit(call: Call, like: Term, size: Extent) -> Term:
    row = places(call, size)
    diagonal = choose(row.at(1).is_(row), 1.0, 0.0)
    return diagonal.op("expand", shape=[like.value.shape[0], size, size])


def loop(call: Call, count: Term, initial: list[Term], body: Callable[..., list[Term]]) -> list[Term]:
    def iterate(number: Value, carried: list[Value]) -> tuple[None, list[Value], list[Value]]:
        return None, [term.value for term in body(*(Term(call, value) for value in (number, *carried)))], []

    values = call.converter.graph.loop(count.value, None, [term.value for term in initial], iterate)
    return [Term(call, value) for value in values]


# ----------------------------------------------------------------------------------------------------------------------
# Reflections
# ----------------------------------------------------------------------------------------------------------------------


def qr(call: Call) -> list[Value]:
    mode = call["mode"]
    orthogonal, triangle = call.ops("qr", call.tensor("A"), complete=int(mode == "complete"))
    empty = call.op("expand", call.number(0, call.dtype), shape=[0])
    return [empty if mode == "r" else orthogonal, triangle]


def smaller(first: Extent, second: Extent) -> Extent:
    if isinstance(first, int) and isinstance(second, int):
        return min(first, second)
    return first if first == second else f"min({first}, {second})"


def factored(call: Call) -> list[Value]:
    """geqrf: R; below its diagonal the vectors v of the reflections 1 - tau v v^T, without their leading 1; and each
    tau."""
    matrix, outer = stack_of(call, "self")
    count, rows, columns = matrix.value.shape
    place, other = places(call, rows), places(call, columns)

    def clear(number: Term, left: Term, factors: Term) -> list[Term]:
        column = left[number, 2]
        here, below = place.is_(number), number < place
        head = choose(here, column, 0.0).sum(1).at(1)
        rest = choose(below, column * column, 0.0).sum(1).at(1)
        length = (head * head + rest).op("sqrt")
        end = choose(rest.is_(0.0), head, choose(head < 0.0, length, length.op("neg")))
        scale = choose(end.is_(0.0), 0.0, (end - head) / choose(end.is_(0.0), 1.0, end))
        start = choose(rest.is_(0.0), 1.0, head - end)
        normal = choose(here, 1.0, choose(below, column / start, 0.0))
        following = left - normal.at(2) @ (normal.at(1) @ left) * scale.at(2)
        done = choose(here, end, choose(below, normal, column)).at(2)
        left = choose(other.is_(number), done, choose(other < number, left, following))
        return [left, choose(places(call, kept).is_(number), scale, factors)]

    kept = smaller(rows, columns)
    none = Term(call, call.op("expand", call.number(0, torch.float64), shape=[count, kept]))
    left, factors = loop(call, extent(call, f"min({rows}, {columns})"), [matrix, none], clear)
    return [result(left, outer, call.dtype), result(factors, outer, call.dtype)]


def product_of_reflections(call: Call, vectors: Term, scales: str) -> Term:
    """The product [n, rows, rows] of reflections 1 - tau[j] v v^T, with v = (0 .. 0, 1, vectors[j + 1 ..])."""
    rows = vectors.value.shape[1]
    given = call.cast(call.tensor(scales), torch.float64)
    factors = Term(call, given).shaped([vectors.value.shape[0], given.shape[-1]])

    def reflect(number: Term, product: Term) -> list[Term]:
        place, column = places(call, rows), vectors[number, 2]
        normal = choose(place.is_(number), 1.0, choose(number < place, column, 0.0))
        scale = factors[number, 1].at(1).at(2)
        return [product - (product @ normal.at(2)) @ normal.at(1) * scale]

    count = extent(call, factors.value.shape[1])
    return loop(call, count, [unit(call, vectors, rows)], reflect)[0]


def householder_product(call: Call) -> Value:
    matrix, outer = stack_of(call, "input")
    _, rows, columns = matrix.value.shape
    return result(product_of_reflections(call, matrix, "tau").leading(rows, columns), outer, call.dtype)


def reflected_by(call: Call) -> Value:
    """ormqr: the product of reflections times a matrix, or a matrix times it."""
    vectors, outer = stack_of(call, "self")
    product, (other, _) = product_of_reflections(call, vectors, "input2"), stack_of(call, "input3")
    product = product.transposed() if call["transpose"] else product
    return result(product @ other if call["left"] else other @ product, outer, call.dtype)


# ----------------------------------------------------------------------------------------------------------------------
# Eigenvalues and singular values
# ----------------------------------------------------------------------------------------------------------------------


def eigh(call: Call) -> list[Value | None]:
    """Ascending eigenvalues and the eigenvectors as columns; one triangle is read."""
    matrix, has_vectors = call.tensor("A"), call.get("compute_v", True)
    matrix = matrix if call["UPLO"] == "L" else transposed(call, matrix)
    results = call.ops("eigh", matrix, vectors=int(has_vectors))
    return [results[0], results[1] if has_vectors else None]


def svd(call: Call) -> list[Value | None]:
    matrix, has_vectors = call.tensor("A"), call.get("compute_uv", True)
    rows, columns = matrix.shape[-2:]
    if rows != columns and not (isinstance(rows, int) and isinstance(columns, int)):
        shape = f"[{rows}, {columns}]"
        raise call.fail(f"expected numbers for the extents of the matrices, got {shape}\nhint: export with these fixed")
    results = call.ops("svd", matrix, full=int(call["full_matrices"]), vectors=int(has_vectors))
    return [results[1], results[0], results[2]] if has_vectors else [None, results[0], None]


# ----------------------------------------------------------------------------------------------------------------------
# Exponentials
# ----------------------------------------------------------------------------------------------------------------------


def polynomial(coefficients: list[float], power: list[Term]) -> Term:
    """The sum of coefficients times powers 0, 1 .. n - 1 and n of a matrix, which are given: Paterson and Stockmeyer's
    rule takes one product for each n coefficients."""
    *lower, highest = power
    blocks = [coefficients[begin : begin + len(lower)] for begin in range(0, len(coefficients), len(lower))]

    def combined(block: list[float]) -> Term:
        total = lower[0] * block[0]
        for matrix, coefficient in zip(lower[1:], block[1:], strict=False):
            total = total + matrix * coefficient
        return total

    total = combined(blocks.pop())
    if len(coefficients) % len(lower) == 1:  # a multiple of the unit matrix
        total = combined(blocks.pop()) + highest * coefficients[-1]
    for block in reversed(blocks):
        total = combined(block) + total @ highest
    return total


def matrix_exp(call: Call) -> Value:
    """exp(A) = exp(A / 2^k)^(2^k), with k from the largest norm of the stack, and a Taylor series for A / 2^k."""
    matrix, outer = stack_of(call, "self")
    size = matrix.value.shape[2]
    sums = call.reshape(matrix.op("abs").sum(2).value, [-1])
    zero = call.reshape(call.number(0, torch.float64), [1])
    norm = call.op("reduce_max", call.op("concat", sums, zero, axis=0), axes=[0], keepdims=0)
    exponent = (Term(call, norm) + 1e-300).op("log") / 0.6931471805599453
    exponent = exponent.op("ceil") - float(LARGEST_EXPONENT[call.dtype == torch.float64])
    exponent = choose(exponent < 0.0, 0.0, exponent)
    is_finite = exponent < 1100.0
    exponent = choose(is_finite, exponent, 0.0)
    small = matrix * choose(is_finite, (exponent * -0.6931471805599453).op("exp"), math.nan)
    square = small @ small
    powers = [unit(call, matrix, size), small, square, square @ small, square @ square]
    series = polynomial([1 / math.factorial(order) for order in range(TAYLOR + 1)], powers)
    count = Term(call, call.cast(exponent.value, torch.int64))
    (series,) = loop(call, count, [series], lambda number, power: [power @ power])
    return result(series, outer, call.dtype)


FACTORISATIONS: dict[str, Callable[[Call], Any]] = {
    "aten.linalg_qr": qr,
    "aten.linalg_householder_product": householder_product,
    "aten.geqrf": factored,
    "aten.ormqr": reflected_by,
    "aten._linalg_eigh": eigh,
    "aten._linalg_svd": svd,
    "aten.linalg_matrix_exp": matrix_exp,
}
