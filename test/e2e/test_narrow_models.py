"""Models in bf16 and f16: values are rounded where the model has them, products see operands of that type, and weights
are stored in it."""

from __future__ import annotations

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import perpend
import pytest
import torch
from e2e.models import run_tool
from onnx import TensorProto, helper, numpy_helper
from torch import nn

NARROW = [torch.bfloat16, torch.float16]
TYPES = [(TensorProto.BFLOAT16, ml_dtypes.bfloat16), (TensorProto.FLOAT16, np.float16)]


class Elementwise(nn.Module):
    """Each operator rounds, whatever is between it and the next one that computes."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        scaled = x * y
        turned = (scaled.t().reshape(-1) * 3).reshape(scaled.shape[1], -1).t() - scaled
        joined = torch.cat([scaled, scaled + y], 1)[:, 1:] * joined_factor(y)
        pooled = nn.functional.max_pool1d((x + y)[None], 2) * 7
        return scaled + y, turned.relu() - y, joined, pooled, (scaled + y).sum(1) - y[:, 0]


def joined_factor(y: torch.Tensor) -> torch.Tensor:
    return torch.cat([y, y], 1)[:, 1:]


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_operators_round_their_results(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x, y = (torch.randn(5, 8).to(dtype) for _ in range(2))
    net = Elementwise().eval()
    for got, expected in zip(perpend.compile(net, example_inputs=(x, y))(x, y), net(x, y), strict=True):
        assert torch.equal(got, expected)


@pytest.mark.parametrize(("code", "dtype"), TYPES)
def test_nodes_round_their_results(tmp_path: Path, code: int, dtype: type) -> None:
    """A product of f16 or bf16 is rounded before the next node reads it."""
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((5, 8)).astype(dtype) for _ in range(2))
    nodes = [
        helper.make_node("Mul", ["x", "y"], ["product"]),
        helper.make_node("Transpose", ["product"], ["turned"]),
        helper.make_node("Transpose", ["turned"], ["back"]),
        helper.make_node("Relu", ["back"], ["positive"]),
        helper.make_node("Sub", ["positive", "y"], ["z"]),
    ]
    infos = [helper.make_tensor_value_info(name, code, [5, 8]) for name in "xyz"]
    graph = helper.make_graph(nodes, "rounded", infos[:2], infos[2:])
    path = str(tmp_path / "m.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    result = np.asarray(perpend.compile(path)(x, y)).view(dtype)
    product = (x.astype(np.float32) * y.astype(np.float32)).astype(dtype)
    expected = (np.maximum(product, dtype(0)).astype(np.float32) - y.astype(np.float32)).astype(dtype)
    np.testing.assert_array_equal(result.astype(np.float32), expected.astype(np.float32))


class Blocks(nn.Module):
    """Products with everything between them that models have there."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.ModuleList(nn.Linear(width, width) for _ in range(5))
        self.norm = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.linear[0](x).relu()
        x = x + self.linear[1](self.norm(x))
        x = self.linear[2](nn.functional.gelu(x).reshape(-1, 2, x.shape[1] // 2).transpose(0, 1).reshape(x.shape))
        x = self.linear[3](x * x.sigmoid())
        return self.linear[4](x.softmax(1))


def products_of(module: str) -> list[str]:
    return re.findall(r"= tile\.matmul .* : \((.*)\) ->", module)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_products_of_a_narrow_model(tmp_path: Path, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    width, name = 320, {torch.bfloat16: "bf16", torch.float16: "f16"}[dtype]
    net, x = Blocks(width).to(dtype).eval(), torch.randn(64, width).to(dtype)
    module = perpend.import_model(net, example_inputs=(x,))
    (tmp_path / "m.mlir").write_bytes(module.to_bytes())
    text = run_tool("compile", "m.mlir", "--target", "sapphirerapids", "--stop-after", "pack", folder=tmp_path)
    products = products_of(text)
    assert len(products) == 5
    for product in products:
        left, right = product.split(", ", 1)
        assert right.endswith(f"x{name}>") and (name == "f16" or left.endswith("xbf16>")), product
    model = perpend.compile(net, example_inputs=(x,))
    model.save(tmp_path / "m.so")
    weights = sum(parameter.numel() * 2 for parameter in net.parameters())
    if name == "f16" or "avx512bf16" in str(model.description["isa"]):
        assert (tmp_path / "m.so").stat().st_size < 1.05 * weights + (100 << 10)
    torch.testing.assert_close(model(x), net(x), rtol=2e-2, atol=2e-2)


class Tied(nn.Module):
    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.words, self.out = nn.Embedding(words, width), nn.Linear(width, words, bias=False)
        self.out.weight = self.words.weight

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.out(self.words(words).relu())


@pytest.mark.parametrize("dtype", [*NARROW, torch.float32], ids=str)
@pytest.mark.parametrize("dynamic", [{}, {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}], ids=len)
def test_a_table_that_is_also_a_product_s_weights(
    tmp_path: Path, dtype: torch.dtype, dynamic: dict[int, object]
) -> None:
    """Lies there as it is, for its rows, and in panels, for the product: both in its own type."""
    net = Tied(4000, 128).to(dtype).eval()
    words = torch.arange(10).reshape(2, 5)
    model = perpend.compile(net, example_inputs=(words,), dynamic_shapes=(dynamic,))
    model.save(tmp_path / "m.so")
    weights = net.words.weight
    assert (tmp_path / "m.so").stat().st_size < 2.05 * weights.numel() * weights.element_size() + (100 << 10)
    torch.testing.assert_close(model(words), net(words), rtol=2e-2, atol=1e-2)


@pytest.mark.parametrize(
    ("edge", "kept"),
    [
        (65504, "f16"),
        (65520, "f32"),
        (2.0**-24, "f16"),
        (3 * 2.0**-25, "f32"),
        (2.0**-149, "f32"),
        (-0.0, "f16"),
        ((1 + 2.0**-9) * 2**-15, "f16"),
        ((1 + 2.0**-10) * 2**-15, "f32"),
        (1 + 2.0**-11, "f32"),
        (np.inf, "f16"),
        (np.nan, "f32"),
    ],
)
def test_numbers_of_f16_are_told_from_others(tmp_path: Path, edge: float, kept: str) -> None:
    """Weights of f32 that one row reads are kept in f16 where each of them is one of its numbers."""
    weights = np.full((512, 1024), 1 + 2.0**-10, np.float32)
    weights[0] = np.float32(0.5)
    weights[300, 700] = edge
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, c]) for n, c in (("x", 512), ("y", 1024)))
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph([node], "product", [x], [y], [numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    text = run_tool("compile", "m.onnx", "--target", "x86-64-v3", "--stop-after", "pack", folder=tmp_path)
    assert [product.rsplit("x", 1)[1] for product in products_of(text)] == [f"{kept}>"]
