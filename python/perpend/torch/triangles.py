"""LU factors of matrices with row exchanges, and operators based on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .._perpend import Value
from .call import Call

aten: Any = torch.ops.aten


def lu_factor(call: Call) -> list[Value]:
    """L below the diagonal and U; the row (from 1) that each row was exchanged with; the first zero pivot."""
    if not call["pivot"]:
        raise call.fail("expected pivot=True, which PyTorch needs as well\nhint: leave it out")
    return list(call.ops("lu", call.tensor("A")))


TRIANGLES: dict[str, Callable[[Call], Any]] = {"aten.linalg_lu_factor_ex": lu_factor}


def permutation(pivots: Tensor, rows: int, dtype: torch.dtype) -> Tensor:
    """P [rows, rows] with P L U = A."""
    order = torch.arange(rows).expand(*pivots.shape[:-1], rows)
    for step in range(pivots.shape[-1]):
        other = (pivots[..., step : step + 1] - 1).long()
        own, taken = order[..., step : step + 1], order.gather(-1, other)
        order = order.scatter(-1, other, own)
        order = torch.cat([order[..., :step], taken, order[..., step + 1 :]], -1)
    return (torch.arange(rows)[:, None] == order[..., None, :]).to(dtype)


def lu_unpack(
    factors: Tensor, pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    rows, columns = factors.shape[-2:]
    count, nothing = min(rows, columns), torch.zeros([0], dtype=factors.dtype)
    exchanged = permutation(pivots, rows, factors.dtype) if unpack_pivots else nothing
    if not unpack_data:
        return exchanged, nothing, nothing
    lower = factors[..., :count].tril(-1) + torch.eye(rows, count, dtype=factors.dtype)
    return exchanged, lower, factors[..., :count, :].triu()


def lu(matrix: Tensor, *, pivot: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    factors, pivots, _ = aten.linalg_lu_factor_ex(matrix, pivot=pivot)
    return lu_unpack(factors, pivots)


def lu_solve(factors: Tensor, pivots: Tensor, right: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """Solves P L U x = b, its transpose, or x P L U = b."""
    if not left:
        return lu_solve(factors, pivots, right.mT, adjoint=not adjoint).mT
    exchanged, size = permutation(pivots, factors.shape[-1], factors.dtype), max(factors.dim(), right.dim())
    factors, right, exchanged = (x[(None,) * (size - x.dim())] for x in (factors, right, exchanged))
    solve_triangular = torch.linalg.solve_triangular
    if adjoint:
        half = solve_triangular(factors.mT, right, upper=False)
        return exchanged @ solve_triangular(factors.mT, half, upper=True, unitriangular=True)
    half = solve_triangular(factors, exchanged.mT @ right, upper=False, unitriangular=True)
    return solve_triangular(factors, half, upper=True)


IN_TRIANGLES: dict[Any, Callable[..., Any]] = {
    aten.linalg_lu.default: lu,
    aten.lu_unpack.default: lu_unpack,
    aten.linalg_lu_solve.default: lu_solve,
    aten.lu_solve.default: lambda right, factors, pivots: lu_solve(factors, pivots, right),
}
