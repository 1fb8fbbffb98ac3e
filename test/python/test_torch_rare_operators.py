"""Operators of ATen beyond those of models: special functions, gradients, factors, copies, bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import mpmath
import perpend
import pytest
import scipy.special
import torch
import torch.nn.functional as F
from python.torch_functions import Function, check, tensors

torch.manual_seed(0)
aten: Any = torch.ops.aten
special = torch.special
X = torch.randn(3, 4, 5)
IMAGE = torch.randn(2, 4, 9, 8)
MATRICES = torch.randn(2, 4, 4)
POINTS = torch.cat([torch.linspace(-9.7, 40.3, 401, dtype=torch.float64), torch.tensor([0.0, 1e-9, 12.999, 300.0])])
DEGREES = torch.arange(-1, 8)[:, None]
PLACES = torch.linspace(-1.5, 1.5, 13, dtype=torch.float64)

BESSEL = """bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1 modified_bessel_k0
    modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0"""
SCIPY = {f"bessel_{kind}{order}": getattr(scipy.special, f"{kind}{order}") for kind in "jy" for order in (0, 1)}
CHEBYSHEV = [f"{prefix}chebyshev_polynomial_{kind}" for prefix in ("", "shifted_") for kind in "tuvw"]
POLYNOMIALS = [
    *CHEBYSHEV,
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
]


def test_bessel_functions() -> None:
    names = BESSEL.split()

    def function(x: torch.Tensor) -> Any:
        return [getattr(special, name)(x) for name in names]

    results = perpend.compile(Function(function), example_inputs=(POINTS,))(POINTS)
    for name, result, expected in zip(names, results, function(POINTS), strict=True):
        exact = SCIPY[name](POINTS.numpy()) if name in SCIPY else expected  # PyTorch's J and Y are exact to 1e-6
        exact = torch.as_tensor(exact).where(expected == expected, torch.nan)
        torch.testing.assert_close(
            result, exact, rtol=1e-9, atol=1e-10, equal_nan=True, msg=lambda text, at=name: f"{at}: {text}"
        )


def test_airy_functions() -> None:
    x = torch.cat([torch.linspace(-30, 12, 501, dtype=torch.float64), torch.tensor([-7.0, 2.0, 120.0, -300.0])])
    result = perpend.compile(Function(special.airy_ai), example_inputs=(x,))(x)
    exact = torch.as_tensor(scipy.special.airy(x.numpy())[0])
    torch.testing.assert_close(result, exact, rtol=1e-9, atol=1e-11)
    falling = (x > 0) & (x < 100)
    torch.testing.assert_close(result[falling], exact[falling], rtol=1e-9, atol=0)
    ends = torch.tensor([float("inf"), float("-inf"), float("nan")])
    assert bool(torch.isnan(perpend.compile(Function(special.airy_ai), example_inputs=(ends,))(ends)).all())


def test_bessel_and_airy_functions_have_the_digits_of_f64() -> None:
    """Near 0, where the ranges of their series meet, and far away; eager PyTorch is off by 4e-7 just above 5."""
    ends = [1e-9, 5.02, 12.9, 17.0, 19.999, 20.0, 20.001, 1e4, 1e8, 1e15]
    x = torch.cat([torch.linspace(0.01, 25, 200, dtype=torch.float64), torch.tensor(ends, dtype=torch.float64)])
    exact = {
        special.bessel_j0: partial(mpmath.besselj, 0),
        special.bessel_j1: partial(mpmath.besselj, 1),
        special.bessel_y0: partial(mpmath.bessely, 0),
        special.bessel_y1: partial(mpmath.bessely, 1),
        lambda x: special.airy_ai(-x.clamp(max=40)): lambda x: mpmath.airyai(-min(x, 40)),
    }
    model = perpend.compile(Function(lambda x: [function(x) for function in exact]), example_inputs=(x,))
    for result, function in zip(tensors(model(x)), exact.values(), strict=True):
        with mpmath.workdps(40):
            expected = torch.tensor([float(function(each)) for each in x.tolist()], dtype=torch.float64)
        torch.testing.assert_close(result, expected, rtol=2e-15, atol=4e-15)


def test_bessel_functions_at_the_ends_of_f64() -> None:
    """The sign of 0, and subnormal arguments. Integers are rounded to f32 first."""
    x = torch.tensor([-0.0, 2.0**-1022, 2.0**-1022, 2.0**-1022, 1e-308], dtype=torch.float64)
    functions = [special.bessel_j1, special.bessel_y0, special.modified_bessel_k0, special.modified_bessel_k1]
    functions.append(special.bessel_y1)
    model = perpend.compile(Function(lambda x: [function(x) for function in functions]), example_inputs=(x,))
    result = torch.stack(tensors(model(x))).diagonal()
    exact = [-0.0, -451.0529710071285, 708.5123500479225, 4.49423283715579e307, -6.366197723675814e307]
    expected = torch.tensor(exact, dtype=torch.float64)
    torch.testing.assert_close(result, expected, rtol=1e-14, atol=0)
    assert result[0].signbit()
    check(lambda x: special.spherical_bessel_j0(x) * 1e9, torch.tensor([2**27 - 1, 3]))


def test_orthogonal_polynomials() -> None:
    def function(x: torch.Tensor, n: torch.Tensor) -> Any:
        several = [getattr(special, name)(x, n) for name in POLYNOMIALS]
        return several, special.legendre_polynomial_p(x, 5), special.hermite_polynomial_h(0.5, n)

    model = perpend.compile(Function(function), example_inputs=(PLACES, DEGREES))
    for result, expected in zip(tensors(model(PLACES, DEGREES)), tensors(function(PLACES, DEGREES)), strict=True):
        torch.testing.assert_close(result, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_derivatives_of_digamma(n: int) -> None:
    x = torch.tensor([-7.3, -2.0, -1.2, -0.1, 0.0, 0.2, 1.0, 4.5, 30.0], dtype=torch.float64)
    model = perpend.compile(Function(lambda x: torch.polygamma(n, x)), example_inputs=(x,))
    torch.testing.assert_close(model(x), torch.polygamma(n, x), rtol=1e-8, atol=1e-12)


def test_incomplete_gamma_functions() -> None:
    a = torch.tensor([0.0, 0.3, 1.0, 2.5, 9.0, 40.0, 300.0], dtype=torch.float64)[:, None]
    x = torch.tensor([0.0, 1e-3, 0.5, 1.0, 3.0, 10.0, 45.0, 290.0, float("inf"), -1.0], dtype=torch.float64)
    model = perpend.compile(Function(lambda a, x: (torch.igamma(a, x), torch.igammac(a, x))), example_inputs=(a, x))
    for result, expected in zip(model(a, x), (torch.igamma(a, x), torch.igammac(a, x)), strict=True):
        torch.testing.assert_close(result, expected, rtol=1e-8, atol=1e-12, equal_nan=True)


# a, x and both functions to 17 digits (mpmath). Eager PyTorch has nine for those of (64, 64).
GAMMAS = [
    (0.5, 1.5, 0.9167354833364496, 0.0832645166635504),
    (1.5, 3.0, 0.8883897749052875, 0.11161022509471256),
    (1e-05, 1e-05, 0.9998906486990436, 0.00010935130095632986),
    (1e-09, 0.5, 0.9999999994402264, 5.597735950695407e-10),
    (2.5, 3.0, 0.6937810815867216, 0.3062189184132784),
    (8.0, 0.1, 2.2693269500714718e-13, 0.9999999999997731),
    (64.0, 64.0, 0.5166239875038265, 0.4833760124961735),
    (64.0, 90.0, 0.9983162438229664, 0.0016837561770336289),
    (1000.0, 900.0, 0.0005499022657117829, 0.9994500977342882),
    (0.5, 89.0, 1.0, 1.3246912525939932e-40),
]


def test_all_digits_of_incomplete_gamma_functions() -> None:
    """Those of the smaller one of the two as well, which is no difference from 1."""
    a, x, *expected = torch.tensor(GAMMAS, dtype=torch.float64).unbind(1)
    model = perpend.compile(Function(lambda a, x: (torch.igamma(a, x), torch.igammac(a, x))), example_inputs=(a, x))
    for result, wanted in zip(model(a, x), expected, strict=True):
        torch.testing.assert_close(result, wanted, rtol=4e-15, atol=0)
    a, x = torch.full((2,), 2.0**52, dtype=torch.float64), torch.tensor([5e-324, 1e300], dtype=torch.float64)
    torch.testing.assert_close(model(a.repeat(5), x.repeat(5))[1][:2].tolist(), [1.0, 0.0])


def test_incomplete_gamma_functions_of_special_values() -> None:
    inf, nan = float("inf"), float("nan")
    a, x = torch.tensor([0.0, nan, 1.0, inf, 0.0, 1e7]), torch.tensor([nan, 1.0, nan, nan, 0.0, nan])
    results = perpend.compile(Function(lambda a, x: (torch.igamma(a, x), torch.igammac(a, x))), example_inputs=(a, x))
    for result, expected in zip(results(a, x), (torch.igamma(a, x), torch.igammac(a, x)), strict=True):
        torch.testing.assert_close(result, expected, equal_nan=True)


LARGE_GAMMAS = [
    [
        0.50013298082736302,
        0.50013298076087259,
        0.0013381041673135997,
        0.99999970125098599,
        0.99921704383804167,
        0.17139112367528191,
        0.50000001329807601,
        0.97724986265272441,
        0.15865525393145665,
    ],
    [
        0.49986701917263698,
        0.49986701923912741,
        0.9986618958326864,
        2.9874901401146349e-7,
        0.00078295616195832682,
        0.82860887632471809,
        0.49999998670192399,
        0.022750137347275589,
        0.84134474606854335,
    ],
]


def test_incomplete_gamma_functions_of_large_numbers() -> None:
    """In a few steps. Some of eager PyTorch's are wrong beyond 1e10; these are of 40 digits (mpmath)."""
    a = torch.tensor([999999.0, 1e6, 1e6, 1e6, 1e9, 1e9, 1e14, 1e14, 1e14], dtype=torch.float64)
    far = torch.tensor([0.0, 0.0, -3000.0, 5000.0, 1e5, -3e4, 0.0, 2e7, -1e7], dtype=torch.float64)
    function = Function(lambda a, x: (torch.igamma(a, x), torch.igammac(a, x)))
    results = perpend.compile(function, example_inputs=(a, a + far))(a, a + far)
    for result, expected in zip(results, LARGE_GAMMAS, strict=True):
        torch.testing.assert_close(result, torch.tensor(expected, dtype=torch.float64), rtol=1e-9, atol=1e-13)
    ends = torch.tensor([float("inf"), 1e30, 3.6e16, 1e20]), torch.tensor([5.0, 1e29, 3.7e16, 1e20])
    got = perpend.compile(function, example_inputs=ends)(*ends)
    torch.testing.assert_close(got[0], torch.tensor([0.0, 0.0, 1.0, 0.5]))
    torch.testing.assert_close(got[1], torch.tensor([1.0, 1.0, 0.0, 0.5]))


