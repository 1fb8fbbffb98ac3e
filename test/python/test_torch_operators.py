"""ATen operators, many per model: the compiled model and the reference interpreter agree with eager execution."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import perpend
import pytest
import torch
import torch.nn.functional as F
from perpend.torch import operators as torch_operators
from torch import nn
from torch.export import Dim

torch.manual_seed(0)
X, Y = torch.randn(2, 3, 4, 6).unbind(0)
POSITIVE = X.abs() + 0.1
INTEGERS = torch.randint(-3, 9, (3, 4))
IMAGE = torch.randn(2, 4, 9, 8)
INDEX = torch.tensor([2, 0, 1])
UNIT = torch.rand(3) * 0.9

Case = Callable[..., Any]


def assign(x: torch.Tensor, key: Any, value: Any) -> torch.Tensor:
    result = x.clone()
    result[key] = value
    return result


NAMES = """abs neg sign reciprocal exp expm1 erf sin cos tan atan sinh tanh asinh ceil floor round relu sigmoid
    trunc exp2"""
ACTIVATIONS = """silu mish gelu hardswish hardsigmoid softplus elu selu celu leaky_relu relu6 logsigmoid softsign
    tanhshrink hardshrink softshrink"""
ROOTS = "sqrt rsqrt log log1p log2 log10"
PAIRS = "maximum minimum fmod remainder atan2 logical_and eq ne lt le gt ge"

GROUPS: dict[str, tuple[tuple[torch.Tensor, ...], list[Case]]] = {
    "elementwise": ((X,), [getattr(torch, n) for n in NAMES.split()]),
    "activations": ((X,), [getattr(F, n) for n in ACTIVATIONS.split()]),
    "roots and logarithms": (
        (POSITIVE,),
        [getattr(torch, n) for n in ["sqrt", "rsqrt", "log", "log1p", "log2", "log10"]],
    ),
    "arcs": ((UNIT,), [torch.asin, torch.acos, torch.atanh, lambda u: torch.acosh(u + 1)]),
    "pairs": ((X, torch.where(Y > 0, X, Y)), [getattr(torch, n) for n in PAIRS.split()]),
    "more elementwise": (
        (X, Y, POSITIVE),
        [
            lambda x, y, p: F.gelu(x, approximate="tanh"),
            lambda x, y, p: torch.add(x, y, alpha=2),
            lambda x, y, p: 1 - x,
            lambda x, y, p: torch.div(x, 0.3, rounding_mode="trunc"),
            lambda x, y, p: (x**2, x**3, p**0.5, p**-0.5, p**2.5, p**x, 2**x),
            lambda x, y, p: (x.clamp(-0.5, 0.5), x.clamp_min(0.1), torch.clamp(x, max=y)),
            lambda x, y, p: (torch.where(x > 0, x, y), torch.where(x > 0, 1.0, 0.0), x.masked_fill(x > 0, -1e9)),
            lambda x, y, p: (~(x > 0), (x > 0) & (y > 0), torch.isnan(x), torch.isinf(x), torch.isfinite(x)),
            lambda x, y, p: (torch.addcmul(x, x, y, value=0.5), torch.addcdiv(x, x, p), torch.lerp(x, y, 0.3)),
            lambda x, y, p: F.prelu(x, torch.tensor([0.1, 0.2, 0.3, 0.4])),
            lambda x, y, p: F.softplus(x, beta=2),
        ],
    ),
    "integers": (
        (INTEGERS, X),
        [
            lambda i, x: (i + 1.5, i + 2, x[..., 0] + i, i / 2, i // 2, i % 3, i**2, i > 2.5),
            lambda i, x: (torch.div(i, 2, rounding_mode="trunc"), ~i, torch.logical_not(i), i & 3, i.abs() << 2),
            lambda i, x: (torch.where(x[..., 0] > 0, i, 2.5), i.cumsum(-1), i.sum(), i.float().mean()),
            lambda i, x: (x.half() + 1, x.bfloat16() * 2, (x * 5).to(torch.int32), x.bool(), x.double() + 1),
        ],
    ),
    "reductions": (
        (X, Y),
        [
            lambda x, y: (x.sum(), x.sum(1), (x > 0).sum(-1, keepdim=True), x.mean((0, 2)), x.mean(), x.prod(1)),
            lambda x, y: (x.amax(1), x.max(1), x.max(), x.min(-1, keepdim=True), x.argmax(-1), x.argmax()),
            lambda x, y: (x.argmin(1, keepdim=True), (x > 1).any(1), (x > 1).any(), (x > -1).all(-1)),
            lambda x, y: (x.var(1), x.var((1, 2), unbiased=False), x.std(-1), torch.var_mean(x, 1)),
            lambda x, y: (x.logsumexp(1), x.cumsum(1), x.norm(dim=-1), x.norm(p=1, dim=1), x.norm(p=3, dim=1)),
            lambda x, y: (F.normalize(x, dim=1), F.cosine_similarity(x, y, dim=-1), x.softmax(1), x.log_softmax(-1)),
        ],
    ),
    "products": (
        (X, Y, IMAGE),
        [
            lambda x, y, a: (
                x[0] @ y[0].T,
                torch.bmm(x, y.transpose(1, 2)),
                x @ torch.ones(6),
                torch.outer(x[0, 0], y[0, 1]),
            ),
            lambda x, y, a: (torch.dot(x[0, 0], y[0, 0]), torch.outer(x[0, 0], y[0, 1])),
            lambda x, y, a: torch.einsum("bij,bkj->bik", x, y),
            lambda x, y, a: torch.addmm(x[0, :, :4], x[0], y[0].T, beta=0.5, alpha=2),
            lambda x, y, a: torch.baddbmm(x[:, :, :4], x, y.mT),
            lambda x, y, a: F.scaled_dot_product_attention(a, a, a),
            lambda x, y, a: F.scaled_dot_product_attention(a, a, a, is_causal=True, scale=0.3),
        ],
    ),
    "pooling": (
        (IMAGE, X),
        [
            lambda a, x: (F.max_pool2d(a, 3, 2, 1), F.max_pool2d(a, (3, 2), 2, ceil_mode=True), F.max_pool1d(x, 2)),
            lambda a, x: (
                F.avg_pool2d(a, 3, 2, 1),
                F.avg_pool2d(a, 3, 2, 1, count_include_pad=False),
                F.avg_pool1d(x, 2),
            ),
            lambda a, x: (F.adaptive_avg_pool2d(a, (3, 5)), F.adaptive_avg_pool2d(a, 1), F.adaptive_avg_pool1d(x, 4)),
            lambda a, x: F.adaptive_max_pool2d(a, 1),
        ],
    ),
    "interpolation": (
        (IMAGE,),
        [
            lambda a: (
                F.interpolate(a, scale_factor=2),
                F.interpolate(a, size=(5, 13)),
                F.interpolate(a, scale_factor=1.5),
            ),
            lambda a: F.interpolate(a, scale_factor=2, mode="bilinear"),
            lambda a: F.interpolate(a, size=(12, 11), mode="bilinear", align_corners=True),
            lambda a: F.interpolate(a, size=(12, 11), mode="bicubic"),
        ],
    ),
    "movement": (
        (X, Y, INTEGERS),
        [
            lambda x, y, i: (x.permute(2, 0, 1), x[0].T, x.flatten(1), x[:1].squeeze(0), x.movedim(0, 2)),
            lambda x, y, i: (x[:, 1:-1, ::2], x[:, -1], torch.cat([x[..., 0], i], 1), torch.stack([x, y], -1)),
            lambda x, y, i: (*x.split(2, -1), *x.split([1, 5], -1), *x.chunk(4, -1), *x.unbind(1)),
            lambda x, y, i: (x.repeat(2, 1, 3), x.repeat_interleave(2, 1), x.flip([0, -1]), x.roll([1, -2], [0, 2])),
            lambda x, y, i: (F.pad(x, (1, 2, 0, 1), value=3.0), x.tril(1), x.triu(-1), x.unfold(2, 3, 2)),
            lambda x, y, i: (assign(x, (slice(None), 1), 0.0), assign(x, (slice(None), slice(1, 3)), 0.0)),
            lambda x, y, i: (x.clone().add_(1).mul_(2), torch.diagonal(x, 1, 1, 2), torch.diagonal(x, -1, 2, 1)),
        ],
    ),
    "images": (
        (IMAGE,),
        [
            lambda a: [F.pad(a, (1, 2, 3, 1), mode=mode) for mode in ("reflect", "circular", "replicate")],
            lambda a: (F.pixel_shuffle(a, 2), F.pixel_unshuffle(a[..., :8, :], 2)),
        ],
    ),
    "indexing": (
        (X, INDEX),
        [
            lambda x, k: (x.index_select(0, k), x[k], x[k, k], x[k, :, k], x[:, k, k], x[k[:, None], k[None]], x[k, 1]),
            lambda x, k: (x.gather(1, torch.zeros(3, 1, 6, dtype=torch.long)), F.embedding(k, x[0]), F.one_hot(k, 4)),
        ],
    ),
    "ordering": (
        (X, INTEGERS),
        [
            lambda x, i: (*x.sort(-1), *x.sort(1, descending=True), *x.topk(3), *x.topk(2, 1, largest=False)),
            lambda x, i: (i.sort(dim=1, stable=True), torch.sort(i, dim=0, stable=True, descending=True), x.argsort(1)),
            lambda x, i: (x.cumprod(1), i.cumsum(0), i.cumprod(1), x.sum().cumsum(0)),
        ],
    ),
    "scattering": (
        (X, INTEGERS, INDEX, torch.randint(0, 3, (2, 3, 4))),
        [
            lambda x, i, at, p: (x.scatter(1, p, 7.0), x.scatter_add(1, p, x), x.scatter(1, p, x, reduce="multiply")),
            lambda x, i, at, p: (x.scatter_reduce(1, p, x, "amax"), x.scatter_reduce(1, p, x * 2, "sum")),
            lambda x, i, at, p: (i.scatter(0, at[None].expand(1, 3), i), i.index_copy(0, at, i + 1)),
            lambda x, i, at, p: (
                x.index_add(1, at, x[:, :3], alpha=2),
                x.index_add(2, at, x[..., :3]),
                i.index_add(0, at, i),
            ),
            lambda x, i, at, p: (assign(x, (at % 2, at), 5.0), assign(x, (slice(None), at, at), 0.0)),
            lambda x, i, at, p: (assign(x, (at % 2, slice(None), at), 1.0), assign(x, x > 0, 2.0), assign(i, at, i[0])),
            lambda x, i, at, p: x.index_put((at % 2, at), torch.ones(3, 6), accumulate=True),
        ],
    ),
    "creation": (
        (X,),
        [
            lambda x: torch.full((2, x.shape[0]), 3) + torch.zeros_like(x[0, :2, :3]),
            lambda x: (torch.arange(x.shape[0]) * x[:, 0, 0], torch.arange(0, 1, 0.25) + x[0, 0, 0]),
            lambda x: (torch.linspace(0, 1, 6) + x, torch.eye(6) + x[0, :1], x + torch.tensor(2.5)),
            lambda x: torch.meshgrid(x[0, 0], x[0, 1], indexing="ij"),
        ],
    ),
}

LAYERS: dict[str, tuple[nn.Module, torch.Tensor]] = {
    "convolution 1d": (nn.Conv1d(4, 5, 3, padding=1), X),
    "grouped convolution": (nn.Conv2d(4, 6, 3, 2, 1, dilation=2, groups=2), IMAGE),
    "same convolution": (nn.Conv2d(4, 6, 3, padding="same"), IMAGE),
    "transposed convolution": (nn.ConvTranspose2d(4, 6, 3, 2, 1, output_padding=1, groups=2), IMAGE),
    "convolution 3d": (nn.Conv3d(1, 2, 3), torch.randn(1, 1, 5, 6, 7)),
    "batch norm": (nn.BatchNorm2d(4), IMAGE),
    "batch norm without scale": (nn.BatchNorm1d(4, affine=False), X),
    "layer norm": (nn.LayerNorm([4, 6]), X),
    "layer norm without scale": (nn.LayerNorm(6, elementwise_affine=False), X),
    "group norm": (nn.GroupNorm(2, 4), IMAGE),
    "instance norm": (nn.InstanceNorm2d(4, affine=True), IMAGE),
    "rms norm": (nn.RMSNorm(6), X),
    "dropout": (nn.Dropout(), X),
    "encoder layer": (nn.TransformerEncoderLayer(6, 2, 16, batch_first=True), X),
    "gru": (nn.GRU(6, 5, batch_first=True), X),
    "lstm": (nn.LSTM(6, 5, 2, batch_first=True), X),
    "response norm": (nn.LocalResponseNorm(3), IMAGE),
    "channel shuffle": (nn.ChannelShuffle(2), IMAGE),
}


class All(nn.Module):  # type: ignore[misc]
    """Every case on the same inputs."""

    def __init__(self, cases: list[Case]) -> None:
        super().__init__()
        self.cases = cases

    def forward(self, *inputs: torch.Tensor) -> Any:
        return [case(*inputs) for case in self.cases]


def tensors(values: Any) -> list[torch.Tensor]:
    return [value for value in torch.utils._pytree.tree_leaves(values) if isinstance(value, torch.Tensor)]


def check(net: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
    net.eval()
    with torch.no_grad():
        expected = tensors(net(*inputs))
    module = perpend.import_model(net, example_inputs=inputs)
    compiled = perpend.compile(module)(*inputs)
    for results in (module.evaluate(*inputs), tensors(compiled)):
        for position, (result, reference) in enumerate(zip(results, expected, strict=True)):
            torch.testing.assert_close(
                result, reference, atol=1e-4, rtol=1e-4, msg=lambda text, at=position: f"output {at}: {text}"
            )


@pytest.mark.parametrize("group", GROUPS)
def test_group(group: str) -> None:
    inputs, cases = GROUPS[group]
    check(All(cases), inputs)


@pytest.mark.parametrize("layer", LAYERS)
def test_layer(layer: str) -> None:
    net, x = LAYERS[layer]
    check(net, (x,))


def test_nested_inputs_and_outputs() -> None:
    class Nested(nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor, pair: dict[str, torch.Tensor]) -> Any:
            return {"sum": x + pair["a"], "more": (x * pair["b"], [x - 1, None])}

    x, a, b = torch.randn(3, 2, 3)
    model = perpend.compile(Nested(), example_inputs=(x, {"a": a, "b": b}))
    assert [t.name for t in model.inputs] == ["x", "pair_a", "pair_b"]
    assert [t.name for t in model.outputs] == ["sum", "more_0", "more_1_0"]
    expected, results = Nested()(x, {"a": a, "b": b}), model(x, a, b)
    assert results["more"][1][1] is None
    torch.testing.assert_close(results, expected)


@dataclass
class Pair:
    first: Any
    second: Any


torch.export.register_dataclass(Pair)
STRUCTURES: dict[str, Callable[[torch.Tensor], Any]] = {
    "tensor": lambda x: x + 1,
    "tuple of one": lambda x: (x + 1,),
    "list": lambda x: [x + 1, x - 1],
    "tuple": lambda x: (x + 1, x - 1),
    "dict of one": lambda x: {"only": x + 1},
    "order of keys": lambda x: {"b": x + 1, "a": x - 1},
    "ordered dict": lambda x: OrderedDict(b=x + 1, a=[x - 1]),
    "nothing between": lambda x: (None, x + 1, None),
    "extents": lambda x: (x + 1, x.shape[0], [2 * x.shape[0]]),
    "dataclass": lambda x: Pair((x + 1, None), {"c": x - 1}),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_results_have_the_structure_of_the_module(name: str) -> None:
    class Net(nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor) -> Any:
            return STRUCTURES[name](x)

    module = perpend.import_model(
        Net(), example_inputs=(torch.ones(4, 2),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)
    )
    for model in (perpend.compile(module), perpend.compile(module, opt_level=0)):
        x = torch.randn(3, 2)
        results, expected = model(x), Net()(x)
        assert torch.utils._pytree.tree_structure(results) == torch.utils._pytree.tree_structure(expected)
        assert type(results) is type(expected)
        for result, reference in zip(*map(torch.utils._pytree.tree_leaves, (results, expected)), strict=True):
            assert type(result) is type(reference)
            if result is not None:
                torch.testing.assert_close(result, reference)
        if name == "dict of one":
            assert isinstance(model(x.numpy())["only"], np.ndarray)


@pytest.mark.parametrize("nothing", [(), [], {}, None, (None, {})])
def test_modules_that_return_nothing(nothing: Any) -> None:
    class Net(nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor) -> Any:
            return nothing

    with pytest.raises(perpend.CompileError, match="the model has no outputs"):
        perpend.import_model(Net(), example_inputs=(torch.ones(2),))


def test_shapes_follow_the_inputs() -> None:
    class Shapes(nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor) -> Any:
            batch, length = x.shape[:2]
            return (
                x.reshape(batch * length, -1),
                x[:, : length // 2],
                x[:, -1],
                torch.arange(length),
                x.new_ones(length + 1),
            )

    shapes = ({0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC},)
    model = perpend.compile(Shapes(), example_inputs=(torch.randn(2, 6, 3),), dynamic_shapes=shapes)
    for size in ((2, 6, 3), (3, 7, 3), (5, 2, 3)):
        x = torch.randn(size)
        for result, expected in zip(model(x), Shapes()(x), strict=True):
            torch.testing.assert_close(result, expected)


@torch.library.custom_op("perpend_tests::first", mutates_args=())
def first_of_nobody(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@torch.library.custom_op("perpend_tests::second", mutates_args=())
def second_of_nobody(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


first_of_nobody.register_fake(torch.empty_like)
second_of_nobody.register_fake(torch.empty_like)


def test_unsupported_operators_are_listed_at_once() -> None:
    def function(x: torch.Tensor) -> Any:
        return first_of_nobody(x), second_of_nobody(x), second_of_nobody(x + 1)

    with pytest.raises(perpend.CompileError) as failure:
        perpend.compile(All([function]), example_inputs=(torch.eye(3),))
    text = str(failure.value)
    assert "2 operators of this model are not supported" in text
    nodes = r"'second' at .*\.py:\d+, 'second_1' at .*\.py:\d+"
    assert re.search(rf"perpend_tests\.second\.default \(2 nodes\): {nodes}\n", text)
    assert "perpend_tests.first" in text


def test_what_pytorch_cannot_decompose() -> None:
    """One error, without PyTorch's listing of the graph."""
    function = torch.func.grad(lambda x: (x.sin() * x).sum())
    with pytest.raises(perpend.CompileError, match=r"^PyTorch's run_decompositions fails .*\nhint: try torch.compile"):
        perpend.compile(All([function]), example_inputs=(torch.ones(3),))


