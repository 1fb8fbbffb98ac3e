"""Special functions, integers, order statistics and random numbers of ATen against eager PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import perpend
import pytest
import scipy.special
import torch
import torch.nn.functional as F
from perpend.torch import operators as torch_operators
from perpend.torch import random as torch_random
from python.torch_functions import Function, check, tensors

torch.manual_seed(0)
X = torch.randn(3, 4, 5)
NAN = torch.tensor([1.0, float("nan"), -2.0, 0.0, -0.0, float("inf"), float("-inf")])
INTEGERS = torch.randint(-9, 9, (3, 5, 4))

POINTS = torch.cat(
    [torch.linspace(-9.71, 9.69, 195), torch.tensor([0.0, 1.0, 2.0, -1.0, -2.0, 1e-8, 60.0, 1e6, -1e-8])]
)
SPECIAL = [torch.erfc, torch.lgamma, torch.digamma, lambda x: torch.erfinv(x / 9.8), torch.special.gammaln]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("number", range(len(SPECIAL)))
def test_special_functions(number: int, dtype: torch.dtype) -> None:
    x, function = POINTS.to(dtype), SPECIAL[number]
    module = perpend.import_model(Function(function), example_inputs=(x,))
    expected = function(x.double()).to(dtype)  # eager f16 and bf16 are less exact
    tolerance = {torch.float64: 1e-11, torch.float32: 3e-6}.get(dtype, 2e-2)
    for result in (perpend.compile(module)(x), module.evaluate(x)[0]):
        torch.testing.assert_close(result, expected, atol=tolerance, rtol=tolerance, equal_nan=True)


def test_bessel_functions_and_others() -> None:
    """Relatively: on both sides of where their series change."""
    special = torch.special

    def function(x: torch.Tensor) -> Any:
        values = [special.i0(x), special.i0e(x), special.i1(x), special.i1e(x), special.erfcx(x)]
        return values, torch.polygamma(1, x), torch.polygamma(0, x), torch.kaiser_window(5)

    x = torch.linspace(-9.71, 30.3, 401, dtype=torch.float64)
    for values in (x, x.float()):
        exact = function(values.double())
        results = tensors(perpend.compile(Function(function), example_inputs=(values,))(values))
        tolerance = 1e-8 if values.dtype == torch.float64 else 1e-6  # PyTorch's trigamma is exact to 5e-10
        for result, expected in zip(results[:7], tensors(exact)[:7], strict=True):
            torch.testing.assert_close(result, expected.to(values.dtype), atol=0, rtol=tolerance)


def test_logarithm_of_gamma_keeps_its_digits() -> None:
    """Between 2 and 10, where log gamma is small beside the terms of Stirling's series at x + 10."""
    far = torch.tensor([1e-300, 1e10, 1e300, torch.inf], dtype=torch.float64)
    x = torch.cat([torch.linspace(0.5, 20, 391, dtype=torch.float64), far])
    module = perpend.import_model(Function(torch.lgamma), example_inputs=(x,))
    for result in (perpend.compile(module)(x), module.evaluate(x)[0]):
        torch.testing.assert_close(result, torch.lgamma(x), atol=0, rtol=2e-15)


@pytest.mark.parametrize("count", [73, 78, 88, 100])
def test_poles_and_whole_halves(count: int) -> None:
    """In as many vectors as need more masks than there are registers: one of them is compared from memory."""
    for x in (torch.full((count,), -7.0, dtype=torch.float16), torch.full((count,), 3.0, dtype=torch.float16)):
        results = perpend.compile(Function(lambda x: (torch.lgamma(x), torch.digamma(x))), example_inputs=(x,))(x)
        for result, expected in zip(results, (torch.lgamma(x), torch.digamma(x)), strict=True):
            torch.testing.assert_close(result, expected, equal_nan=True)