def test_zeta_functions() -> None:
    s = torch.tensor([0.5, 1.0, 1.5, 2.0, 3.0, 11.0], dtype=torch.float64)[:, None]
    q = torch.tensor([-7.3, -2.0, -0.4, 0.0, 0.1, 1.0, 2.5, 90.0], dtype=torch.float64)
    model = perpend.compile(Function(torch.special.zeta), example_inputs=(s, q))
    torch.testing.assert_close(model(s, q), torch.special.zeta(s, q), rtol=1e-9, atol=1e-12, equal_nan=True)
    # Far to the left without as many steps; of (3, -100000.5) all but the terms from 100001.5 on cancel.
    s = torch.tensor([2.0, 3.0, 2.0, 2.5, torch.inf, torch.inf], dtype=torch.float64)
    q = torch.tensor([-100000.5, -100000.5, -1e15, -7.5, 1.0, 0.5], dtype=torch.float64)
    wanted = [9.869594401188758, 4.99990000137498e-11, torch.inf, torch.nan, 1.0, torch.inf]
    result = perpend.compile(Function(torch.special.zeta), example_inputs=(s, q))(s, q)
    torch.testing.assert_close(result, torch.tensor(wanted, dtype=torch.float64), rtol=1e-10, atol=0, equal_nan=True)


