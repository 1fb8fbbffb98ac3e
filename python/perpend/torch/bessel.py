"""Bessel functions of orders 0 and 1 in terms of elementary ones, computed in f64, and Airy's.

Near 0 power series, of which those that cancel are summed as Chebyshev polynomials; the first and second kind far from
it by their asymptotic series; K from its integral, in which the trapezoidal rule converges exponentially.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from .special import bessel, polynomial, real_type, widened

aten: Any = torch.ops.aten

FAR = 20  # the terms of the asymptotic series are exact to 1e-17 from here on
LEAST = 2.0**-1074
AIRY_FAR = 10
TERMS = 50
EXACT_BITS = 256
GAMMA = 0.57721566490153286


@cache
def coefficients(order: int, sign: int, has_sums: bool = False) -> list[Fraction]:
    """Of (x^2/4)^k: sign^k / (k! (k + order)!); has_sums: times the sums of 1/j for j up to k and k + order."""
    sums = [Fraction(0), *accumulate(Fraction(1, j) for j in range(1, TERMS + order))]
    factors = [sums[k] + sums[k + order] if has_sums else Fraction(1) for k in range(TERMS)]
    return [sign**k * factor / (math.factorial(k) * math.factorial(k + order)) for k, factor in enumerate(factors)]


def chebyshev(powers: Sequence[Fraction], end: int) -> list[float]:
    """Of the sum of powers[k] z^k the coefficients of the Chebyshev polynomials T_j(2 z / end - 1). Those of the power
    are (end/4)^k binomial(2k, k - j), twice for j > 0.
    """
    scaled = [int(power * Fraction(end, 4) ** k * 2**EXACT_BITS) for k, power in enumerate(powers)]
    result = []
    for j in range(len(powers)):
        whole = sum(scaled[k] * math.comb(2 * k, k - j) for k in range(j, len(powers)))
        result.append(whole / 2**EXACT_BITS * (2 if j else 1))
    count = max(j for j, each in enumerate(result) if abs(each) > 2.0**-60)
    return result[: count + 1]


def oscillating(part: Tensor, powers: Sequence[Fraction], end: int) -> Tensor:
    """The sum of powers[k] z^k at z = part * end, for 0 <= part <= 1: Clenshaw's recurrence in Reinsch's form, which
    loses no digits near 0.
    """
    terms = chebyshev(powers, end)
    value = difference = torch.full_like(part, terms[-1])
    for term in reversed(terms[1:-1]):
        difference = 4 * part * value - difference + term
        value = difference - value
    return 2 * part * value - difference + terms[0]


def near(x: Tensor, order: int, sign: int, has_sums: bool = False) -> Tensor:
    powers = coefficients(order, sign, has_sums)
    if sign > 0:
        series = polynomial(x * x / 4, [float(power) for power in powers])
    else:
        series = oscillating((x / FAR) ** 2, powers, FAR**2 // 4)
    return series * (x / 2) ** order


def far(x: Tensor, order: float) -> tuple[Tensor, Tensor]:
    """J and Y by Hankel's expansion: sqrt(2 / (pi x)) times P cos(x - phase) - Q sin(x - phase), and P sin + Q cos. The
    phase is no part of the argument, whose rounding would lose digits of large x.
    """
    terms = [1.0]
    for k in range(1, 24):
        terms.append(terms[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    even = polynomial(1 / x, [term * (-1) ** (k // 2) if k % 2 == 0 else 0.0 for k, term in enumerate(terms)])
    odd = polynomial(1 / x, [term * (-1) ** (k // 2) if k % 2 == 1 else 0.0 for k, term in enumerate(terms)])
    phase = (2 * order + 1) * math.pi / 4
    cosine = x.cos() * math.cos(phase) + x.sin() * math.sin(phase)
    sine = x.sin() * math.cos(phase) - x.cos() * math.sin(phase)
    size = (2 / math.pi / x).sqrt()
    return (even * cosine - odd * sine) * size, (even * sine + odd * cosine) * size


def first_kind(order: int) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor) -> Tensor:
        size = widened(x).abs()
        inner, outer = size.clamp(max=FAR), size.clamp(min=FAR)
        result = torch.where(size < FAR, near(inner, order, -1), far(outer, order)[0])
        result = torch.where(size == math.inf, 0.0, result)
        result = torch.where(widened(x).signbit(), -result, result) if order else result
        return result.to(real_type(x.dtype))

    return function


def second_kind(order: int) -> Callable[[Tensor], Tensor]:
    """-infinity at 0, NaN below."""

    def function(x: Tensor) -> Tensor:
        wide = widened(x)
        inner, outer = wide.clamp(min=LEAST, max=FAR), wide.clamp(min=FAR)
        logarithm = inner.log() - (math.log(2) - GAMMA)
        series = 2 * logarithm * near(inner, order, -1) - near(inner, order, -1, has_sums=True)
        series = series / math.pi - (2 / math.pi / inner if order else 0)
        result = torch.where(wide < FAR, series, far(outer, order)[1])
        result = torch.where(wide == math.inf, 0.0, torch.where(wide == 0, -math.inf, result))
        return torch.where(wide < 0, math.nan, result).to(real_type(x.dtype))

    return function


def third_kind(order: int, is_scaled: bool) -> Callable[[Tensor], Tensor]:
    """K, or e^x K: e^x K(x) is the integral of e^(-x (cosh t - 1)) cosh(order t) from 0 on."""

    def function(x: Tensor) -> Tensor:
        wide = widened(x)
        inner, outer = wide.clamp(min=LEAST, max=1), wide.clamp(min=1)
        sign, logarithm = -1 if order == 0 else 1, inner.log() - (math.log(2) - GAMMA)
        series = sign * (logarithm * near(inner, order, 1) - near(inner, order, 1, has_sums=True) / 2)
        series = series + 1 / inner if order else series
        place, width = torch.arange(90, dtype=torch.float64), (2 / outer).sqrt()[..., None]
        weights, time = 0.08 * torch.where(place > 0, 1.0, 0.5).double() * width, 0.08 * place * width
        rise = (time / 2).sinh() ** 2 * 2  # cosh(time) - 1
        integral = ((-outer[..., None] * rise).exp() * (order * time).cosh() * weights).sum(-1)
        scale, inverse = (1.0, (-outer).exp()) if not is_scaled else (inner.exp(), torch.ones_like(outer))
        result = torch.where(wide < 1, series * scale, integral * inverse)
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


@cache
def airy_series() -> tuple[list[Fraction], list[Fraction]]:
    """The power series of Ai in x^3 without their first coefficients, and the one beside it in x times x^3."""
    first, second = [Fraction(1)], [Fraction(1)]
    for k in range(1, TERMS):
        first.append(first[-1] / (3 * k * (3 * k - 1)))
        second.append(second[-1] / (3 * k * (3 * k + 1)))
    return first, second


def airy_near(x: Tensor) -> Tensor:
    """For -AIRY_FAR <= x <= 2."""
    cubes, part = x.clamp(min=0) ** 3, (-x.clamp(max=0) / AIRY_FAR) ** 3
    sums = []
    for powers in airy_series():
        left = oscillating(part, [(-1) ** k * power for k, power in enumerate(powers)], AIRY_FAR**3)
        sums.append(torch.where(x < 0, left, polynomial(cubes, [float(power) for power in powers])))
    return 0.35502805388781724 * sums[0] - 0.25881940379280680 * x * sums[1]


def airy(x: Tensor) -> Tensor:
    """Ai: its power series near 0; above, K of order 1/3 as an integral; below, J of 1/3 and -1/3."""
    wide = widened(x)
    inner, above, below = wide.clamp(-AIRY_FAR, 2), wide.clamp(2, 300), wide.clamp(max=-AIRY_FAR).neg()
    decay = (2 / 3 * above**1.5)[..., None]
    place = torch.arange(90, dtype=torch.float64)
    time = 0.08 * place * (2 / decay).sqrt()
    weights = 0.08 * torch.where(place > 0, 1.0, 0.5).double() * (2 / decay).sqrt()
    integral = ((-decay * (time / 2).sinh() ** 2 * 2).exp() * (time / 3).cosh() * weights).sum(-1)
    falling = (above / 3).sqrt() / math.pi * integral * (-decay[..., 0]).exp()
    angle = 2 / 3 * below**1.5
    wave = below.sqrt() / 3 * (far(angle, 1 / 3)[0] + far(angle, -1 / 3)[0])
    result = torch.where(wide <= 2, airy_near(inner), torch.where(wide > 150, 0.0, falling))
    result = torch.where(wide < -AIRY_FAR, wave, result)
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
