"""What operators become, where another form takes many times as long: kernels and functions are counted, since tests
measure no times. Values are those of eager PyTorch, or of more digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import perpend
import pytest
import torch
from python.torch_functions import Function, check
from torch.nn import functional


def text_of(function: Callable[..., Any], *inputs: torch.Tensor, phase: str = "import") -> str:
    module = perpend.import_model(Function(function), example_inputs=inputs)
    if phase != "import":
        module.lower(phase)
    return str(module)


def calls_of(text: str, *functions: str) -> int:
    return sum(text.count(f" math.{name} ") for name in functions)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_inverse_error_function_is_a_polynomial(dtype: torch.dtype) -> None:
    """Of one logarithm, which has no iterations with functions in them."""
    y = torch.cat([torch.linspace(-0.999, 0.999, 301), 1 - 2.0 ** -torch.arange(2.0, 24)]).to(dtype)
    if dtype == torch.float64:
        y = torch.cat([y, 1 - 2.0 ** -torch.arange(24, 54, dtype=dtype)])
    text = text_of(torch.erfinv, y)
    assert calls_of(text, "log", "sqrt") == 2 and calls_of(text, "exp", "erf") == 0
    module = perpend.import_model(Function(torch.erfinv), example_inputs=(y,))
    with mpmath.workdps(40):
        exact = torch.tensor([float(mpmath.erfinv(each)) for each in y.tolist()], dtype=torch.float64)
    for result in (perpend.compile(module)(y), module.evaluate(y)[0]):
        torch.testing.assert_close(result.double(), exact, rtol=4 * torch.finfo(dtype).eps, atol=0)


def test_complementary_error_function_has_one_exponential() -> None:
    ends = torch.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 0.5, -0.5, 30, -30])
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        x = torch.cat([torch.linspace(-10, 10, 401), ends]).to(dtype)
        text = text_of(torch.erfc, x)
        assert calls_of(text, "exp") == 1 and calls_of(text, "erf", "log") == 0
        result = perpend.compile(Function(torch.erfc), example_inputs=(x,))(x)
        exact = torch.erfc(x.double())
        bound = 6 * torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32).eps
        bound = max(bound, torch.finfo(dtype).eps / 2)
        least = torch.finfo(dtype).tiny
        torch.testing.assert_close(result.double(), exact, rtol=bound, atol=least, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_logarithm_of_gamma_has_two_logarithms(dtype: torch.dtype) -> None:
    near = torch.tensor([1 + 1e-6, 1 - 1e-6, 2 + 1e-6, 2 - 1e-6, 0.5, 1.5, 2.5, 10], dtype=torch.float64)
    x = torch.cat([near, torch.linspace(-9.7, 12, 300, dtype=torch.float64)]).to(dtype)
    assert calls_of(text_of(torch.lgamma, x), "log", "log1p", "sin") == 2
    result = perpend.compile(Function(torch.lgamma), example_inputs=(x,))(x)
    with mpmath.workdps(40):
        exact = torch.tensor([float(mpmath.log(abs(mpmath.gamma(each)))) for each in x.tolist()], dtype=torch.float64)
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(
        result.double(), exact, rtol=10 * eps, atol=30 * torch.finfo(torch.float64).eps + eps / 8
    )


def test_groups_are_normalised_in_one_kernel() -> None:
    def function(x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
        return functional.group_norm(x, 4, scale, shift)

    inputs = (torch.randn(2, 8, 5, 3), torch.randn(8), torch.randn(8))
    assert text_of(function, *inputs, phase="fuse").count("graph.call_kernel") == 1
    check(function, *inputs)
    check(lambda x: functional.group_norm(x, 8), inputs[0])


def test_windows_are_one_operator() -> None:
    assert "graph.concat" not in text_of(lambda x: x.unfold(1, 40, 16), torch.randn(2, 200))
    x = torch.randn(3, 7, 2)
    check(lambda x: (x.unfold(1, 3, 2), x.unfold(-2, 7, 1), x.unfold(0, 1, 1), x.unfold(1, 0, 2)), x)
    check(lambda x: x.unfold(0, 1, 1), torch.tensor(2.5))
    check(lambda x: x.unfold(0, 2, 3), torch.arange(11))


def test_windows_of_free_extents() -> None:
    others = [[torch.randn(shape)] for shape in [(1, 3), (3, 10), (5, 13), (0, 4)]]
    check(lambda x: x.unfold(1, 3, 2), torch.randn(2, 9), dynamic=[(0, 1)], more=others)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_positions_of_extrema_are_found_in_f32(dtype: torch.dtype) -> None:
    x = torch.randn(6, 50).to(dtype)
    x[0, 7] = x[1, 3] = x[1, 9] = math.nan
    x[2, 5:9] = 10
    comparisons = [line for line in text_of(lambda x: x.argmax(-1), x).splitlines() if "arith.cmpf" in line]
    assert comparisons and all(line.endswith(": f32") for line in comparisons)
    check(lambda x: (x.argmax(-1), x.argmin(0), x.max(1).indices, x.min(-1).indices, x.argmax()), x)


@pytest.mark.parametrize("shape", [(20, 20), (3, 40, 17), (2, 17, 40), (130, 130), (0, 3, 3), (2, 0, 3)])
def test_factors_in_triangles_are_a_function_of_the_library(shape: tuple[int, ...]) -> None:
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(shape, dtype=dtype)
        assert "graph.loop" not in text_of(torch.linalg.lu_factor_ex, x)
        factors, exchanges, info = perpend.compile(Function(torch.linalg.lu_factor_ex), example_inputs=(x,))(x)
        expected = torch.linalg.lu_factor_ex(x)
        assert torch.equal(exchanges, expected.pivots) and torch.equal(info, expected.info)
        torch.testing.assert_close(factors, expected.LU, rtol=1e-3, atol=1e-3)