CONVOLUTIONS: list[tuple[Any, ...]] = [
    ((2, 4, 9, 8), (6, 4, 3, 2), [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    ((2, 4, 9, 8), (6, 2, 3, 3), [2, 3], [1, 2], [2, 1], False, [0, 0], 2),
    ((2, 4, 9), (4, 1, 4), [3], [0], [1], False, [0], 4),
    ((2, 4, 5, 6), (4, 3, 3, 2), [2, 1], [1, 0], [1, 2], True, [1, 0], 2),
    ((1, 2, 4, 5, 6), (3, 2, 2, 2, 2), [1], [1], [1], False, [0], 1),
]


@pytest.mark.parametrize("number", range(len(CONVOLUTIONS)))
def test_gradients_of_convolutions(number: int) -> None:
    shape, filters, *arguments = CONVOLUTIONS[number]
    x, weight = torch.randn(shape), torch.randn(filters)
    grad = torch.randn_like(aten.convolution(x, weight, None, *arguments))
    channels = grad.shape[1]

    def function(grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Any:
        return aten.convolution_backward(grad, x, weight, [channels], *arguments, [True, True, True])

    check(function, grad, x, weight, is_interpreted=False)


Pool = tuple[Callable[..., Any], Callable[..., Any]]


def averages(ceil: bool, counts: bool, divisor: int | None) -> Pool:
    return (
        lambda a: F.avg_pool2d(a, 3, 2, 1, ceil, counts, divisor),
        lambda g, a: aten.avg_pool2d_backward(g, a, [3], [2], [1], ceil, counts, divisor),
    )


POOLS = [averages(False, True, None), averages(True, False, None), averages(True, True, None), averages(True, True, 5)]
POOLS += [
    (lambda a: F.avg_pool3d(a, 2), lambda g, a: aten.avg_pool3d_backward(g, a, [2], [], [0], False, True, None)),
    (lambda a: F.adaptive_avg_pool2d(a, (4, 3)), aten._adaptive_avg_pool2d_backward),
    (lambda a: F.adaptive_avg_pool3d(a, (3, 4, 3)), aten._adaptive_avg_pool3d_backward),
    (
        lambda a: F.max_pool2d(a, 3, 2),
        lambda g, a: aten.max_pool2d_with_indices_backward(
            g, a, [3, 3], [2, 2], [0, 0], [1, 1], False, aten.max_pool2d_with_indices(a, [3, 3], [2, 2])[1]
        ),
    ),
    (
        lambda a: F.adaptive_max_pool2d(a, (4, 3)),
        lambda g, a: aten.adaptive_max_pool2d_backward(g, a, aten.adaptive_max_pool2d(a, [4, 3])[1]),
    ),
]


@pytest.mark.parametrize("number", range(len(POOLS)))
def test_gradients_of_pools(number: int) -> None:
    forward, backward = POOLS[number]
    check(backward, torch.randn_like(forward(IMAGE)), IMAGE, is_interpreted=False)


@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 5), (5, 2), (1, 1)])
def test_factors_in_triangles(shape: tuple[int, ...]) -> None:
    def function(x: torch.Tensor) -> Any:
        factors, pivots, info = torch.linalg.lu_factor_ex(x)
        return factors, pivots, info, torch.linalg.lu(x), torch.lu_unpack(factors, pivots)

    check(function, torch.randn(shape), is_interpreted=False)
    check(function, torch.zeros(shape), is_interpreted=False)