def test_digits_beside_zeros_and_poles() -> None:
    x = torch.tensor([-0.5, -1.5, -2.5, -64 + 2.0**-47], dtype=torch.float64)
    digamma = torch.tensor([float(mpmath.digamma(each)) for each in x.tolist()], dtype=torch.float64)
    half = torch.tensor([0.5], dtype=torch.float64)
    model = perpend.compile(Function(lambda x, y: (torch.digamma(x), torch.special.ndtri(y))), example_inputs=(x, half))
    result, quantile = model(x, half)
    torch.testing.assert_close(result[:3], digamma[:3], rtol=0, atol=6e-16)
    torch.testing.assert_close(result[3], digamma[3], rtol=1e-15, atol=0)
    assert math.copysign(1, float(quantile)) == 1 and float(quantile) == 0


def scaled_complement(x: float) -> float:
    if math.isinf(x):
        return 0.0 if x > 0 else math.inf
    with mpmath.workdps(40):
        return float(mpmath.exp(mpmath.mpf(x) ** 2) * mpmath.erfc(x))


def test_complementary_error_function_keeps_its_digits() -> None:
    """Rounding of x^2 alone would be 300 units of the last place at 26."""
    x = torch.cat([torch.linspace(-26.5, 26.5, 601, dtype=torch.float64), POINTS.double(), NAN.double()])
    module = perpend.import_model(Function(lambda x: (torch.erfc(x), torch.special.erfcx(x))), example_inputs=(x,))
    exact = [[math.erfc(each) for each in x.tolist()], [scaled_complement(each) for each in x.tolist()]]
    for results in (perpend.compile(module)(x), module.evaluate(x)):
        for result, expected in zip(results, exact, strict=True):
            np.testing.assert_allclose(result.numpy(), expected, rtol=1e-15, atol=1e-320)


@pytest.mark.parametrize("initial", [None, 2.0])
def test_reductions_of_segments(initial: float | None) -> None:
    names = ["sum", "mean", "max", "min", "prod"]

    def function(x: torch.Tensor, lengths: torch.Tensor, offsets: torch.Tensor, nested: torch.Tensor) -> Any:
        given: Any = {"unsafe": True, "initial": initial}
        return [
            [
                torch.segment_reduce(x[0], name, lengths=lengths, axis=0, **given),
                torch.segment_reduce(x[0], name, offsets=offsets, axis=0, **given),
                torch.segment_reduce(x, name, lengths=nested, axis=1, **given),
            ]
            for name in names
        ]

    x, lengths, offsets = torch.randn(2, 7, 3), torch.tensor([2, 0, 5]), torch.tensor([0, 3, 3, 7])
    inputs = (x, lengths, offsets, torch.tensor([[2, 0, 5], [1, 3, 3]]))
    results = perpend.compile(Function(function), example_inputs=inputs)(*inputs)
    for result, expected in zip(tensors(results), tensors(function(*inputs)), strict=True):
        torch.testing.assert_close(result, expected, equal_nan=True)


def test_tails_are_relatively_exact() -> None:
    x = torch.linspace(0, 26, 99, dtype=torch.float64)
    model = perpend.compile(Function(lambda x: (torch.erfc(x), torch.erfinv(1 - torch.exp(-x)))), example_inputs=(x,))
    for result, expected in zip(model(x), (torch.erfc(x), torch.erfinv(1 - torch.exp(-x))), strict=True):
        torch.testing.assert_close(result, expected, atol=0, rtol=1e-11)
    ends = torch.tensor([1.0, -1.0, 0.0, 1.5, float("nan")])
    check(lambda x: torch.nan_to_num(torch.erfinv(x)), ends)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 2e-5), (torch.float64, 1e-13)])
def test_tail_of_gelu_is_relatively_exact(dtype: torch.dtype, tolerance: float) -> None:
    """1 + tanh(y) would keep no digit where y is less than -9."""
    x = torch.cat([torch.linspace(-9, 3, 121), torch.tensor([0.0, -0.0, 50.0, torch.inf, torch.nan])]).to(dtype)
    module = perpend.import_model(Function(lambda x: F.gelu(x, approximate="tanh")), example_inputs=(x,))
    wide = x.double()
    exact = (wide * torch.sigmoid(math.sqrt(8 / math.pi) * (wide + 0.044715 * wide**3))).to(dtype)
    for result in (perpend.compile(module)(x), module.evaluate(x)[0]):
        torch.testing.assert_close(result, exact, atol=0, rtol=tolerance, equal_nan=True)


