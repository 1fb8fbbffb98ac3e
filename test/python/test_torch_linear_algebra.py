"""torch.linalg, compiled and interpreted, against eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import perpend
import pytest
import torch
from python.torch_functions import DYNAMIC, Function, check

torch.manual_seed(0)


def matrices(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Of rows in a bad order: elimination must exchange some."""
    x = torch.randn(*shape, shape[-1], dtype=dtype)
    return (x + 3 * torch.eye(shape[-1], dtype=dtype)).flip(-2)


def positive(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    x = matrices(*shape, dtype=dtype)
    return x @ x.mT + torch.eye(shape[-1], dtype=dtype)


OF_MATRICES: list[Callable[[torch.Tensor], Any]] = [
    torch.linalg.inv,
    torch.linalg.det,
    torch.linalg.slogdet,
    lambda x: torch.linalg.inv_ex(x),
    lambda x: torch.linalg.solve(x, x.mT[..., :2]),
    lambda x: torch.linalg.solve(x, x.mT[..., :2, :], left=False),
    lambda x: torch.linalg.solve(x, x[..., 0]),
    lambda x: torch.linalg.matrix_power(x, -2),
    lambda x: torch.linalg.solve_triangular(x, x.mT, upper=True, unitriangular=True),
    lambda x: torch.linalg.solve_triangular(x.flip(-1), x.mT, upper=False, left=False),
    lambda x: torch.triangular_solve(x.mT, x.flip(-1), upper=False, transpose=True)[0],
]
OF_POSITIVE: list[Callable[[torch.Tensor], Any]] = [
    torch.linalg.cholesky,
    lambda x: torch.linalg.cholesky(x.triu(), upper=True),
    lambda x: torch.cholesky(x.tril()),
    lambda x: torch.linalg.cholesky_ex(x),
    lambda x: torch.cholesky_solve(x[..., :2], torch.linalg.cholesky(x)),
    lambda x: torch.cholesky_inverse(torch.linalg.cholesky(x)),
    torch.logdet,
]


@pytest.mark.parametrize("number", range(len(OF_MATRICES) + len(OF_POSITIVE)))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_against_eager(number: int, dtype: torch.dtype) -> None:
    function = [*OF_MATRICES, *OF_POSITIVE][number]
    make = matrices if number < len(OF_MATRICES) else positive
    more = [(make(*shape, dtype=dtype),) for shape in ((5, 2), (1, 7))]
    check(function, make(3, 4, dtype=dtype), dynamic=[(0, 1, 2)], more=more)
    check(function, make(3, dtype=dtype))


def test_right_hand_sides_broadcast() -> None:
    x, y = matrices(2, 3), torch.randn(4, 1, 3, 5)
    check(torch.linalg.solve, x, y)
    check(lambda x, y: torch.linalg.solve(x[0], y), x, y)


def test_right_hand_sides_of_triangles_are_never_vectors() -> None:
    """[3, 3] for matrices [3, 3, 3]: one matrix for all, where torch.linalg.solve sees one vector for each."""
    x, y = positive(3, 3), torch.randn(3, 3)
    check(
        lambda x, y: (
            torch.linalg.solve_triangular(x.tril(), y, upper=False),
            torch.linalg.solve_triangular(x.triu(), y, upper=True, left=False),
            torch.triangular_solve(y, x),
            torch.cholesky_solve(y, torch.linalg.cholesky(x)),
            torch.linalg.solve(x, y),
        ),
        x,
        y,
    )
    check(lambda x, y: torch.triangular_solve(y, x[0]), x, torch.randn(4, 3, 2))


@pytest.mark.filterwarnings("ignore:torch.triangular_solve is deprecated")
@pytest.mark.parametrize("upper", [False, True])
def test_triangles_with_zeros_on_their_diagonal(upper: bool) -> None:
    """Substitution divides by them: what depends on no zero is finite, the rest infinite or NaN. And no exchange of
    rows rounds another way than eager PyTorch."""
    x, y = (torch.randint(-2, 3, (6, 5, 5), generator=torch.Generator().manual_seed(1)).double() for _ in range(2))

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        solved = torch.linalg.solve_triangular
        return (
            solved(x, y, upper=upper),
            solved(x, y, upper=upper, left=False),
            solved(x, y, upper=upper, unitriangular=True),
            torch.triangular_solve(y, x, upper=upper)[0],
            torch.cholesky_solve(y, x, upper=upper),
        )

    results = perpend.compile(Function(function), example_inputs=(x, y))(x, y)
    expected = function(x, y)
    assert any(not each.isfinite().all() and each.isfinite().any() for each in expected)
    for result, wanted in zip(results, expected, strict=True):
        torch.testing.assert_close(result, wanted, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("size", [0, 1])
def test_small_matrices(size: int) -> None:
    check(lambda x: (torch.linalg.det(x), torch.linalg.slogdet(x)), torch.full((2, size, size), -3.0))
    check(torch.linalg.inv, torch.full((2, size, size), -3.0))


def test_determinants_of_singular_matrices() -> None:
    # By powers of two elimination is exact, by rows and by columns.
    x = torch.tensor([[[1.0, 2, 4], [2, 4, 8], [4, 8, 1]], [[0.0, 0, 1], [0, 0, 2], [0, 0, 4]]])
    check(lambda x: (torch.linalg.det(x), *torch.linalg.slogdet(x)), x)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (torch.linalg.inv, "linalg.inv: the matrix is singular"),
        (lambda x: torch.linalg.solve(x, x), "linalg.solve: the matrix is singular"),
        (torch.linalg.cholesky, "linalg.cholesky: the matrix is not positive definite"),
        (torch.cholesky, "cholesky: the matrix is not positive definite"),
    ],
)
def test_matrices_without_an_inverse_end_the_run(function: Callable[..., Any], message: str) -> None:
    model = perpend.compile(
        Function(function), example_inputs=(torch.eye(2).expand(3, 2, 2),), dynamic_shapes=(({0: DYNAMIC},),)
    )
    wrong = torch.stack([torch.eye(2), torch.tensor([[1.0, 2], [2, 4]])])
    with pytest.raises(ValueError, match=message):
        model(wrong)
    torch.testing.assert_close(model(wrong[:1]), function(wrong[:1]))