def test_systems_of_factors() -> None:
    factors, pivots = torch.linalg.lu_factor(MATRICES)

    def function(factors: torch.Tensor, pivots: torch.Tensor, right: torch.Tensor) -> Any:
        solve = torch.linalg.lu_solve
        return (
            solve(factors, pivots, right),
            solve(factors, pivots, right, adjoint=True),
            torch.lu_solve(right, factors, pivots),
        )

    check(function, factors, pivots, torch.randn(2, 4, 3), is_interpreted=False)
    check(lambda f, p, b: torch.linalg.lu_solve(f, p, b, left=False), factors, pivots, torch.randn(2, 3, 4))


def test_copies() -> None:
    def function(x: torch.Tensor) -> Any:
        return (
            *(
                torch.as_strided_copy(x, (2, 3), (5, 2), 1),
                torch.narrow_copy(x, 1, 1, 2),
                torch.narrow_copy(x, 2, -3, 2),
            ),
            *(torch.unbind_copy(x, 1), torch.permute_copy(x, (2, 0, 1)), torch.view_copy(x, (12, 5))),
            *(
                torch.unfold_copy(x, 1, 2, 1),
                torch.split_copy(x, 2, 1),
                torch.slice_copy(x, 1, 1, 3),
                torch.t_copy(x[0]),
            ),
            torch.as_strided_scatter(x, x[0, :2, :3] * 0, (2, 3), (20, 2), 3),
        )

    check(function, X)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_bits_of_numbers(dtype: torch.dtype) -> None:
    tiny = torch.finfo(dtype).tiny
    x = torch.tensor([0.0, -0.0, 1.0, -3.7, 0.5, 1e30, tiny, -tiny / 8, float("inf"), float("nan"), 1e-20], dtype=dtype)

    def function(x: torch.Tensor) -> Any:
        others = (torch.zeros_like(x), torch.ones_like(x) * 2, -x, x)
        return torch.frexp(x), [torch.nextafter(x, other) for other in others]

    model = perpend.compile(Function(function), example_inputs=(x,))
    results, expected = tensors(model(x)), tensors(function(x))
    for result, reference in zip(results, expected, strict=True):
        torch.testing.assert_close(result, reference, rtol=0, atol=0, equal_nan=True)


