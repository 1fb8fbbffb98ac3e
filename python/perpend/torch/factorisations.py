"""torch.linalg: QR, eigenvalues of symmetric matrices, singular values and exponentials, as loops of the graph.

All are computed in f64. Matrices are stacks [n, rows, columns].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .._perpend import Value
from .call import Call
from .selection import iota
from .types import Extent

ROUNDING = 2.0**-52
SWEEPS = 40  # rotations converge quadratically: 6 to 10 are usual
TAYLOR = 16  # terms, of matrices whose norm is at most 1/2


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
    return stacked(call, call.tensor(name))


def stacked(call: Call, value: Value) -> tuple[Term, list[Extent]]:
    """Matrices [.., rows, columns] as a stack in f64, and the extents before those of a matrix."""
    value = call.cast(value, torch.float64)
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


def reflected(call: Call, matrix: Term) -> tuple[Term, Term]:
    """Orthogonal Q [n, m, m] and R [n, m, k] with Q R = A. Column by column, zeroes the elements below the diagonal."""
    _, rows, columns = matrix.value.shape

    def clear(number: Term, left: Term, factor: Term) -> list[Term]:
        place, column = places(call, rows), left[number, 2]
        here, below = place.is_(number), number < place
        head = choose(here, column, 0.0).sum(1).at(1)
        rest = choose(below, column * column, 0.0).sum(1).at(1)
        length = (head * head + rest).op("sqrt")
        start = head - choose(head < 0.0, length, length.op("neg"))
        normal = choose(here, start, choose(below, column, 0.0))
        is_done = rest.is_(0.0)
        scale = choose(is_done, 0.0, choose(is_done, 1.0, start * start + rest).op("reciprocal") * 2.0).at(2)
        across, along = normal.at(2), normal.at(1)
        return [left - across @ (along @ left) * scale, factor - (factor @ across) @ along * scale]

    count = extent(call, f"min({rows}, {columns})")
    left, factor = loop(call, count, [matrix, unit(call, matrix, rows)], clear)
    return factor, left


def upper(call: Call, matrix: Term) -> Term:
    rows, columns = (places(call, size) for size in matrix.value.shape[1:])
    return choose(rows.at(1) <= columns, matrix, 0.0)


def qr(call: Call) -> list[Value]:
    matrix, outer = stack_of(call, "A")
    mode, (_, rows, columns) = call["mode"], matrix.value.shape
    factor, left = reflected(call, matrix)
    kept = rows if mode == "complete" else smaller(rows, columns)
    orthogonal = factor.leading(rows, kept)
    triangle = upper(call, left).leading(kept, columns)
    empty = call.op("expand", call.number(0, call.dtype), shape=[0])
    return [
        empty if mode == "r" else result(orthogonal, outer, call.dtype),
        result(triangle, outer, call.dtype),
    ]


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
# Rotations (Jacobi): each step rotates disjoint pairs of rows
# ----------------------------------------------------------------------------------------------------------------------


def rounds_of(size: Extent) -> Extent:
    """The number of steps until each row has met every other."""
    return f"max({size} - 1 + ({size}) % 2, 1)"


def partners(call: Call, number: Term, size: Extent) -> Term:
    """A round-robin schedule: row i meets (number - i) mod rounds; a row that would meet itself meets the last row, or
    none."""
    own, rounds = places(call, size), extent(call, rounds_of(size))
    other = (number - own) % rounds
    other = choose(other.is_(own), rounds, other)
    other = choose(own.is_(rounds), number * extent(call, f"({rounds_of(size)} + 1) // 2") % rounds, other)
    return choose(extent(call, size) <= other, own, other)


def turned(matrix: Term, other: Term, cosine: Term, sine: Term) -> Term:
    return cosine.at(2) * matrix - sine.at(2) * matrix[other, 1]


def angles(call: Call, other: Term, sizes: tuple[Term, Term], product: Term, is_small: Term) -> tuple[Term, Term]:
    """Cosine and sine [n, rows] that make rows of these squared lengths with this product orthogonal."""
    own = places(call, other.value.shape[0])
    slope = (sizes[1] - sizes[0]) / (choose(is_small, 1.0, product) * 2.0)
    sign = choose(slope < 0.0, -1.0, choose(slope.is_(0.0), choose(own < other, 1.0, -1.0), 1.0))
    tangent = choose(is_small, 0.0, sign / (slope.op("abs") + (slope * slope + 1.0).op("sqrt")))
    cosine = (tangent * tangent + 1.0).op("sqrt").op("reciprocal")
    return cosine, tangent * cosine


def rotate(call: Call, size: Extent, initial: list[Term], step: Callable[..., tuple[list[Term], Term]]) -> list[Term]:
    """Steps until all angles were small for a whole round. `step` returns the new state and whether its angles were
    small."""
    graph, quiet = call.converter.graph, Term(call, call.number(0, torch.int64))
    rounds = extent(call, rounds_of(size))

    def iterate(number: Value, carried: list[Value]) -> tuple[Value, list[Value], list[Value]]:
        following, is_small = step(Term(call, number), *(Term(call, value) for value in carried[1:]))
        calm = call.op("reduce_min", call.cast(call.reshape(is_small.value, [-1]), torch.int64), axes=[0], keepdims=0)
        count = (Term(call, carried[0]) + 1.0) * Term(call, calm)
        return (count < rounds).value, [count.value, *(term.value for term in following)], []

    limit = extent(call, f"{rounds_of(size)} * {SWEEPS}")
    values = graph.loop(limit.value, None, [quiet.value, *(term.value for term in initial)], iterate)
    return [Term(call, value) for value in values[1:]]


def sorted_rows(call: Call, keys: Term, matrices: list[Term], is_descending: bool) -> list[Term]:
    """The keys [n, rows] sorted, and the rows of matrices in the same order."""
    values, order = call.ops("topk", keys.value, k=[keys.value.shape[1]], axis=1, largest=int(is_descending))
    rows = [Term(call, values)]
    for matrix in matrices:
        spread = call.op("expand", call.op("unsqueeze", order, axes=[2]), shape=matrix.value.shape)
        rows.append(Term(call, call.op("gather_elements", matrix.value, spread, axis=1)))
    return rows


def of_moderate_size(matrix: Term) -> tuple[Term, Term]:
    """Stacked matrices times powers of two, so that no fourth power overflows or vanishes, and those powers."""
    size = matrix.op("abs").op("reduce_max", axes=[1, 2], keepdims=1)
    small = choose(size < 3e-202, 2.0**900, choose(size < 1e-66, 2.0**450, 1.0))
    scale = choose(size < 1e70, small, choose(size < 3e205, 2.0**-450, 2.0**-900))
    return matrix * scale, scale.op("squeeze", axes=[2])


def eigh(call: Call) -> list[Value | None]:
    """Ascending eigenvalues and the eigenvectors as columns; one triangle is read."""
    given, outer = stack_of(call, "A")
    size = given.value.shape[2]
    place = places(call, size)
    given = given if call["UPLO"] == "L" else given.transposed()
    matrix, scale = of_moderate_size(choose(place <= place.at(1), given, given.transposed()))
    norm = (matrix * matrix).sum(2).sum(1).at(1)

    def step(number: Term, matrix: Term, vectors: Term) -> tuple[list[Term], Term]:
        other = partners(call, number, size)
        diagonal = choose(place.is_(place.at(1)), matrix, 0.0).sum(2)
        product = choose(other.at(1).is_(place), matrix, 0.0).sum(2)
        product = (product + product[other, 1]) / 2.0  # both rows of a pair turn by the same angle
        is_small = (product * product <= norm * (4 * ROUNDING) ** 2).op("logical_or", other.is_(place))
        cosine, sine = angles(call, other, (diagonal, diagonal[other, 1]), product, is_small)
        half = turned(matrix, other, cosine, sine).transposed()
        return [turned(half, other, cosine, sine), turned(vectors, other, cosine, sine)], is_small

    matrix, vectors = rotate(call, size, [matrix, unit(call, matrix, size)], step)
    diagonal = choose(place.is_(place.at(1)), matrix, 0.0).sum(2)
    values, vectors = sorted_rows(call, diagonal, [vectors], is_descending=False)
    return [result(values / scale, outer, call.dtype), result(vectors.transposed(), outer, call.dtype)]


def singular(call: Call, matrix: Term) -> tuple[Term, Term, Term]:
    """For [n, m, k], m >= k: orthogonal [n, m, m], descending values [n, k], orthogonal [n, k, k]: A = U (S V).
    An angle counts as right where its cosine is no more than the rounding of a product of vectors."""
    _, rows, size = matrix.value.shape
    matrix, scale = of_moderate_size(matrix)
    limit = Term(call, call.cast(extent(call, rows).value, torch.float64)) * (2 * ROUNDING) ** 2

    def step(number: Term, columns: Term, vectors: Term) -> tuple[list[Term], Term]:
        other = partners(call, number, size)
        lengths, product = (columns * columns).sum(2), (columns * columns[other, 1]).sum(2)
        facing = lengths[other, 1]
        is_small = (product * product <= lengths * facing * limit).op("logical_or", other.is_(places(call, size)))
        cosine, sine = angles(call, other, (lengths, facing), product, is_small)
        return [turned(part, other, cosine, sine) for part in (columns, vectors)], is_small

    columns, vectors = rotate(call, size, [matrix.transposed(), unit(call, matrix, size)], step)
    lengths = (columns * columns).sum(2).op("sqrt")
    values, columns, vectors = sorted_rows(call, lengths, [columns, vectors], is_descending=True)
    directions = columns / choose(values.is_(0.0), 1.0, values).at(2)
    factor, left = reflected(call, directions.transposed())
    signs = choose(left < 0.0, -1.0, 1.0).leading(size, size)  # columns of length 0 are completed
    place = places(call, size)
    signs = choose(place.is_(place.at(1)), signs, 0.0)
    others = factor.op("slice", starts=[size], ends=[rows], axes=[2])
    directed = call.op("concat", (factor.leading(rows, size) @ signs).value, others.value, axis=2)
    return Term(call, directed), values / scale, vectors


def svd(call: Call) -> list[Value]:
    matrix, outer = stack_of(call, "A")
    rows, columns = matrix.value.shape[1:]
    if rows != columns and not (isinstance(rows, int) and isinstance(columns, int)):
        shape = f"[{rows}, {columns}]"
        raise call.fail(f"expected numbers for the extents of the matrices, got {shape}\nhint: export with these fixed")
    is_wide = isinstance(rows, int) and isinstance(columns, int) and rows < columns
    left, values, right = singular(call, matrix.transposed() if is_wide else matrix)
    if is_wide:
        left, right = right.transposed(), left.transposed()
    kept = smaller(rows, columns)
    if not call["full_matrices"]:
        left, right = left.leading(rows, kept), right.leading(kept, columns)
    return [result(part, outer, call.dtype) for part in (left, values, right)]


# ----------------------------------------------------------------------------------------------------------------------
# Exponentials
# ----------------------------------------------------------------------------------------------------------------------


def matrix_exp(call: Call) -> Value:
    """exp(A) = exp(A / 2^k)^(2^k), with k from the largest norm of the stack, and a Taylor series for A / 2^k."""
    matrix, outer = stack_of(call, "self")
    size = matrix.value.shape[2]
    sums = call.reshape(matrix.op("abs").sum(2).value, [-1])
    zero = call.reshape(call.number(0, torch.float64), [1])
    norm = call.op("reduce_max", call.op("concat", sums, zero, axis=0), axes=[0], keepdims=0)
    exponent = (Term(call, norm) + 1e-300).op("log") / 0.6931471805599453
    exponent = choose(exponent < -1.0, 0.0, exponent.op("ceil") + 1.0)
    exponent = choose(exponent < 1100.0, exponent, 0.0)  # of infinite matrices and NaN
    small = matrix * (exponent * -0.6931471805599453).op("exp")
    one = unit(call, matrix, size)
    series = one
    for order in range(TAYLOR, 0, -1):
        series = one + (small @ series) / float(order)
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