@pytest.mark.parametrize("size", [1, 8, 33, 130])
def test_systems_of_several_blocks(size: int) -> None:
    a, b = torch.randn(2, size, size, dtype=torch.float64), torch.randn(2, size, 5, dtype=torch.float64)
    a += 2 * torch.eye(size)
    check(lambda a, b: (torch.linalg.solve(a, b), torch.linalg.inv(a), torch.linalg.det(a / size)), a, b)
    check(lambda a: torch.linalg.cholesky(a @ a.mT), a)

    def triangles(a: torch.Tensor, b: torch.Tensor) -> Any:
        forms = [(upper, left, unit) for upper in (True, False) for left in (True, False) for unit in (True, False)]
        a = a / size + 2 * torch.eye(size)
        return [
            torch.linalg.solve_triangular(a, b if left else b.mT, upper=upper, left=left, unitriangular=unit)
            for upper, left, unit in forms
        ]

    check(triangles, a, b)


def test_torch_compile(recwarn: pytest.WarningsRecorder) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = torch.linalg.inv(x) @ torch.linalg.cholesky(x @ x.mT)
        return result

    x = matrices(2, 3)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(function, backend="perpend")(x), function(x), atol=1e-4, rtol=1e-4)
    assert not [warning for warning in recwarn if "perpend" in str(warning.message)]


@pytest.mark.parametrize("name", ["eig"])
def test_what_is_missing_is_named(name: str) -> None:
    """With the line of the model's code that calls it."""
    function = getattr(torch.linalg, name)
    message = (
        rf"1 operator of this model is not supported:\n  aten\..*{name}.* at .*\.py:\d+\nhint: .*bring-an-operator"
    )
    with pytest.raises(perpend.CompileError, match=message):
        perpend.compile(Function(lambda x: function(x)), example_inputs=(torch.eye(3),))


def test_orthogonal_factors() -> None:
    """Reflections as LAPACK makes them, so the factors themselves agree; a column that is done is left as it is."""
    x = torch.stack([torch.randn(4, 3), torch.eye(4, 3), -torch.ones(4, 3)])
    check(lambda x: [*torch.linalg.qr(x[:1]), torch.linalg.qr(x[:2], mode="r").R], x, is_interpreted=False)

    def products(x: torch.Tensor) -> Any:
        q, r = torch.linalg.qr(x, mode="complete")
        return q @ r, q.mT @ q, r.tril(-1)

    check(products, x, dynamic=[[0, 1, 2]], more=[[torch.randn(2, 2, 5)], [torch.randn(1, 1, 1)]])
    check(lambda a, t: torch.linalg.householder_product(a, t), torch.randn(2, 4, 3), torch.rand(2, 3))


def test_factors_as_reflections() -> None:
    stack = torch.stack([torch.randn(4, 3), torch.eye(4, 3), torch.zeros(4, 3)])
    for x in (stack, torch.randn(2, 3, 5), torch.randn(1, 1), torch.randn(0, 3)):
        check(torch.geqrf, x, is_interpreted=False)

    def products(x: torch.Tensor, tau: torch.Tensor, y: torch.Tensor) -> Any:
        pairs = [(left, transpose) for left in (True, False) for transpose in (True, False)]
        return [torch.ormqr(x, tau, y if left else y.mT, left, transpose) for left, transpose in pairs]

    x, tau = torch.geqrf(torch.randn(2, 5, 3))
    check(products, x, tau, torch.randn(2, 5, 4), is_interpreted=False)