def test_signs() -> None:
    check(lambda x: (torch.sign(x), torch.sgn(x), torch.trunc(x).nan_to_num(7)), NAN)
    check(lambda x: (torch.sign(x), torch.sgn(x)), INTEGERS)
    check(lambda x: (torch.signbit(x), torch.copysign(torch.ones(7), x.nan_to_num()), torch.copysign(x[2:], -1)), NAN)


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bool, torch.float16])
def test_copied_signs_are_of_floating_point_numbers(dtype: torch.dtype) -> None:
    x = torch.tensor([0, 1, 3]).to(dtype)
    signs = torch.tensor([-1, 2, -3])
    check(lambda x, y: (x.copysign(y), x.copysign(y / 2), x.copysign(y.double()), x.copysign(-2)), x, signs)
    check(lambda x, y: 1 / x[:1].copysign(y), x, signs)  # of -0.0


def test_normal_quantiles() -> None:
    x = torch.tensor([1e-11, 1e-8, 3e-7, 0.01, 0.5, 0.97, 1 - 2**-24])
    check(torch.special.ndtri, x)
    check(lambda x: torch.special.ndtri(x > 0.5).isinf(), x)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1.2e-7), (torch.float64, 1e-13)])
def test_tails_of_normal_quantiles(dtype: torch.dtype, tolerance: float) -> None:
    """Down to the least number of the type, and where both formulas meet."""
    least = [1e-45, 1e-40] if dtype == torch.float32 else [1e-323, 1e-310, 1e-300]
    tails = np.concatenate([least, np.logspace(-44, -1, 500), np.linspace(0.00098, 0.00102, 50)])
    x = torch.tensor(np.concatenate([tails, 1 - tails, [0, 1, -1, 2, np.nan]])).to(dtype)
    got = perpend.compile(Function(torch.special.ndtri), example_inputs=(x,))(x)
    np.testing.assert_allclose(got.double(), scipy.special.ndtri(x.double().numpy()), tolerance, 0)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8, torch.uint8])
def test_divisors(dtype: torch.dtype) -> None:
    x, y = (torch.randint(0, 13, shape).to(dtype) for shape in ((3, 4), (4,)))
    if dtype != torch.uint8:
        x = -x
    x[0], y[:2] = -11 if dtype != torch.uint8 else 23, torch.tensor([12, 12], dtype=dtype)  # too large for 8 bits
    check(lambda x, y: (torch.gcd(x, y), torch.lcm(x, y)), x, y, dynamic=[(0,), ()], more=[(x[:1], y), (x[:0], y)])


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.uint8])
def test_modes(dtype: torch.dtype) -> None:
    x = torch.randint(0, 4, (4, 7, 5)).to(dtype)
    check(lambda x: (x.mode(), x.mode(0), x.mode(1, keepdim=True)), x, dynamic=[(0, 1)], more=[(x[:2, :1],)])


def test_order_statistics() -> None:
    x = torch.where(X > 1, float("nan"), X)
    x[0, 0] = float("nan")
    check(
        lambda x: tuple(part.nan_to_num(9) for part in (x.nanmedian(), x.nanmedian(1)[0], x.nanmedian(2, True)[0])), x
    )
    check(lambda x, y: (torch.fmax(x, y).nan_to_num(9), torch.fmin(x, y).nan_to_num(9)), x, X)


def test_distances_and_products() -> None:
    check(lambda x: (torch.dist(x, x + 1), torch.dist(x, x + 1, 1), F.pdist(x[0]), F.pdist(x[0], 1.0)), X)
    check(lambda x: (torch.addbmm(x[0, :, :4], x, x.mT, beta=0.5, alpha=2), F.bilinear(x, x, torch.ones(2, 5, 5))), X)
    check(
        lambda x: (torch.linalg.vector_norm(F.relu(x), 0, dim=1), x.round(decimals=2), (x * 99).round(decimals=-1)), X
    )


