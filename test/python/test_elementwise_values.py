"""Elementwise operators of every type where their formulas go wrong: signed zeros, infinities, NaN, subnormal numbers,
neighbours of 1, halves, powers of two, and integers at the ends of their types. Eager PyTorch says what is right, in
f64 for narrower floats; numpy for ONNX."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import perpend
import pytest
import torch
from python.torch_functions import Function
from torch.nn import functional

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
INF, NAN = math.inf, math.nan
PLAIN = [0.0, 0.1, 0.3, 0.5, 0.625, 0.75, 1, 1.5, 2, 2.5, 3, 6, 7.5, 10, 20, 45, 1000, 1e-3, 1e-8, 1e-16, 1e-20]
LARGE = [2.0**24, 2.0**28 + 32, 2.0**31, 2.0**52, 2.0**63, 2.0**64, 1e10, 1e16, 1e18, 1e20, 1e30, 3e9]


def floats(dtype: torch.dtype, others: Sequence[float] = ()) -> torch.Tensor:
    info = torch.finfo(dtype)
    least = info.tiny * info.eps * (2 if dtype == torch.float64 else 1)  # PyTorch's log1p has the first of f64 as 0
    edges = [info.tiny, info.tiny / 2, least, info.max, 1 + info.eps, 1 - info.eps, INF, NAN]
    numbers = torch.tensor([*PLAIN, *edges, *others], dtype=torch.float64)
    return torch.cat([numbers, -numbers]).to(dtype)


def integers(dtype: torch.dtype) -> torch.Tensor:
    info = torch.iinfo(dtype)
    numbers = {0, 1, 2, 3, 5, 7, 8, 15, 31, 33, 64, 127, 128, 200, 255, 2**31, 2**53 + 1, -1, -2, -3, -7, -64}
    numbers |= {info.min, info.min + 1, info.max - 1, info.max}
    return torch.tensor(sorted(x for x in numbers if info.min <= x <= info.max), dtype=dtype)


def pairs(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.repeat_interleave(len(x)), x.repeat(len(x))


def results_of(functions: dict[str, Callable[..., torch.Tensor]], *inputs: torch.Tensor) -> Any:
    """Of all functions, compiled in one module and interpreted."""
    module = perpend.import_model(
        Function(lambda *x: [function(*x) for function in functions.values()]), example_inputs=inputs
    )
    return list(perpend.compile(module)(*inputs)), list(module.evaluate(*inputs))


def is_near(result: torch.Tensor, expected: torch.Tensor, units: float) -> torch.Tensor:
    """Within so many units in the last place; zeros, infinities and NaN themselves, of zeros the sign, too."""
    info = torch.finfo(expected.dtype)
    got, wanted = result.double(), expected.double()
    unit = wanted.abs().clamp(min=info.smallest_normal) * info.eps
    is_same = (got == wanted) & ((wanted != 0) | (got.signbit() == wanted.signbit()))
    return (
        is_same
        | (got.isnan() & wanted.isnan())
        | (wanted.isfinite() & (wanted != 0) & ((got - wanted).abs() <= units * unit))
    )


def check(functions: dict[str, Callable[..., torch.Tensor]], *inputs: torch.Tensor, units: float | None = None) -> None:
    """Results have eager PyTorch's types, and the values of f64 or those of eager PyTorch."""
    for way, results in zip(("compiled", "interpreted"), results_of(functions, *inputs), strict=True):
        for (name, function), result in zip(functions.items(), results, strict=True):
            eager = function(*inputs)
            assert result.dtype == eager.dtype, f"{name}, {way}"
            if not result.is_floating_point():
                wrong = result != eager
            else:
                bound = units if units is not None else 3 if result.dtype.itemsize > 2 else 1
                exact = function(*(x.double() if x.is_floating_point() else x for x in inputs)).to(eager.dtype)
                wrong = ~(is_near(result, exact, bound) | is_near(result, eager, bound))
            where = wrong.nonzero().flatten().tolist()[:4]
            cases = [(*(x[i].item() for x in inputs), result[i].item(), eager[i].item()) for i in where]
            assert not cases, (
                f"{name}, {way}, {inputs[0].dtype}: {int(wrong.sum())} wrong: (.., got, expected): {cases}"
            )


