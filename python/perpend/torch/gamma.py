"""The incomplete gamma functions and Hurwitz's zeta function: sums whose length depends on data, computed in f64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from .._perpend import Value
from .call import Call
from .factorisations import Term, choose, loop
from .movement import result_shape
from .special import BERNOULLI

WITHIN = 1e5  # limit of a count; beyond it a sum would have too many terms
LARGE = 1e6  # of incomplete gamma functions: an expansion holds from this a on


def operands(call: Call, first: str, second: str) -> tuple[Term, Term]:
    shape = result_shape(call)
    values = [call.op("expand", call.tensor(name, torch.float64), shape=shape) for name in (first, second)]
    return Term(call, values[0]), Term(call, values[1])


def greatest(call: Call, term: Term, least: float) -> Term:
    """The maximum of all elements, limited to [least, WITHIN], as an integer."""
    bounded = choose(term < WITHIN, choose(term < least, least, term), WITHIN)
    bounded = choose(bounded.is_(bounded), bounded, least)
    start = call.reshape(call.number(least, torch.float64), [1])
    values = call.op("concat", call.reshape(bounded.value, [-1]), start, axis=0)
    value = call.op("ceil", call.op("reduce_max", values, axes=[0], keepdims=0))
    return Term(call, call.cast(value, torch.int64))


def counted(call: Call, number: Term) -> Term:
    return Term(call, call.cast(number.value, torch.float64))


def zeta(call: Call) -> Value:
    """The sum of (q + k)^-s; from q + k > 12 on by the Euler-Maclaurin formula."""
    s, q = operands(call, "self", "other")
    count = greatest(call, q.op("neg"), 0.0) + 12

    def add(number: Term, total: Term) -> list[Term]:
        return [total + (q + counted(call, number)).op("pow", s.op("neg"))]

    (total,) = loop(call, count, [s * 0.0], add)
    far, rising = q + counted(call, count), s
    power = far.op("pow", s.op("neg"))
    total = total + far * power / (s - 1.0) + power / 2.0
    power = power / far
    for j, number in enumerate(BERNOULLI, 1):
        total = total + rising * power * (number / math.factorial(2 * j))
        rising, power = rising * (s + (2.0 * j - 1)) * (s + 2.0 * j), power / (far * far)
    is_pole = (q <= 0.0).op("logical_and", q.is_(q.op("floor")))
    total = choose(s.is_(1.0).op("logical_or", is_pole), math.inf, total)
    return call.cast(choose(s < 1.0, math.nan, total).value, call.dtype)


def horner(x: Term, coefficients: list[float]) -> Term:
    """coefficients[0] + coefficients[1] x + ..."""
    result = x * 0.0 + coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + coefficient
    return result


def of_large(a: Term, x: Term, is_upper: bool) -> Term:
    """Temme's expansion. m = (x - a) / a; h = m - log(1 + m) is half the square of e, which has m's sign. The upper
    function is erfc(e sqrt(a / 2)) / 2 + e^(-a h) / sqrt(2 pi a) (1 / m - 1 / e - 1 / (540 a))."""
    m = (x - a) / a
    series = horner(m, [(-1) ** k / (k + 2) for k in range(9)]) * m * m
    h = choose(m.op("abs") < 0.01, series, m - m.op("log1p"))
    size = (h * 2.0).op("sqrt")
    e = choose(m < 0.0, size * -1.0, size)
    first = horner(e, [-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515])
    first = choose(size < 0.05, first, m.op("reciprocal") - e.op("reciprocal"))
    rest = (a * h * -1.0).op("exp") / (a * (2 * math.pi)).op("sqrt") * (first - (a * 540.0).op("reciprocal"))
    end = e * (a / 2.0).op("sqrt")
    if is_upper:
        return end.op("erfc") / 2.0 + rest
    return (end * -1.0).op("erfc") / 2.0 - rest


def incomplete_gamma(is_upper: bool) -> Callable[[Call], Any]:
    """If x < a + 1: x^a e^-x / gamma(a) times the sum of x^n / (a .. (a + n)). Otherwise times a continued fraction,
    which yields the complement. Both take some sqrt(a) steps."""

    def convert(call: Call) -> Value:
        a, x = operands(call, "self", "other")
        is_plain = (a.op("greater", 0.0)).op("logical_and", x.op("greater", 0.0)).op("logical_and", x < math.inf)
        is_summed = is_plain.op("logical_and", a < LARGE)
        a_used, x_used = choose(is_summed, a, 1.0), choose(is_summed, x, 1.0)
        is_near = x_used < a_used + 1.0
        near_x, far_x = choose(is_near, x_used, a_used), choose(is_near, a_used + 1.0, x_used)
        count = greatest(call, a_used.op("sqrt"), 1.0) * 8 + 100

        def step(number: Term, term: Term, total: Term, b: Term, c: Term, d: Term, h: Term) -> list[Term]:
            n = counted(call, number) + 1.0
            term = term * near_x / (a_used + n)
            factor, b = (a_used - n) * n, b + 2.0
            d, c = (factor * d + b).op("reciprocal"), b + factor / c
            return [term, total + term, b, c, d, h * d * c]

        first, b = a_used.op("reciprocal"), far_x + 1.0 - a_used
        terms = [first, first, b, b * 0.0 + 1e300, b.op("reciprocal"), b.op("reciprocal")]
        results = loop(call, count, terms, step)
        scale = (a_used * x_used.op("log") - x_used - a_used.op("lgamma")).op("exp")
        lower, upper = results[1] * scale, results[5] * scale
        if is_upper:
            value, at_zero, at_end = choose(is_near, lower * -1.0 + 1.0, upper), 1.0, 0.0
        else:
            value, at_zero, at_end = choose(is_near, lower, upper * -1.0 + 1.0), 0.0, 1.0
        value = choose(a < LARGE, value, choose(a.is_(math.inf), at_zero, of_large(a, x, is_upper)))
        rest = choose(x.is_(0.0), at_zero, choose((a.is_(0.0)).op("logical_or", x.is_(math.inf)), at_end, math.nan))
        rest = choose(a.is_(a).op("logical_and", x.is_(x)), rest, math.nan)
        rest = choose(a.is_(math.inf), at_zero, rest)
        rest = choose((x < 0.0).op("logical_or", a < 0.0), math.nan, rest)
        rest = choose(a.is_(x).op("logical_and", a.is_(0.0).op("logical_or", a.is_(math.inf))), math.nan, rest)
        return call.cast(choose(is_plain, value, rest).value, call.dtype)

    return convert


GAMMA: dict[str, Callable[[Call], Any]] = {
    "aten.special_zeta": zeta,
    "aten.igamma": incomplete_gamma(is_upper=False),
    "aten.igammac": incomplete_gamma(is_upper=True),
}