def test_places() -> None:
    index = torch.tensor([0, 2, 0])
    for reduce in ("amax", "amin", "prod", "mean"):
        check(lambda x, r=reduce: x.index_reduce(1, index, x[:, :3] + 1, r), X)
        check(lambda x, r=reduce: x.index_reduce(1, index, x[:, :3] + 1, r, include_self=False), X)
    check(lambda x: (x.put(index[:2], x[0, 0, :2]), x.put(index[:2], x[0, 0, :2], accumulate=True)), X)
    for offset in (0, 2, -1):
        width = X.diagonal(offset, 1, 2).shape
        check(lambda x, o=offset, w=width: torch.diagonal_scatter(x, torch.ones(w), o, 1, 2), X)


def test_losses_with_several_labels() -> None:
    target = torch.tensor([[1, 2, -1, 0, 0], [-1, 1, 2, 3, 4], [4, 3, 2, 1, 0], [0, 0, -1, 1, 1]])
    for reduction in ("none", "mean", "sum"):
        check(lambda x, r=reduction: F.multilabel_margin_loss(x[0], target, reduction=r), X)
    check(lambda x: F.multilabel_margin_loss(x[0, 0], target[0]), X)
    check(lambda x: F.multilabel_margin_loss(x[0, 0, 0], target[0, 0] * 0), X)


def test_multilabel_margins_of_special_values() -> None:
    """Margins that are NaN do not count."""
    inf, nan = float("inf"), float("nan")
    scores = torch.tensor([[0.3, -inf, 0.2, 1.0], [0.3, inf, 0.2, 1.0], [0.3, nan, 0.2, 1.0], [inf, -inf, nan, 1.0]])
    for labels in ([3, 0, -1, 1], [1, 0, -1, 1]):
        target = torch.tensor([labels] * 4)
        check(lambda x, t=target: F.multilabel_margin_loss(x, t, reduction="none"), scores)


@pytest.mark.parametrize("p", [1, 2])
def test_margins_of_special_values(p: int) -> None:
    inf, nan = float("inf"), float("nan")
    scores = torch.tensor(
        [[0.1, -inf, 0.2, inf, 0.3], [nan, 1.0, 2.0, 3.0, -inf], [-inf] * 5, [0.1, 0.2, 0.3, 0.4, 0.5]]
    )
    target, weight = torch.tensor([0, 2, 4, 1]), torch.rand(5)
    for reduction in ("none", "mean", "sum"):
        options = {"p": p, "margin": 0.7, "reduction": reduction}
        check(lambda x, o=options: F.multi_margin_loss(x, target, **o), scores)
        check(lambda x, w, o=options: F.multi_margin_loss(x, target, weight=w, **o), scores[3:].expand(4, 5), weight)
    check(lambda x: F.multi_margin_loss(x, torch.tensor(2)), X[0, 0])


def test_slopes_of_any_number() -> None:
    """At 0, too, a slope that is infinite or NaN gives NaN; a negative one another sign."""
    x = torch.tensor([0.0, -0.0, 1.0, -1.0, float("nan"), float("inf"), -float("inf")])
    for slope in (float("nan"), float("inf"), -1.0, 0.0, 0.3):
        model = perpend.compile(Function(lambda x, s=slope: F.leaky_relu(x, s)), example_inputs=(x,))
        got, expected = model(x), F.leaky_relu(x, slope)
        torch.testing.assert_close(got, expected, equal_nan=True)
        assert torch.equal(got.signbit()[~got.isnan()], expected.signbit()[~got.isnan()])


def test_windows() -> None:
    names = ["hamming", "kaiser", "blackman", "bartlett", "hann"]
    check(lambda x: [x * getattr(torch, f"{name}_window")(5) for name in names], X)
    check(lambda x: x * torch.hamming_window(5, False, 0.5, 0.4), X)