NAMES = """
    exp exp2 expm1 log log2 log10 log1p sin cos atan sinh asinh atanh tanh erf sigmoid trunc floor sign signbit angle
    isnan isinf isfinite isposinf isneginf sqrt abs
"""
UNARY: dict[str, Callable[..., torch.Tensor]] = {
    **{name: getattr(torch, name) for name in NAMES.split()},
    "softplus": functional.softplus,
    "elu": functional.elu,
    "mish": functional.mish,
    "logsigmoid": functional.logsigmoid,
    "rounded": lambda x: torch.round(x, decimals=2),
    "// 0.1": lambda x: x // 0.1,
    "// -2": lambda x: x // -2,
    "1 // x": lambda x: 1.0 // x,
    "% -3": lambda x: x % -3,
}
BINARY: dict[str, Callable[..., torch.Tensor]] = {
    "atan2": torch.atan2,
    "hypot": torch.hypot,
    "copysign": torch.copysign,
    "nextafter": torch.nextafter,
    "floor_divide": torch.floor_divide,
    "floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "pow": torch.pow,
    "angle": lambda x, y: torch.view_as_complex(torch.stack([x.float(), y.float()], -1)).angle(),
}
ON_INTEGERS: dict[str, Callable[..., torch.Tensor]] = {
    "pow": torch.pow,
    "<<": torch.bitwise_left_shift,
    ">>": torch.bitwise_right_shift,
    "isnan": lambda x, y: torch.isnan(x),
    "isinf": lambda x, y: torch.isinf(x),
    "threshold": lambda x, y: functional.threshold(x, 3, 2),
    "isfinite": lambda x, y: torch.isfinite(x),
    "// 0.1": lambda x, y: x // 0.1,
    "exp2": lambda x, y: torch.exp2(x),
    "angle": lambda x, y: torch.angle(x),
}


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_one_number(dtype: torch.dtype) -> None:
    powers = [2.0**k for k in range(-1073 if dtype == torch.float64 else -149, 128, 7)]
    x = floats(dtype, LARGE + powers)
    check(UNARY, x)


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_two_numbers(dtype: torch.dtype) -> None:
    first, second = pairs(floats(dtype, [2.0**100]))
    functions = dict(BINARY)
    if dtype.itemsize == 2:
        del functions["angle"]  # PyTorch has complex numbers of f16, and the compiler none
    check(functions, first, second, units=4 if dtype.itemsize > 2 else 1)


def test_remainders() -> None:
    """Eager PyTorch's of f64 are wrong where the quotient is not a number of f64: C's are right."""
    first, second = pairs(floats(torch.float64))
    functions = {"fmod": torch.fmod, "remainder": torch.remainder}
    for results in results_of(functions, first, second):
        with np.errstate(invalid="ignore"):
            rest = torch.from_numpy(np.fmod(first.numpy(), second.numpy()))
        assert is_near(results[0], rest, 0).all()
        moved = torch.where((rest != 0) & ((rest < 0) != (second < 0)), rest + second, rest)
        assert is_near(results[1], moved, 0).all()
    first, second = pairs(floats(torch.float32))
    check(functions, first, second, units=0)