def test_symmetric_eigenvalues() -> None:
    def function(x: torch.Tensor) -> Any:
        values, vectors = torch.linalg.eigh(x)
        lower = x.tril() + x.tril(-1).mT
        return values, lower @ vectors - vectors * values[..., None, :], vectors.mT @ vectors

    x = torch.stack([torch.randn(4, 4), torch.ones(4, 4), torch.eye(4), torch.zeros(4, 4)])
    check(function, x, dynamic=[[0, 1, 2]], more=[[torch.randn(2, size, size)] for size in (0, 1, 2, 7)])
    check(lambda x: torch.linalg.eigvalsh(x, UPLO="U"), torch.randn(5, 5, dtype=torch.float64))
    check(function, torch.randn(2, 40, 40, dtype=torch.float64))


def test_singular_values() -> None:
    """Also of matrices that have less than full rank: the factors are orthogonal all the same."""

    def function(x: torch.Tensor) -> Any:
        left, values, right = torch.linalg.svd(x, full_matrices=x.shape[-1] == 3)
        count = values.shape[-1]
        product = (left[..., :count] * values[..., None, :]) @ right[..., :count, :]
        return product, values, left.mT @ left, right @ right.mT, values.diff() <= 0

    x = torch.stack([torch.randn(5, 3), torch.ones(5, 3), torch.zeros(5, 3)])
    check(function, x, dynamic=[[0]], more=[[x[:0]]])
    check(lambda x: (*function(x.mT)[:3], torch.linalg.pinv(x)), x, is_interpreted=False)
    check(torch.linalg.pinv, torch.randn(0, 3))
    check(lambda x: torch.linalg.svdvals(x), torch.randn(2, 50, 33, dtype=torch.float64))
    with pytest.raises(perpend.CompileError, match="expected numbers for the extents of the matrices"):
        check(lambda x: torch.linalg.svdvals(x), x, dynamic=[[1, 2]])


def test_digits_of_factors_in_double_precision() -> None:
    """Rotations go on until cosines are roundings, and turn both rows of a pair by one angle."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(40, 40, dtype=torch.float64, generator=generator)
    turn, _ = torch.linalg.qr(x[:5, :5])
    even = (turn * torch.tensor([1.5, 1.25, 7 / 6, 0.8, 2 / 3], dtype=torch.float64)) @ torch.linalg.qr(x[5:10, 5:10])[
        0
    ]

    def function(x: torch.Tensor, even: torch.Tensor) -> Any:
        values, vectors = torch.linalg.eigh(x)
        left, sizes, right = torch.linalg.svd(x)
        return (vectors * values) @ vectors.mT, (left * sizes) @ right, torch.linalg.pinv(even)

    results = perpend.compile(Function(function), example_inputs=(x, even))(x, even)
    wanted = (x.tril() + x.tril(-1).mT, x, torch.linalg.inv(even))
    for result, expected, limit in zip(results, wanted, (1.2e-13, 4e-14, 2e-15), strict=True):
        torch.testing.assert_close(result, expected, rtol=0, atol=limit)


@pytest.mark.parametrize("exponent", [-320, -250, -100, -70, 75, 150, 250, 300])
def test_values_of_very_small_and_large_matrices(exponent: int) -> None:
    """Squares of squares of elements are no numbers of f64."""
    x = torch.randn(2, 5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 10.0**exponent

    def function(x: torch.Tensor) -> Any:
        return torch.linalg.svdvals(x), torch.linalg.eigvalsh(x)

    results = perpend.compile(Function(function), example_inputs=(x,))(x)
    for result, expected in zip(results, function(x), strict=True):
        torch.testing.assert_close(result, expected, rtol=0, atol=4e-15 * float(expected.abs().max()))


def test_exponentials() -> None:
    x = torch.stack([torch.randn(3, 3), torch.zeros(3, 3), torch.full((3, 3), 1e-9), torch.eye(3) * 5])
    check(torch.linalg.matrix_exp, x, dynamic=[[0, 1, 2]], more=[[torch.randn(2, 4, 4)], [x[:0]]])
    x = torch.empty(4, 5, 5).uniform_(-9, 9)  # small elements among large ones, which PyTorch has to three digits
    result = perpend.compile(Function(torch.linalg.matrix_exp), example_inputs=(x,))(x)
    torch.testing.assert_close(result, torch.linalg.matrix_exp(x.double()).float(), rtol=1e-6, atol=0)


@pytest.mark.filterwarnings("ignore:torch.lu_solve is deprecated")
@pytest.mark.parametrize("shape", [(0, 0, 4), (2, 0, 4), (0, 3, 4), (2, 3, 0)], ids=str)
def test_matrices_without_elements(shape: tuple[int, int, int]) -> None:
    """No loop of a kernel has an iteration, and no position a neighbour."""
    batch, size, _ = shape
    square = torch.eye(size).expand(batch, size, size).contiguous()
    pivots = torch.arange(1, size + 1, dtype=torch.int32).expand(batch, size).contiguous()
    right = torch.ones(shape)
    check(lambda b, a, p: (torch.lu_solve(b, a, p), torch.linalg.solve(a, b), a.mT @ b), right, square, pivots)


def test_products_of_no_reflections() -> None:
    for batch in (0, 2):
        check(torch.ormqr, torch.randn(batch, 2, 5), torch.rand(batch, 2), torch.randn(batch, 2, 5))