def moments(function: Callable[[torch.Tensor], torch.Tensor]) -> tuple[float, float]:
    x = torch.zeros(100, 200)
    values = perpend.compile(Function(function), example_inputs=(x,))(x)
    return float(values.mean()), float(values.std())


def test_distributions() -> None:
    for function, mean, deviation in [
        (lambda x: torch.empty_like(x).uniform_(2, 4), 3, 1 / 3**0.5),
        (lambda x: torch.empty_like(x).normal_(2, 3), 2, 3),
        (lambda x: torch.normal(x + 2, x + 3), 2, 3),
        (lambda x: torch.normal(x + 2, 3.0), 2, 3),
        (lambda x: torch.normal(2.0, x + 3), 2, 3),
        (lambda x: torch.empty_like(x).exponential_(2), 0.5, 0.5),
        (lambda x: torch.empty_like(x).geometric_(0.25), 4, 12**0.5),
        (lambda x: torch.empty_like(x).log_normal_(0, 0.5).log(), 0, 0.5),
        (lambda x: torch.bernoulli(x + 0.25), 0.25, (0.25 * 0.75) ** 0.5),
        (lambda x: torch.multinomial(torch.tensor([1.0, 0, 3]), 5000, replacement=True) / 2.0, 0.75, 0.1875**0.5),
    ]:
        got = moments(function)
        assert abs(got[0] - mean) < 0.05 * max(1, mean) and abs(got[1] - deviation) < 0.05 * max(1, deviation), got


def test_trials_until_success() -> None:
    """Of integers, too, and of halves with more numbers than these have between 0 and 1."""
    types = [torch.int64, torch.int8, torch.float16, torch.bfloat16, torch.float64]
    function = Function(lambda x: [torch.empty_like(x.to(kind)).geometric_(0.25) for kind in types])
    x = torch.zeros(100, 200)
    for kind, result in zip(types, perpend.compile(function, example_inputs=(x,))(x), strict=True):
        assert result.dtype == kind and bool((result >= 1).all()) and bool((result == result.round()).all())
        assert abs(float(result.double().mean()) - 4) < 0.2 and abs(float(result.double().std()) - 12**0.5) < 0.2