def test_powers_of_the_base_are_exact() -> None:
    """Every power of two and of ten of every type, and their logarithms."""
    for dtype in FLOATS:
        info = torch.finfo(dtype)
        least, most = (round(math.log2(bound)) for bound in (info.tiny * info.eps, info.max))
        exponents = torch.arange(least, most, dtype=torch.float64)
        tens = torch.arange(-4.0, 22 if dtype == torch.float64 else 10 if dtype == torch.float32 else 2).double()
        inputs = (
            torch.ldexp(torch.ones(()).double(), exponents).to(dtype),
            exponents.to(dtype),
            (10.0**tens).to(dtype),
        )
        function = Function(lambda x, y, z: (torch.log2(x), torch.exp2(y), torch.log10(z), torch.pow(2.0, y)))
        module = perpend.import_model(function, example_inputs=inputs)
        for logarithms, powers, decimal, also in (perpend.compile(module)(*inputs), module.evaluate(*inputs)):
            assert torch.equal(logarithms, inputs[1])
            assert torch.equal(powers, inputs[0])
            assert torch.equal(also, inputs[0])
            whole = tens >= 0  # others are no numbers of these types
            assert torch.equal(decimal[whole], tens.to(dtype)[whole])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_functions_of_integers(dtype: torch.dtype) -> None:
    check(ON_INTEGERS, *pairs(integers(dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_casts_beyond_the_range(dtype: torch.dtype) -> None:
    """To integers as processors convert, to floats of 8 bits as these have infinities or none."""
    beyond = [
        448,
        464,
        465,
        480,
        240,
        248,
        256,
        57344,
        61440,
        61441,
        -1.5,
        255,
        256,
        300,
        32768,
        65536,
        70000,
        5e9,
        1.7e19,
    ]
    types = [*INTEGERS, torch.bool, torch.uint16, torch.uint32, torch.uint64]
    if dtype == torch.float16:
        types.remove(torch.uint32)  # PyTorch's is another one than of wider floats
    functions: dict[str, Callable[..., torch.Tensor]] = {str(to): lambda x, to=to: x.to(to) for to in types}
    for to in (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float16):
        functions[str(to)] = lambda x, to=to: x.to(to).float()
    check(functions, floats(dtype, [*LARGE, *beyond]), units=0)


def powers(base: np.ndarray[Any, Any], exponent: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Of integers, modulo 2^width; of negative exponents towards 0."""
    width = 8 * base.dtype.itemsize

    def power(a: int, b: int) -> int:
        return pow(a, b, 2**width) if b >= 0 else int(a**b) % 2**width if abs(a) == 1 else 0

    unsigned = [power(int(a), int(b)) for a, b in zip(base, exponent, strict=True)]
    return np.array(unsigned, f"u{base.dtype.itemsize}").view(base.dtype)


@pytest.mark.parametrize(
    ("first", "second"),
    [("uint8", "uint8"), ("uint64", "uint64"), ("int8", "int64"), ("int32", "int64"), ("int64", "uint8")],
)
def test_onnx_powers_of_integers(first: str, second: str) -> None:
    numbers = [{n for n in (0, 1, 2, 3, 7, 127, 128, 200, 255, 2**40, 2**63 + 1, -1, -2, -5)} for _ in range(2)]
    limits = [np.iinfo(name) for name in (first, second)]
    base, exponent = (
        np.array(sorted(n for n in part if limit.min <= n <= limit.max), limit.dtype)
        for part, limit in zip(numbers, limits, strict=True)
    )
    inputs = np.repeat(base, len(exponent)), np.tile(exponent, len(base))
    for result in onnx_results("Pow", *inputs):
        np.testing.assert_array_equal(result, powers(*inputs))


def test_onnx_powers_of_several_types() -> None:
    """Of what f32 does not have: the parity of a large exponent, the digits of a large base."""
    cases: list[tuple[Any, Any, list[int]]] = [
        (np.array([-1, -1, 3], np.float32), np.array([2**24 + 1, 2**24, 2], np.int64), [-1, 1, 9]),
        (np.array([2**30 + 1, 9, -8], np.int64), np.array([1, 0.5, 3], np.float32), [2**30 + 1, 3, -512]),
    ]
    for base, exponent, expected in cases:
        for result in onnx_results("Pow", base, exponent):
            np.testing.assert_array_equal(result, np.array(expected, base.dtype))


@pytest.mark.parametrize("fmod", [0, 1])
def test_onnx_remainders(fmod: int) -> None:
    inputs = tuple(x.numpy() for x in pairs(floats(torch.float32)))
    with np.errstate(all="ignore"):
        expected = (np.fmod if fmod else np.mod)(*(x.astype(np.float64) for x in inputs)).astype(np.float32)
    for result in onnx_results("Mod", *inputs, fmod=fmod):
        assert is_near(torch.from_numpy(result), torch.from_numpy(expected), 0).all()


def onnx_results(name: str, *inputs: np.ndarray[Any, Any], **attributes: Any) -> list[np.ndarray[Any, Any]]:
    helper = onnx.helper
    infos = [
        helper.make_tensor_value_info(f"x{i}", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for i, x in enumerate(inputs)
    ]
    node = helper.make_node(name, [info.name for info in infos], ["y"], **attributes)
    output = helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(inputs[0].dtype), inputs[0].shape)
    graph = helper.make_graph([node], "values", infos, [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)
    return [perpend.compile(model)(*inputs), np.asarray(perpend.import_model(model).evaluate(*inputs)[0])]