@pytest.mark.parametrize("constant", [2.5, True, "text"])
def test_constants_as_outputs(constant: Any) -> None:
    def function(x: torch.Tensor) -> Any:
        return {"y": x + 1, "what": constant}

    (result,) = perpend.compile(All([function]), example_inputs=(torch.eye(3),))(torch.eye(3))
    assert result["what"] == constant and type(result["what"]) is type(constant)


def test_errors_name_the_node() -> None:
    class Masked(nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor) -> Any:
            return torch.ops.aten.elu(x, 1.0, 1.0, 2.0)

    with pytest.raises(perpend.CompileError, match=r"node 'elu' \(aten.elu.default\): input_scale: expected 1"):
        perpend.compile(Masked(), example_inputs=(torch.randn(3),))
    with pytest.raises(perpend.CompileError, match="needs example inputs"):
        perpend.compile(Masked())


class Decides(nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if x.sum() > 3 else x * 2


class Fixes(nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.reshape(7, 3) * 2


class GivesAnObject(nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> object:
        return object()


class UsesNumpy(nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tensor(x.numpy().sum())


@pytest.mark.parametrize(
    ("net", "shapes", "hint"),
    [
        (Decides(), None, "GuardOnDataDependentSymNode: .*\nhint: .* torch.cond"),
        (Fixes(), ({0: Dim("n")},), "Constraints violated.*\nhint: in dynamic_shapes, leave out"),
        (Fixes(), ({0: Dim("n")}, None), "mismatch between .*\nhint: give dynamic_shapes one entry for each input"),
        (GivesAnObject(), None, r"not a known type.*\nhint: return tensors"),
        (UsesNumpy(), None, r"numpy.*\nhint: write with torch's operators"),
        (nn.LSTM(3, 2), ({0: Dim("n")},), "hint: .*LSTM, GRU and RNN layers only with .* dynamo=False"),
        (nn.Linear(4, 2), None, r"RuntimeError: .*\nhint: does model\(\*example_inputs\) run\?"),
    ],
)
def test_what_cannot_be_exported(net: nn.Module, shapes: Any, hint: str) -> None:
    """PyTorch's error, and what to do."""
    with pytest.raises(perpend.CompileError, match=f"(?s)^torch.export.export fails on this module: .*{hint}"):
        perpend.compile(net, example_inputs=(torch.ones(7, 3),), dynamic_shapes=shapes)


def test_examples_that_are_numpy_arrays() -> None:
    with pytest.raises(perpend.CompileError, match=r"\nhint: give tensors \(torch\.from_numpy"):
        perpend.compile(nn.Linear(3, 2), example_inputs=(np.ones((7, 3), np.float32),))


def test_composites_of_the_table_exist() -> None:
    for name in torch_operators.UNARY.split():
        assert perpend.GraphBuilder.has_composite(name), name


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_a_cast_to_f32_is_of_the_rounded_value(dtype: torch.dtype) -> None:
    """Also where the 16-bit value overflows, and whether it is an output too or not."""

    class Net(nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            square = x * x
            return square, square.float(), (x.float() * 1.1).half().float(), (x * 3).float() + 1

    x = torch.linspace(-9, 301, 64).to(dtype)
    net = Net().eval()
    results = perpend.compile(net, example_inputs=(x,))(x)
    for got, expected in zip(results, net(x), strict=True):
        torch.testing.assert_close(got.float(), expected.float(), rtol=0, atol=0)