HASHED = [torch.float64, torch.float32, torch.bfloat16, torch.int64, torch.int8, torch.uint8, torch.bool]


@pytest.mark.parametrize("dtype", HASHED)
def test_hashes_of_bits(dtype: torch.dtype) -> None:
    def function(x: torch.Tensor) -> Any:
        hashes = torch.hash_tensor(x), torch.hash_tensor(x, (0, -1)), torch.hash_tensor(x, 1, keepdim=True)
        return [each.view(torch.int64) for each in (*hashes, torch.hash_tensor(x[0, 0, 0]))]

    x = (X * 30).to(dtype)
    model = perpend.compile(Function(function), example_inputs=(x,))
    for result, reference in zip(tensors(model(x)), tensors(function(x)), strict=True):
        assert torch.equal(result, reference)


WHOLE = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]


@pytest.mark.parametrize("dtype", WHOLE)
def test_operators_on_integers_keep_their_type(dtype: torch.dtype) -> None:
    x, table = torch.arange(8).to(dtype), torch.arange(128).reshape(2, 8, 8).to(dtype)
    check(torch.nn.functional.bilinear, x, x, table)
    padded = [aten.constant_pad_nd(x, [1, 2], value) for value in (2.7, 3)]
    check(lambda x: [aten.constant_pad_nd(x, [1, 2], value) for value in (2.7, 3)], x)
    assert padded[0][0] == 2
    check(lambda x: x + torch.logspace(0.5, 1.7, 8, dtype=dtype), x)
    check(lambda x: x + torch.logspace(torch.tensor(0.5), torch.tensor(1.7), 8, base=2.0, dtype=dtype), x)