def test_permutations_and_choices() -> None:
    model = perpend.compile(
        Function(lambda x: (torch.randperm(x.shape[0]), torch.multinomial(x, 3))),
        example_inputs=(torch.ones(20),),
        dynamic_shapes=(({0: torch.export.Dim.DYNAMIC},),),
    )
    weights = torch.tensor([0.0, 1, 0, 5, 2, 0])
    order, chosen = model(weights)
    assert sorted(order.tolist()) == list(range(6))
    assert sorted(chosen.tolist()) == [1, 3, 4]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_exponential_numbers_are_never_zero(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.zeros(5000, dtype=dtype)
    drawn = perpend.compile(Function(lambda x: torch.empty_like(x).exponential_(3)), example_inputs=(x,))(x)
    assert drawn.dtype == dtype and drawn.min() > 0 and len(drawn.unique()) > 700
    monkeypatch.setattr(torch, "rand_like", torch.zeros_like)  # the least number of the uniform distribution
    for rate in (1e-3, 1.0, 1e4):
        least = torch_random.exponential(x, rate)
        assert least.dtype == dtype and least.min() > 0 and (1 / least).isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_choices_of_no_weight(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is drawn, they are not chosen while there are others; rows are many, and each choice is one of two."""
    weights = torch.tensor([0.0, 1, 0, 3, 0]).to(dtype).repeat(4000, 1)
    for replacement in (False, True):
        model = perpend.compile(
            Function(lambda w, r=replacement: torch.multinomial(w, 1, replacement=r)), example_inputs=(weights,)
        )
        chosen = model(weights)
        assert set(chosen.unique().tolist()) == {1, 3}
        assert abs((chosen == 3).double().mean() - 0.75) < 0.03
    monkeypatch.setattr(torch, "rand_like", torch.zeros_like)
    assert (torch_random.multinomial(weights, 2).sort().values == torch.tensor([1, 3])).all()


@pytest.mark.parametrize("replacement", [False, True])
def test_choices_that_torch_refuses(replacement: bool) -> None:
    function = Function(lambda w: torch.multinomial(w, 2, replacement=replacement))
    weights = torch.tensor([[1.0, 2, 0], [0, 3, 1]])
    compiled = [perpend.compile(function, example_inputs=(weights,)), torch.compile(function, backend="perpend")]
    for model in compiled:
        assert model(weights).shape == (2, 2)
        # One positive weight for two choices is no error of torch.
        assert (model(torch.tensor([[1.0, 0, 0], [0, 0, 1]])) == torch.tensor([[0], [2]])).any(1).all()
        for row, message in {(0.0, 0, 0): "a positive weight", (-1.0, 2, 3): "finite weights of at least 0",
                             (float("nan"), 1, 1): "finite", (float("inf"), 1, 1): "finite"}.items():  # fmt: skip
            wrong = torch.tensor([[1.0, 2, 3], row])
            with pytest.raises(RuntimeError):
                function(wrong)
            with pytest.raises(ValueError, match=f"multinomial: expected .*{message}"):
                model(wrong)


def test_assertions_of_models() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        torch._assert_async(x.max() < 5, "x is too large")
        return x + 1

    model = perpend.compile(Function(function), example_inputs=(torch.ones(3),))
    assert (model(torch.ones(3)) == 2).all()
    with pytest.raises(ValueError, match="x is too large"):
        model(torch.full((3,), 7.0))


def test_choices_among_many_have_fine_steps() -> None:
    """Weights of 8 bits, whose running sum would stop to grow."""
    weights = torch.ones(4000, dtype=torch.bfloat16)
    function = Function(lambda w: torch.multinomial(w, 20000, replacement=True))
    chosen = perpend.compile(function, example_inputs=(weights,))(weights)
    assert abs(chosen.double().mean() - 1999.5) < 50 and len(chosen.unique()) > 3000


# Not operators on dense tensors of a graph: gradients, the placement of memory, and numbers that the front end takes
# from shapes itself.
NOT_OURS = """
    resize_ sym_numel sym_storage_offset _local_scalar_dense _fft_c2r _fft_r2c
"""


def test_core_aten_is_complete() -> None:
    """Every operator that PyTorch calls core is in the table or decomposed."""
    decomposed, missing = torch_operators.decompositions(), set()
    schemas = [schema for schema in torch._C._jit_get_all_schemas() if schema.name.startswith("aten::")]
    for schema in schemas:
        name = schema.name.removeprefix("aten::")
        operator: Any = getattr(getattr(torch.ops.aten, name, None), schema.overload_name or "default", None)
        if operator is None or torch._C.Tag.core not in operator.tags:
            continue
        if not torch_operators.is_supported(f"aten.{name}") and operator not in decomposed:
            missing.add(name)
    assert missing == set(NOT_OURS.split())


@pytest.mark.filterwarnings("ignore:linear_cross_entropy")
def test_losses_in_chunks() -> None:
    """PyTorch's operators that compute a layer and its loss part by part."""
    options = torch.nn.LinearCrossEntropyOptions()
    x, layer, bias, weight = X[0], torch.randn(7, X.shape[-1]), torch.randn(7), torch.rand(7)
    target = torch.arange(x.shape[0]) % 7
    for reduction in ("mean", "sum", "none"):
        check(
            lambda x, w, b, v, r=reduction: F.linear_cross_entropy(
                x, w, target, linear_bias=b, weight=v, reduction=r, ignore_index=2, options=options
            ),
            x,
            layer,
            bias,
            weight,
        )


def test_powers_between_numbers() -> None:
    """Of bases that are negative, of no steps, of every type."""
    for options in ({"base": -1.0}, {"base": 2.5, "dtype": torch.float64}, {"dtype": torch.int64}):
        check(lambda x, o=options: [torch.logspace(0, 3, steps, **o) + x[0, 0, 0] for steps in (0, 1, 4)], X)
    check(lambda x: torch.logspace(x.new_zeros(()), x.new_ones(()), 0, base=-1.0), X)
