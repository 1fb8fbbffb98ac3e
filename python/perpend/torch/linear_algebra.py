"""torch.linalg: inverses, linear systems, determinants, Cholesky factors, and checks that they exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .._perpend import Value
from .call import Call
from .selection import broadcast_extents
from .types import Extent

aten: Any = torch.ops.aten


def transposed(call: Call, value: Value) -> Value:
    rank = len(value.shape)
    return call.op("transpose", value, perm=[*range(rank - 2), rank - 1, rank - 2])


def check_info(call: Call, info: Value, problem: str) -> None:
    """Ends the run with an error unless every factorisation succeeded."""
    is_good = call.op("equal", info, call.number(0, torch.int32))
    call.op("require_all", is_good, message=problem)


def inverse(call: Call) -> list[Value]:
    return call.ops("inverse", call.tensor("A"))


def solve(call: Call) -> list[Value | None]:
    """A x = b, or x A = b; a right-hand side with one dimension less consists of vectors."""
    matrix, right = call.tensor("A"), call.tensor("B")
    shape, other = call.example("A").shape, call.example("B").shape
    is_vector = len(other) == 1 or (len(other) == len(shape) - 1 and other == shape[:-1])
    right = call.op("unsqueeze", right, axes=[len(other)]) if is_vector else right
    if not call["left"]:
        matrix, right = transposed(call, matrix), transposed(call, right)
    outer = broadcast_extents(matrix.shape[:-2], right.shape[:-2])
    matrix, right = (call.op("expand", part, shape=[*outer, *part.shape[-2:]]) for part in (matrix, right))
    result, info = call.ops("solve", matrix, right)
    info = of_matrices(call, info, call.tensor("A").shape[:-2])
    result = result if call["left"] else transposed(call, result)
    return [call.op("squeeze", result, axes=[len(outer) + 1]) if is_vector else result, None, None, info]


def solve_triangular(call: Call) -> Value:
    """Reads only the triangle. The right-hand side consists of matrices, which broadcast, never of vectors."""
    matrix, right, is_left = call.tensor("self"), call.tensor("B"), call.get("left", True)
    outer = broadcast_extents(matrix.shape[:-2], right.shape[:-2])
    matrix, right = (call.op("expand", part, shape=[*outer, *part.shape[-2:]]) for part in (matrix, right))
    if not is_left:
        matrix, right = transposed(call, matrix), transposed(call, right)
    is_upper, is_unit = int(call["upper"] == is_left), int(call.get("unitriangular", False))
    result = call.op("solve_triangular", matrix, right, upper=is_upper, unit=is_unit)
    return result if is_left else transposed(call, result)


def of_matrices(call: Call, info: Value, shape: list[Extent]) -> Value:
    """One number per matrix, not per pair of a matrix and its right-hand sides."""
    extra = len(info.shape) - len(shape)
    info = call.op("reduce_max", info, axes=list(range(extra)), keepdims=0) if extra else info
    units = [axis for axis, extent in enumerate(shape) if extent == 1 and info.shape[axis] != 1]
    return call.op("reduce_max", info, axes=units, keepdims=1) if units else info


def determinant(call: Call) -> list[Value | None]:
    return [call.op("det", call.tensor("A")), None, None]


def log_determinant(call: Call) -> list[Value | None]:
    return [*call.ops("slogdet", call.tensor("A")), None, None]


def cholesky_with_info(call: Call) -> list[Value]:
    upper, matrix = call["upper"], call.tensor("self")
    factor, info = call.ops("cholesky", transposed(call, matrix) if upper else matrix)
    return [transposed(call, factor) if upper else factor, info]


def cholesky(call: Call) -> Value:
    factor, info = cholesky_with_info(call)
    check_info(call, info, "cholesky: the matrix is not positive definite")
    return factor


def check_errors(call: Call) -> None:
    name = call["api_name"]
    problem = "is not positive definite" if "cholesky" in name else "is singular"
    check_info(call, call.tensor("info"), f"{name}: the matrix {problem}")


LINEAR_ALGEBRA: dict[str, Callable[[Call], Any]] = {
    "aten.linalg_inv_ex": inverse,
    "aten._linalg_solve_ex": solve,
    "aten.linalg_solve_triangular": solve_triangular,
    "aten._linalg_det": determinant,
    "aten._linalg_slogdet": log_determinant,
    "aten.linalg_cholesky_ex": cholesky_with_info,
    "aten.cholesky": cholesky,
    "aten._linalg_check_errors": check_errors,
}


# ----------------------------------------------------------------------------------------------------------------------
# In terms of the others
# ----------------------------------------------------------------------------------------------------------------------


def triangular_solve(
    right: Tensor, matrix: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Tensor, Tensor]:
    used = matrix.mT if transpose else matrix
    result = torch.linalg.solve_triangular(used, right, upper=upper != transpose, unitriangular=unitriangular)
    return result, matrix.expand(*result.shape[:-2], *matrix.shape[-2:]).clone()


def cholesky_solve(right: Tensor, factor: Tensor, upper: bool = False) -> Tensor:
    lower = factor.mT if upper else factor
    half = torch.linalg.solve_triangular(lower, right, upper=False)
    return torch.linalg.solve_triangular(lower.mT, half, upper=True)


def cholesky_inverse(factor: Tensor, upper: bool = False) -> Tensor:
    unit = torch.eye(factor.shape[-1], dtype=factor.dtype).expand(factor.shape)
    return cholesky_solve(unit, factor, upper)


def pseudo_inverse(
    matrix: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False
) -> Tensor:
    """V S^-1 U^T of the singular values above max(atol, rtol * the largest); the others count as 0."""
    matrix = matrix.tril() + matrix.tril(-1).mT if hermitian else matrix
    if 0 in matrix.shape:
        return matrix.mT.clone()
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    if rtol is None:
        epsilon = torch.finfo(matrix.dtype).eps * max(matrix.shape[-2:])
        rtol = torch.zeros_like(values[..., 0]) + (epsilon if atol is None else torch.where(atol > 0, 0.0, epsilon))
    limit = rtol * values[..., 0]
    limit = limit if atol is None else torch.maximum(limit, atol)
    inverse = torch.where(values > limit[..., None], 1 / values, 0.0)
    return right.mT @ (inverse[..., None] * left.mT)


IN_OTHERS: dict[Any, Callable[..., Any]] = {
    aten.triangular_solve.default: triangular_solve,
    aten.cholesky_solve.default: cholesky_solve,
    aten.cholesky_inverse.default: cholesky_inverse,
    aten.linalg_pinv.atol_rtol_tensor: pseudo_inverse,
}
