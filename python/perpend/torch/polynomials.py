"""Orthogonal polynomials whose degrees are data: recurrences as a loop of the graph, computed in f64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .._perpend import Value
from .call import Call
from .factorisations import Term, choose, loop
from .movement import result_shape

Step = Callable[[Term, Term, Term, Term], Term]


def polynomial(first: Callable[[Term], Term], step: Step, is_shifted: bool = False) -> Callable[[Call], Any]:
    """p[0] = 1, p[1] = first(x), p[k + 1] = step(k, x, p[k], p[k - 1]); 0 for a negative degree.

    is_shifted: evaluates at 2 x - 1.
    """

    def convert(call: Call) -> Value:
        shape = result_shape(call)
        x = Term(call, call.op("expand", call.tensor("x", torch.float64), shape=shape))
        degree = Term(call, call.op("expand", call.tensor("n", torch.int64), shape=shape))
        x = x * 2.0 - 1.0 if is_shifted else x
        one = choose(x.is_(x), 1.0, x)
        result = choose(degree.is_(0), 1.0, choose(degree.is_(1), first(x), 0.0))

        def iterate(number: Term, before: Term, current: Term, result: Term) -> list[Term]:
            k = Term(call, call.cast(number.value, torch.float64)) + 1.0
            following = step(k, x, current, before)
            return [current, following, choose(degree.is_(number + 2), following, result)]

        least = call.reshape(call.number(1, torch.int64), [1])
        all_degrees = call.op("concat", call.reshape(degree.value, [-1]), least, axis=0)
        count = Term(call, call.op("reduce_max", all_degrees, axes=[0], keepdims=0)) - 1
        value = loop(call, count, [one, first(x), result], iterate)[2]
        return call.cast(value.value, call.dtype)

    return convert


def of_chebyshev(k: Term, x: Term, current: Term, before: Term) -> Term:
    return x * current * 2.0 - before


def of_hermite(k: Term, x: Term, current: Term, before: Term) -> Term:
    return (x * current - k * before) * 2.0


def of_hermite_of_probability(k: Term, x: Term, current: Term, before: Term) -> Term:
    return x * current - k * before


def of_laguerre(k: Term, x: Term, current: Term, before: Term) -> Term:
    return ((k * 2.0 + 1.0 - x) * current - k * before) / (k + 1.0)


def of_legendre(k: Term, x: Term, current: Term, before: Term) -> Term:
    return ((k * 2.0 + 1.0) * x * current - k * before) / (k + 1.0)


CHEBYSHEV: dict[str, Callable[[Term], Term]] = {
    "t": lambda x: x,
    "u": lambda x: x * 2.0,
    "v": lambda x: x * 2.0 - 1.0,
    "w": lambda x: x * 2.0 + 1.0,
}

POLYNOMIALS: dict[str, Callable[[Call], Any]] = {
    **{
        f"aten.special_{prefix}chebyshev_polynomial_{kind}": polynomial(first, of_chebyshev, bool(prefix))
        for kind, first in CHEBYSHEV.items()
        for prefix in ("", "shifted_")
    },
    "aten.special_hermite_polynomial_h": polynomial(lambda x: x * 2.0, of_hermite),
    "aten.special_hermite_polynomial_he": polynomial(lambda x: x, of_hermite_of_probability),
    "aten.special_laguerre_polynomial_l": polynomial(lambda x: x * -1.0 + 1.0, of_laguerre),
    "aten.special_legendre_polynomial_p": polynomial(lambda x: x, of_legendre),
}
