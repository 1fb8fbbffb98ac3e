"""Floats of 16 bits beside numbers: computed in f32 and rounded once, to the same bits as in eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import perpend
import pytest
import torch
from python.torch_functions import Function, tensors
from torch.nn import functional

Case = Callable[..., Any]
HALVES = [torch.float16, torch.bfloat16]
K = 0.037  # has more digits than these types


def same(functions: dict[str, Case], *inputs: torch.Tensor) -> None:
    """Element for element."""
    module = Function(lambda *x: [function(*x) for function in functions.values()])
    results = perpend.compile(module, example_inputs=inputs)(*inputs)
    for (name, function), result in zip(functions.items(), results, strict=True):
        for got, wanted in zip(tensors(result), tensors(function(*inputs)), strict=True):
            assert got.dtype == wanted.dtype, name
            wrong = ~((got == wanted) | (got.isnan() & wanted.isnan()))
            assert not wrong.any(), f"{name}: got {got[wrong][:3]}, expected {wanted[wrong][:3]}"


NUMBERS: dict[str, Case] = {
    "mul": lambda x, y, s: (x * K, K * x, x * s, s * x),
    "div": lambda x, y, s: (x / K, K / x, x / s, s / x),
    "add": lambda x, y, s: (x + K, K + x, x + s),
    "sub": lambda x, y, s: (x - K, K - x, x - s),
    "add alpha": lambda x, y, s: (torch.add(x, y, alpha=K), torch.add(x, 1.1, alpha=K)),
    "sub alpha": lambda x, y, s: (torch.sub(x, y, alpha=K), torch.sub(x, 1.1, alpha=K), torch.rsub(x, y, alpha=K)),
    "softshrink": lambda x, y, s: functional.softshrink(x, K),
    "hardshrink": lambda x, y, s: functional.hardshrink(x, K),
    "elu": lambda x, y, s: (functional.elu(x, K), functional.leaky_relu(x, K)),
    "lerp": lambda x, y, s: torch.lerp(x, y, K),
    "addcmul": lambda x, y, s: (torch.addcmul(x, x, y, value=K), torch.addcdiv(x, x, y, value=K)),
}


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_digits_of_numbers(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x, y = (torch.randn(1024) * 0.05).to(dtype), torch.randn(1024).to(dtype)
    same(NUMBERS, x, y, torch.tensor(K))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_softplus(dtype: torch.dtype) -> None:
    functions: dict[str, Case] = {
        "beta": lambda x: functional.softplus(x, beta=K),
        "threshold": lambda x: functional.softplus(x, beta=1.7, threshold=3),
    }
    same(functions, torch.linspace(-3, 3, 101).to(dtype))


@pytest.mark.parametrize("dtype", [*HALVES, torch.float32], ids=str)
def test_logarithms_times_numbers(dtype: torch.dtype) -> None:
    """A number beside the tensor becomes a scalar of its own."""
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, 3.0], dtype=dtype)

    def function(x: torch.Tensor) -> Any:
        of_x = [f(x, y) for f in (torch.xlogy, torch.special.xlog1py) for y in (2, K, 0, -1)]
        return [*of_x, torch.xlogy(0, x), torch.xlogy(K, x), torch.special.xlog1py(0, x), torch.xlogy(x, x)]

    torch.testing.assert_close(
        tensors(perpend.compile(Function(function), example_inputs=(x,))(x)), tensors(function(x)), equal_nan=True
    )


PRODUCTS: dict[str, Case] = {
    "addmm": lambda x, y, a, b: torch.addmm(x, x, y, alpha=a, beta=b),
    "addmv": lambda x, y, a, b: torch.addmv(x[0], x, y[0], alpha=a, beta=b),
    "addbmm": lambda x, y, a, b: torch.addbmm(x, x[None], y[None], alpha=a, beta=b),
    "baddbmm": lambda x, y, a, b: torch.baddbmm(x[None], x[None], y[None], alpha=a, beta=b),
}


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_products_are_rounded_once(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x, y = (torch.randint(-8, 8, (16, 16)).to(dtype) for _ in range(2))  # sums are exact
    names = [name for name in PRODUCTS if name != "addmv"]  # PyTorch's is not
    same({name: lambda x, y, f=PRODUCTS[name]: f(x, y, K, 0.37) for name in names}, x, y)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_products_beside_infinities(dtype: torch.dtype) -> None:
    """A factor of 0 leaves out what it multiplies, as BLAS does."""
    inf, nan = float("inf"), float("nan")
    x, y = torch.tensor([[inf, 1.0], [nan, 2.0]], dtype=dtype), torch.tensor([[1.0, inf], [3.0, 2.0]], dtype=dtype)
    functions = {
        f"{name} {a} {b}": lambda x, y, f=f, a=a, b=b: f(x, y, a, b)
        for name, f in PRODUCTS.items()
        for a, b in [(0, 1), (0.0, 2), (0, 0), (1, 0), (2, 3)]
    }
    same(functions, x, y)


def test_a_broadcast_addend_alone() -> None:
    x = torch.randn(3)
    y = torch.randn(2, 3)
    same({"addmm": lambda x, y: torch.addmm(x, y, y.T @ y, alpha=0, beta=2)}, x, y)


def test_scaled_products_of_integers() -> None:
    """The fraction of the factor is lost."""
    x, y = torch.arange(-4, 5), torch.arange(9).flip(0)
    same({str(value): lambda x, y, v=value: torch.addcmul(x, x, y, value=v) for value in (0.5, 2, 2.7, -1.5)}, x, y)
    same({"u8": lambda x, y: torch.addcmul(x, x, y, value=1.5)}, x.to(torch.uint8), y.to(torch.uint8))


def test_type_of_powers_of_two() -> None:
    """Of integers and one float: that of the float."""
    inputs = [
        torch.arange(4),
        torch.tensor(2.0).half(),
        torch.tensor(3.0).bfloat16(),
        torch.tensor([1.0, 2.0, 0.0, 5.0]),
    ]
    same({"ldexp": lambda x, *others: [torch.ldexp(x, other) for other in (*others, x)]}, *inputs)


def test_formulas_under_torch_compile() -> None:
    """PyTorch's own ones for derivatives of these operators are used for derivatives only."""

    def function(x: torch.Tensor, target: torch.Tensor) -> Any:
        return functional.softshrink(x, K), functional.multilabel_margin_loss(x.float(), target)

    target = torch.tensor([[3, 0, -1, 1]] * 3)
    compiled = torch.compile(function, backend="perpend")
    for dtype in (*HALVES, torch.float32):
        x = torch.randn(3, 4).to(dtype)
        with torch.no_grad():
            torch.testing.assert_close(compiled(x, target), function(x, target), rtol=0, atol=0)
    assert torch._C.DispatchKey.Autograd in torch.ops.aten.softshrink.default.py_kernels


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_nan_beside_zeros_of_both_signs(dtype: torch.dtype) -> None:
    """Elementwise, and in a row of vectors of a processor, with a rest."""
    some = torch.tensor([0.0, -0.0, torch.nan, 2.0], dtype=dtype)
    x, y = some.repeat_interleave(4).repeat(5)[:77], some.repeat(20)[:77]

    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        pairs = [torch.maximum(x, y), torch.minimum(x, y), x.clamp(min=y), x.clamp(max=y), x.clamp(y, y + 1)]
        rows = torch.stack([x, y])
        return *pairs, rows.amax(0), rows.amin(0), rows.amax(1), rows.amin(1), x.relu(), rows.cummax(1)[0]

    results = perpend.compile(Function(function), example_inputs=(x, y))(x, y)
    for result, expected in zip(tensors(results), function(x, y), strict=True):
        torch.testing.assert_close(result, expected, rtol=0, atol=0, equal_nan=True)
