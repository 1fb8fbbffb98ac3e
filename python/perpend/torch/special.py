"""Special functions in terms of elementary ones, computed in f64: Bessel's, trigamma."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

aten: Any = torch.ops.aten

NEAR = 20.0  # Bessel: power series up to here, asymptotic series beyond
TERMS = 45
BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6]


def real_type(dtype: torch.dtype) -> torch.dtype:
    """The type in which PyTorch computes a real function: the default type for integers."""
    return dtype if dtype.is_floating_point else torch.get_default_dtype()


def widened(x: Tensor) -> Tensor:
    """In f64. Integers are rounded to numbers of the default type first, as in PyTorch."""
    return x.to(real_type(x.dtype)).double()


def polynomial(x: Tensor, coefficients: list[float]) -> Tensor:
    """coefficients[0] + coefficients[1] x + ..."""
    result = torch.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + coefficient
    return result


def scaled_bessel(x: Tensor, order: int) -> Tensor:
    """e^-x I_n(x) for x >= 0, n 0 or 1: (x/2)^n sum (x^2/4)^k / (k! (k + n)!), or
    1 / sqrt(2 pi x) sum of the products of ((2j - 1)^2 - 4 n^2) / (8 j x) for j up to k.
    """
    near, far = x.clamp(max=NEAR), x.clamp(min=NEAR)
    powers = [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(TERMS)]
    series = polynomial(near * near / 4, powers) * (near / 2) ** order * (-near).exp()
    tail = [1.0]
    for j in range(1, 20):
        tail.append(tail[-1] * ((2 * j - 1) ** 2 - 4 * order**2) / (8 * j))
    return torch.where(x < NEAR, series, polynomial(1 / far, tail) / far.sqrt() / math.sqrt(2 * math.pi))


def bessel(order: int, is_scaled: bool) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor) -> Tensor:
        size = widened(x).abs()
        result = scaled_bessel(size, order)
        result = result if is_scaled else result * size.exp()
        result = torch.where(size == math.inf, 0.0 if is_scaled else math.inf, result)
        result = torch.where(x < 0, -result, result) if order else result
        return result.to(real_type(x.dtype))

    return function


def trigamma(x: Tensor) -> Tensor:
    """The sum of 1 / (x + k)^2, whose tail follows the Euler-Maclaurin formula; by reflection for x < 1/2."""
    wide = widened(x)
    right = torch.where(wide < 0.5, 1 - wide, wide)
    total = torch.zeros_like(wide)
    for k in range(10):
        total = total + 1 / (right + k) ** 2
    inverse = 1 / (right + 10)
    total = total + inverse + inverse**2 / 2 + polynomial(inverse**2, BERNOULLI) * inverse**3
    sine = torch.sin(math.pi * (wide - wide.round()))
    result = torch.where(wide < 0.5, (math.pi / sine) ** 2 - total, total)
    return result.to(real_type(x.dtype))


def hurwitz_zeta(s: int, x: Tensor) -> Tensor:
    """The sum of 1 / (x + k)^s, x > 0, whose tail follows the Euler-Maclaurin formula."""
    total, far = torch.zeros_like(x), x + 12
    for k in range(12):
        total = total + (x + k) ** -s
    total = total + far ** (1 - s) / (s - 1) + far**-s / 2
    factor = 1.0
    for j, number in enumerate(BERNOULLI, 1):
        factor *= (s + 2 * j - 3) * (s + 2 * j - 2) if j > 1 else s
        total = total + number * factor / math.factorial(2 * j) * far ** (1 - s - 2 * j)
    return total


def cotangent_derivative(n: int, cotangent: Tensor) -> Tensor:
    """The n-th derivative of cot(pi x), a polynomial of cot(pi x): that of p(c) is -pi (1 + c^2) p'(c)."""
    coefficients = [0.0, 1.0]
    for _ in range(n):
        slope = [k * value for k, value in enumerate(coefficients)][1:]
        shifted = [0.0, 0.0, *slope]
        coefficients = [-math.pi * (a + b) for a, b in zip([*slope, 0.0, 0.0], shifted, strict=True)]
    return polynomial(cotangent, coefficients)


def polygamma(n: int, x: Tensor) -> Tensor:
    """The n-th derivative of digamma; by reflection for x < 0."""
    if n < 2:
        return trigamma(x) if n else torch.digamma(x)
    wide = widened(x)
    sign, right = (-1) ** (n + 1), torch.where(wide < 0, 1 - wide, wide)
    result = sign * math.factorial(n) * hurwitz_zeta(n + 1, right)
    part = math.pi * (wide - wide.round())
    reflected = -sign * result - math.pi * cotangent_derivative(n, part.cos() / part.sin())
    result = torch.where(wide < 0, reflected, result)
    result = torch.where((wide <= 0) & (wide == wide.round()), sign * math.inf, result)
    return result.to(real_type(x.dtype))


def soft_shrink(x: Tensor, lambd: float = 0.5) -> Tensor:
    """Moves x by lambd towards 0, which it does not cross. Floats of 16 bits are rounded once."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    moved = torch.where(wide > lambd, wide - lambd, torch.where(wide < -lambd, wide + lambd, wide * 0))
    return moved.to(x.dtype)


SPECIAL: dict[Any, Callable[..., Any]] = {
    aten.softshrink.default: soft_shrink,
    aten.i0.default: bessel(0, is_scaled=False),
    aten.special_i0e.default: bessel(0, is_scaled=True),
    aten.special_i1.default: bessel(1, is_scaled=False),
    aten.special_i1e.default: bessel(1, is_scaled=True),
    aten.polygamma.default: polygamma,
}
