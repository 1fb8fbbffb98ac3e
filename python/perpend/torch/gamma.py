"""The incomplete gamma functions, whose sums have lengths that depend on data, and Hurwitz's zeta function, in f64."""

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


def zeta_of_positive(s: Term, q: Term) -> Term:
    """The sum of (q + k)^-s for q > 0; from q + 12 on by the Euler-Maclaurin formula."""
    inverse = s.op("neg")
    total = q.op("pow", inverse)
    for k in range(1, 12):
        total = total + (q + float(k)).op("pow", inverse)
    far, rising = q + 12.0, s
    power = far.op("pow", inverse)
    is_done = power.is_(0.0).op("logical_and", total.op("greater", 0.0))  # rising factors may be infinite
    rest = far * power / (s - 1.0) + power / 2.0
    power = power / far
    for j, number in enumerate(BERNOULLI, 1):
        rest = rest + rising * power * (number / math.factorial(2 * j))
        rising, power = rising * (s + (2.0 * j - 1)) * (s + 2.0 * j), power / (far * far)
    return choose(is_done, total, total + rest)


def zeta(call: Call) -> Value:
    """For q < 0, the terms up to 0 are those of a positive number f < 1 up to -q, with signs if s is odd."""
    s, q = operands(call, "self", "other")
    is_left, size = q < 0.0, q.op("neg")
    fraction = choose(is_left, size - size.op("floor"), 0.5)
    total = zeta_of_positive(s, choose(is_left, fraction * -1.0 + 1.0, q))
    near, beyond = (zeta_of_positive(s, x) for x in (fraction, choose(is_left, size, 0.0) + 1.0))
    is_even, is_whole = (s / 2.0).is_((s / 2.0).op("floor")), s.is_(s.op("floor"))
    beyond = choose(beyond.is_(beyond), beyond, 0.0)  # of an infinite s
    left = choose(is_even, total + near - beyond, total - near + beyond)
    is_pole = (q <= 0.0).op("logical_and", q.is_(q.op("floor")))
    total = choose(is_left, choose(is_whole, left, math.nan), total)
    total = choose(s.is_(1.0).op("logical_or", is_pole), math.inf, total)
    return call.cast(choose(s < 1.0, math.nan, total).value, call.dtype)


def horner(x: Term, coefficients: list[float]) -> Term:
    """coefficients[0] + coefficients[1] x + ..."""
    result = x * 0.0 + coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + coefficient
    return result


def zeta_less_one(k: int) -> float:
    """The sum of n^-k from n = 2 on; from 200 on by the Euler-Maclaurin formula."""
    far = 200.0
    rest = [far ** (1 - k) / (k - 1), far**-k / 2, k * far ** (-k - 1) / 12]
    rest.append(-k * (k + 1) * (k + 2) * far ** (-k - 3) / 720)
    return math.fsum([*(float(n) ** -k for n in range(2, 200)), *rest])


EULER = 0.57721566490153286
LOG_GAMMA = [0.0, 1 - EULER, *((-1) ** k * zeta_less_one(k) / k for k in range(2, 30))]
STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400]


def log_gamma_from_one(a: Term) -> Term:
    """log(gamma(1 + a)) for 0 < a < 1.5, in all digits near 0."""
    return choose(a < 0.5, horner(a, LOG_GAMMA) - a.op("log1p"), (a + 1.0).op("lgamma"))


def gamma_from_one(a: Term) -> Term:
    """gamma(1 + a) for 0 < a < 10: a (a - 1) ... gamma(1 + f) with the fraction f; differences are exact."""
    product, rest = a * 0.0 + 1.0, a
    for _ in range(9):
        is_left = rest < 1.0
        product, rest = choose(is_left, product, product * rest), choose(is_left, rest, rest - 1.0)
    return product * log_gamma_from_one(rest).op("exp")


def excess(x: Term, a: Term) -> Term:
    """m - log(1 + m) for m = (x - a) / a. Near 0, where these cancel, it is m s - 2 (s^3 / 3 + s^5 / 5 + ...) with
    s = m / (2 + m)."""
    m = (x - a) / a
    s = m / (m + 2.0)
    square = s * s
    near = m * s - s * square * horner(square, [2 / (2 * k + 3) for k in range(18)])
    far = m - choose(m < 0.0, (x / a).op("log"), m.op("log1p"))
    return choose(square < 0.112, near, far)


