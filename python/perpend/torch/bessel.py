"""Bessel functions of orders 0 and 1 in terms of elementary ones, computed in f64, and Airy's.

Near 0 power series; those of the first and second kind far from it the asymptotic series, exact to 1e-10; K from its
integral, in which the trapezoidal rule converges exponentially.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .special import bessel, polynomial, real_type, widened

aten: Any = torch.ops.aten

FAR = 13.0
LEAST = 2.0**-1074
AIRY_FAR = -7.0
TERMS = 50
GAMMA = 0.57721566490153286


def harmonic(k: int) -> float:
    return sum(1 / j for j in range(1, k + 1))


def coefficients(order: int, sign: int, has_logarithm: bool = False) -> list[float]:
    """Of (x^2/4)^k: sign^k / (k! (k + order)!); of the series beside a logarithm this times psi(k + 1) +
    psi(k + order + 1)."""
    result = []
    for k in range(TERMS):
        factor = (harmonic(k) + harmonic(k + order) - 2 * GAMMA) if has_logarithm else 1.0
        result.append(sign**k * factor / (math.factorial(k) * math.factorial(k + order)))
    return result


def near(x: Tensor, order: int, sign: int, has_logarithm: bool = False) -> Tensor:
    return polynomial(x * x / 4, coefficients(order, sign, has_logarithm)) * (x / 2) ** order


def far(x: Tensor, order: float, wave: Callable[[Tensor], Tensor], other: Callable[[Tensor], Tensor]) -> Tensor:
    """Hankel's expansion: sqrt(2 / (pi x)) (P wave(angle) + Q other(angle))."""
    terms = [1.0]
    for k in range(1, 24):
        terms.append(terms[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    even = [term * (-1) ** (k // 2) if k % 2 == 0 else 0.0 for k, term in enumerate(terms)]
    odd = [term * (-1) ** (k // 2) if k % 2 == 1 else 0.0 for k, term in enumerate(terms)]
    angle = x - order * math.pi / 2 - math.pi / 4
    series = polynomial(1 / x, even) * wave(angle) + polynomial(1 / x, odd) * other(angle)
    return series * (2 / math.pi / x).sqrt()


def first_kind(order: int) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor) -> Tensor:
        size = widened(x).abs()
        inner, outer = size.clamp(max=FAR), size.clamp(min=FAR)
        beyond = far(outer, order, torch.cos, lambda angle: -torch.sin(angle))
        result = torch.where(size < FAR, near(inner, order, -1), beyond)
        result = torch.where(size == math.inf, 0.0, result)
        result = torch.where(widened(x).signbit(), -result, result) if order else result
        return result.to(real_type(x.dtype))

    return function


def second_kind(order: int) -> Callable[[Tensor], Tensor]:
    """-infinity at 0, NaN below."""

    def function(x: Tensor) -> Tensor:
        wide = widened(x)
        inner, outer = wide.clamp(min=LEAST, max=FAR), wide.clamp(min=FAR)
        series = 2 * (inner.log() - math.log(2)) * near(inner, order, -1) - near(inner, order, -1, has_logarithm=True)
        series = (series - 2 / inner if order else series) / math.pi
        result = torch.where(wide < FAR, series, far(outer, order, torch.sin, torch.cos))
        result = torch.where(wide == math.inf, 0.0, torch.where(wide == 0, -math.inf, result))
        return torch.where(wide < 0, math.nan, result).to(real_type(x.dtype))

    return function


def third_kind(order: int, is_scaled: bool) -> Callable[[Tensor], Tensor]:
    """K, or e^x K: e^x K(x) is the integral of e^(-x (cosh t - 1)) cosh(order t) from 0 on."""

    def function(x: Tensor) -> Tensor:
        wide = widened(x)
        inner, outer = wide.clamp(min=LEAST, max=2), wide.clamp(min=2)
        sign = -1 if order == 0 else 1
        series = sign * (inner.log() - math.log(2)) * near(inner, order, 1) - sign * near(inner, order, 1, True) / 2
        series = series + 1 / inner if order else series
        place, width = torch.arange(90, dtype=torch.float64), (2 / outer).sqrt()[..., None]
        weights, time = 0.08 * torch.where(place > 0, 1.0, 0.5).double() * width, 0.08 * place * width
        rise = (time / 2).sinh() ** 2 * 2  # cosh(time) - 1
        integral = ((-outer[..., None] * rise).exp() * (order * time).cosh() * weights).sum(-1)
        scale, inverse = (1.0, (-outer).exp()) if not is_scaled else (inner.exp(), torch.ones_like(outer))
        result = torch.where(wide < 2, series * scale, integral * inverse)
        result = torch.where(wide == math.inf, 0.0, torch.where(wide == 0, math.inf, result))
        return torch.where(wide < 0, math.nan, result).to(real_type(x.dtype))

    return function


def spherical(x: Tensor) -> Tensor:
    """sin(x) / x"""
    wide = widened(x)
    small = wide.abs() < 0.5
    quotient = wide.sin() / torch.where(small, 1.0, wide)
    squares = wide * wide
    series = polynomial(squares, [(-1) ** k / math.factorial(2 * k + 1) for k in range(8)])
    result = torch.where(small, series, torch.where(wide.abs() == math.inf, 0.0, quotient))
    return result.to(real_type(x.dtype))


def airy(x: Tensor) -> Tensor:
    """Ai: its power series near 0; above, K of order 1/3 as an integral; below, J of 1/3 and -1/3."""
    wide = widened(x)
    inner, above, below = wide.clamp(AIRY_FAR, 2), wide.clamp(2, 300), wide.clamp(max=AIRY_FAR).neg()
    first, second = [0.3550280538878172], [0.2588194037928068]
    for k in range(1, TERMS):
        first.append(first[-1] / (3 * k * (3 * k - 1)))
        second.append(second[-1] / (3 * k * (3 * k + 1)))
    cubes = inner**3
    series = polynomial(cubes, first) - inner * polynomial(cubes, second)
    decay = (2 / 3 * above**1.5)[..., None]
    place = torch.arange(90, dtype=torch.float64)
    time = 0.08 * place * (2 / decay).sqrt()
    weights = 0.08 * torch.where(place > 0, 1.0, 0.5).double() * (2 / decay).sqrt()
    integral = ((-decay * (time / 2).sinh() ** 2 * 2).exp() * (time / 3).cosh() * weights).sum(-1)
    falling = (above / 3).sqrt() / math.pi * integral * (-decay[..., 0]).exp()
    angle = 2 / 3 * below**1.5
    waves = [far(angle, order, torch.cos, lambda angle: -torch.sin(angle)) for order in (1 / 3, -1 / 3)]
    wave = below.sqrt() / 3 * (waves[0] + waves[1])
    result = torch.where(wide < AIRY_FAR, wave, torch.where(wide <= 2, series, torch.where(wide > 150, 0.0, falling)))
    return torch.where(wide.abs() == math.inf, math.nan, torch.where(wide != wide, wide, result)).to(real_type(x.dtype))


BESSEL: dict[Any, Callable[..., Any]] = {
    aten.special_airy_ai.default: airy,
    aten.special_bessel_j0.default: first_kind(0),
    aten.special_bessel_j1.default: first_kind(1),
    aten.special_bessel_y0.default: second_kind(0),
    aten.special_bessel_y1.default: second_kind(1),
    aten.special_modified_bessel_i0.default: bessel(0, is_scaled=False),
    aten.special_modified_bessel_i1.default: bessel(1, is_scaled=False),
    aten.special_modified_bessel_k0.default: third_kind(0, is_scaled=False),
    aten.special_modified_bessel_k1.default: third_kind(1, is_scaled=False),
    aten.special_scaled_modified_bessel_k0.default: third_kind(0, is_scaled=True),
    aten.special_scaled_modified_bessel_k1.default: third_kind(1, is_scaled=True),
    aten.special_spherical_bessel_j0.default: spherical,
}