def test_numbers_beyond_those_of_a_type_wrap() -> None:
    check(lambda x: aten.constant_pad_nd(x, [1, 2], -1), torch.zeros(3, dtype=torch.uint8))
    check(lambda x: aten.constant_pad_nd(x, [1, 2], 2**60 + 1), torch.zeros(3, dtype=torch.int64))


@pytest.mark.parametrize("divisor", [2, 5, -2])
def test_sums_of_windows_over_a_divisor(divisor: int) -> None:
    """Of integers the quotient is rounded towards zero, not the divisor."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return F.avg_pool2d(x, 3, 1, 1, ceil_mode=True, count_include_pad=False, divisor_override=divisor)

    x = torch.arange(-9, 9).reshape(1, 2, 3, 3)
    for dtype in (torch.int64, torch.float32):
        check(function, x.to(dtype) * 7)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_products_with_scales(dtype: torch.dtype) -> None:
    """Of a whole matrix, or of rows of the one and columns of the other."""
    kinds = F.ScalingType

    def function(x: torch.Tensor, y: torch.Tensor, *scales: torch.Tensor) -> Any:
        one, other, rows, columns, bias = scales
        of_rows = F.scaled_mm(x, y, rows, kinds.RowWise, columns, kinds.RowWise, output_dtype=torch.float32)
        return (
            torch._scaled_mm(x, y, one, other, bias=bias, out_dtype=torch.bfloat16),
            torch._scaled_mm(x, y, rows, columns, out_dtype=torch.float32),
            of_rows,
            F.scaled_mm(x, y, one, kinds.TensorWise, other, kinds.TensorWise, output_dtype=torch.float32),
        )

    x, y = torch.randn(16, 32).to(dtype), torch.randn(48, 32).to(dtype).t()
    scales = torch.tensor(2.0), torch.tensor(0.5), torch.rand(16, 1), torch.rand(1, 48), torch.randn(48).bfloat16()
    check(function, x, y, *scales)


def test_other_sizes() -> None:
    check(lambda x: (x.clone().resize_(2, 3), aten.resize(x, [3, 5]), aten.resize(x, [5, 5])[:4]), X[0])


def test_normalisations_that_update_statistics() -> None:
    statistics = [torch.randn(4), torch.randn(4), torch.randn(4), torch.rand(4)]
    check(lambda x, *others: aten._batch_norm_with_update_functional(x, *others, 0.1, 1e-5), IMAGE, *statistics)


def test_a_fixed_number_of_nonzero_elements() -> None:
    def function(x: torch.Tensor) -> Any:
        return torch.nonzero_static(x > 0, size=3), torch.nonzero_static(x > 5, size=4, fill_value=7)

    check(function, X[0], more=((X[1],), (-X[1].abs(),)))


def test_random_numbers_have_their_ranges() -> None:
    def function(x: torch.Tensor) -> Any:
        return F.rrelu(x, 0.2, 0.4, training=True), torch.bernoulli(x, 0.25), torch.normal(3.0, 0.5, (4000,))

    x = torch.linspace(-2, 2, 4001)
    slopes, drawn, normal = perpend.compile(Function(function), example_inputs=(x,))(x)
    ratio = (slopes / x)[x < 0]
    assert 0.2 <= ratio.min() < 0.21 < 0.39 < ratio.max() <= 0.4
    torch.testing.assert_close(slopes[x > 0], x[x > 0])
    assert set(drawn.tolist()) == {0.0, 1.0}
    assert abs(drawn.mean() - 0.25) < 0.05
    assert abs(normal.mean() - 3) < 0.05 and abs(normal.std() - 0.5) < 0.05