def of_large(a: Term, x: Term, is_upper: bool) -> Term:
    """Temme's expansion. m = (x - a) / a; m - log(1 + m) is half the square of e, which has m's sign. The upper
    function is erfc(e sqrt(a / 2)) / 2 + exp(-a e^2 / 2) / sqrt(2 pi a) (1 / m - 1 / e + c(e) / a)."""
    m, h = (x - a) / a, excess(x, a)
    size = (h * 2.0).op("sqrt")
    e = choose(m < 0.0, size * -1.0, size)
    first = horner(e, [-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515])
    first = choose(size < 0.05, first, m.op("reciprocal") - e.op("reciprocal"))
    first = first + horner(choose(size < 1.0, e, 1.0), [-1 / 540, -1 / 288, 1 / 378]) / a
    rest = (a * h * -1.0).op("exp") / (a * (2 * math.pi)).op("sqrt") * first
    end = e * (a / 2.0).op("sqrt")
    if is_upper:
        return end.op("erfc") / 2.0 + rest
    return (end * -1.0).op("erfc") / 2.0 - rest


def leading_term(a: Term, x: Term) -> Term:
    """x^a e^-x / gamma(a + 1), which is exp(-a (m - log(1 + m))) / sqrt(2 pi a) but for Stirling's series."""
    few, least = choose(a < 10.0, a, 1.0), choose(x < 1e30, x, 1e30)
    half = (least * -0.5).op("exp")
    product = least.op("pow", few) * half * half / gamma_from_one(few)
    many = choose(a < 10.0, 10.0, a)
    inverse = many.op("reciprocal")
    exponent = many * excess(x, many) + inverse * horner(inverse * inverse, STIRLING)
    return choose(a < 10.0, product, (exponent * -1.0).op("exp") / (many * (2 * math.pi)).op("sqrt"))


def upper_near_zero(a: Term, x: Term) -> Term:
    """The upper function for x < 1.1 and a < 1.5: 1 - x^a / gamma(a + 1) (1 + the sum of a (-x)^n / (n! (a + n)))."""
    exponent = a * x.op("log") - log_gamma_from_one(a)
    total = x * 0.0
    for n in range(22, 0, -1):
        total = (total + (a + float(n)).op("reciprocal") * ((-1) ** n / math.factorial(n))) * x
    return (exponent.op("expm1") + exponent.op("exp") * a * total) * -1.0


def sums(call: Call, a: Term, x: Term, far_x: Term) -> tuple[Term, Term]:
    """1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ..., and the continued fraction a / (x + 1 - a + 1 (a - 1) /
    (x + 3 - a + 2 (a - 2) / ...)) of far_x, both from their ends: so no rounding adds up. Both take some sqrt(a)
    terms."""
    count = greatest(call, a.op("sqrt"), 1.0) * 8 + 100
    start, last = far_x + 1.0 - a, counted(call, count)

    def step(number: Term, series: Term, fraction: Term) -> list[Term]:
        n = last - counted(call, number)
        return [series * x / (a + n) + 1.0, start + (n - 1.0) * 2.0 + (a - n) * n / fraction]

    series, fraction = loop(call, count, [x * 0.0 + 1.0, start + last * 2.0], step)
    return series, a / fraction


def incomplete_gamma(is_upper: bool) -> Callable[[Call], Any]:
    """A series for the lower function if x < a + 1, and a continued fraction for the upper one otherwise. One is the
    complement of the other; where the upper one is small beside 1 and x is as well, it has a series of its own."""

    def convert(call: Call) -> Value:
        a, x = operands(call, "self", "other")
        is_plain = (a.op("greater", 0.0)).op("logical_and", x.op("greater", 0.0)).op("logical_and", x < math.inf)
        is_summed = is_plain.op("logical_and", a < LARGE)
        a_used, x_used = choose(is_summed, a, 1.0), choose(is_summed, x, 1.0)
        is_near = (x_used < a_used + 1.0).op("logical_or", x_used < 1.1)
        near_x, far_x = choose(is_near, x_used, a_used), choose(is_near, a_used + 1.5, x_used)
        series, fraction = sums(call, a_used, near_x, far_x)
        lower, upper = (part * leading_term(a_used, x_used) for part in (series, fraction))
        if is_upper:
            limit = choose(x_used < 0.5, x_used.op("log").op("reciprocal") * -0.4, x_used * 1.1)
            is_own = (x_used < 1.1).op("logical_and", a_used < limit)
            own = upper_near_zero(choose(is_own, a_used, 1.0), choose(is_own, x_used, 1.0))
            near, at_zero, at_end = choose(is_own, own, lower * -1.0 + 1.0), 1.0, 0.0
            value = choose(is_near, near, upper)
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
