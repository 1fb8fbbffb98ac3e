"""Gradients of small networks in compiled models, against PyTorch, for batches of several sizes with one artifact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import perpend
import pytest
import torch
from numpy.typing import NDArray
from onnx import helper
from torch.nn import functional

TRAINING = "ai.onnx.preview.training"
Feeds = dict[str, NDArray[Any]]
generator = np.random.default_rng(0)


def normal(*shape: int) -> NDArray[np.float32]:
    return (0.5 * generator.standard_normal(shape)).astype(np.float32)


def with_gradient(text: str, weights: Feeds, opset: int = 17) -> onnx.ModelProto:
    """The model whose nodes compute "loss", with its gradients in the weights as further outputs."""
    header = f'<ir_version: 8, opset_import: ["" : {opset}, "{TRAINING}" : 1]>\n'
    model = onnx.parser.parse_model(header + text)
    names = list(weights)
    gradients = [f"d_{name}" for name in names]
    model.graph.node.append(helper.make_node("Gradient", names, gradients, domain=TRAINING, xs=names, y="loss"))
    for name, array in weights.items():
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        model.graph.input.append(helper.make_tensor_value_info(name, kind, array.shape))
    model.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in gradients)
    return model


def expect_as_torch(
    model: onnx.ModelProto,
    data: list[Feeds],
    weights: Feeds,
    loss: Callable[..., torch.Tensor],
    tolerance: float = 2e-4,
) -> None:
    compiled = perpend.compile(model)
    for feeds in data:
        got = compiled(**feeds, **weights)
        tensors = {name: torch.tensor(array, requires_grad=True) for name, array in weights.items()}
        expected = loss(**{name: torch.tensor(array) for name, array in feeds.items()}, **tensors)
        gradients = torch.autograd.grad(expected, list(tensors.values()))
        for name, mine, theirs in zip(["loss", *weights], got, [expected.detach(), *gradients], strict=True):
            scale = max(float(theirs.abs().max()), 1e-3)
            np.testing.assert_allclose(mine, theirs.numpy(), tolerance, tolerance * scale, err_msg=name)


def test_perceptron() -> None:
    text = """g (float[n, 20] x, int64[n] target) => (float loss) {
      h = Gemm(x, w1, b1)
      a = Gelu(h)
      scores = Gemm <transB = 1> (a, w2, b2)
      loss = SoftmaxCrossEntropyLoss <reduction = "mean"> (scores, target)
    }"""

    def loss(x: Any, target: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> torch.Tensor:
        return functional.cross_entropy(functional.gelu(x @ w1 + b1) @ w2.T + b2, target)

    weights: Feeds = {"w1": normal(20, 17), "b1": normal(17), "w2": normal(5, 17), "b2": normal(5)}
    data = [{"x": normal(n, 20), "target": generator.integers(0, 5, n)} for n in (1, 3, 64)]
    expect_as_torch(with_gradient(text, weights, opset=20), data, weights, loss)


CONVOLUTIONS = """g (float[n, 3, 14, 13] x) => (float loss)
    <float[6] mean = {0, 0, 0, 0, 0, 0}, float[6] variance = {1, 1, 1, 1, 1, 1}> {
  c1 = Conv <pads = [1, 1, 1, 1], strides = [1, 2]> (x, f1, b1)
  n1, m, v = BatchNormalization <training_mode = 1> (c1, scale, shift, mean, variance)
  r1 = Relu(n1)
  p1 = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (r1)
  c2 = Conv <group = 2, dilations = [2, 1]> (p1, f2)
  s2 = Sigmoid(c2)
  p2 = AveragePool <kernel_shape = [2, 2]> (s2)
  u = ConvTranspose <strides = [2, 2]> (p2, f3)
  g = GlobalAveragePool(u)
  square = Mul(g, g)
  loss = ReduceMean <keepdims = 0> (square)
}"""


def test_convolutions() -> None:
    def loss(x: Any, f1: Any, b1: Any, scale: Any, shift: Any, f2: Any, f3: Any) -> torch.Tensor:
        h = functional.conv2d(x, f1, b1, padding=1, stride=(1, 2))
        h = functional.relu(functional.batch_norm(h, None, None, scale, shift, training=True))
        h = functional.max_pool2d(h, 3, 2, 1)
        h = functional.avg_pool2d(torch.sigmoid(functional.conv2d(h, f2, groups=2, dilation=(2, 1))), 2, 1)
        h = functional.conv_transpose2d(h, f3, stride=2).mean((2, 3))
        return (h * h).mean()

    weights: Feeds = {"f1": normal(6, 3, 3, 3), "b1": normal(6), "scale": normal(6), "shift": normal(6)}
    weights |= {"f2": normal(4, 3, 2, 2), "f3": normal(4, 3, 3, 2)}
    data: list[Feeds] = [{"x": normal(n, 3, 14, 13)} for n in (1, 2, 7)]
    expect_as_torch(with_gradient(CONVOLUTIONS, weights), data, weights, loss, 2e-3)


ATTENTION = """g (int64[n, t] tokens, float[n, t, 12] target) => (float loss)
    <int64[4] heads = {0, 0, 3, 4}, int64[3] merged = {0, 0, 12}, float half = {0.5}> {
  x = Gather(table, tokens)
  l = LayerNormalization <axis = -1> (x, scale, shift)
  q0 = MatMul(l, wq)
  q1 = Reshape(q0, heads)
  q = Transpose <perm = [0, 2, 1, 3]> (q1)
  k0 = MatMul(l, wk)
  k1 = Reshape(k0, heads)
  k = Transpose <perm = [0, 2, 3, 1]> (k1)
  v0 = MatMul(l, wv)
  v1 = Reshape(v0, heads)
  v = Transpose <perm = [0, 2, 1, 3]> (v1)
  scores = MatMul(q, k)
  scaled = Mul(scores, half)
  p = Softmax(scaled)
  o = MatMul(p, v)
  o1 = Transpose <perm = [0, 2, 1, 3]> (o)
  o2 = Reshape(o1, merged)
  y = Add(o2, x)
  d = Sub(y, target)
  loss = ReduceL2 <keepdims = 0> (d)
}"""


def test_attention() -> None:
    def loss(tokens: Any, target: Any, table: Any, scale: Any, shift: Any, wq: Any, wk: Any, wv: Any) -> torch.Tensor:
        x = functional.embedding(tokens, table)
        h = functional.layer_norm(x, (12,), scale, shift)
        q, k, v = ((h @ w).unflatten(-1, (3, 4)).transpose(1, 2) for w in (wq, wk, wv))
        o = torch.softmax(0.5 * q @ k.transpose(-1, -2), -1) @ v
        return torch.linalg.vector_norm(o.transpose(1, 2).flatten(2) + x - target)

    weights: Feeds = {"table": normal(11, 12), "scale": normal(12), "shift": normal(12)}
    weights |= {name: normal(12, 12) for name in ("wq", "wk", "wv")}
    data: list[Feeds] = [
        {"tokens": generator.integers(0, 11, (n, t)), "target": normal(n, t, 12)} for n, t in ((1, 1), (2, 7), (5, 13))
    ]
    expect_as_torch(with_gradient(ATTENTION, weights), data, weights, loss)


@pytest.mark.parametrize("function", ["add", "max", "mul"])
def test_scatter_and_order(function: str) -> None:
    text = f"""g (int64[n, 3] at, float[n, 3] u) => (float loss) <int64 zero = {{0}}, int64[1] two = {{2}}> {{
      s = ScatterElements <axis = 0, reduction = "{function}"> (x, at, w)
      c = CumSum(s, zero)
      top, where = TopK <axis = 0> (c, two)
      g = GatherElements <axis = 0> (c, at)
      m = Mul(g, u)
      a = ReduceSum <keepdims = 0> (m)
      b = ReduceProd <keepdims = 0> (top)
      loss = Add(a, b)
    }}"""
    weights: Feeds = {"x": normal(5, 3), "w": normal(4, 3)}
    data: list[Feeds] = [{"at": generator.integers(0, 5, (4, 3)), "u": normal(4, 3)}]
    model = with_gradient(text, weights, opset=18)
    if function == "mul":
        with pytest.raises(perpend.CompileError, match=r"node 's' \(ScatterElements\): no derivative of products"):
            perpend.compile(model)
        return
    reduction = {"add": "sum", "max": "amax"}[function]

    def loss(at: Any, u: Any, x: Any, w: Any) -> torch.Tensor:
        c = torch.scatter_reduce(x, 0, at, w, reduction).cumsum(0)
        return (c.gather(0, at) * u).sum() + c.topk(2, 0).values.prod()

    expect_as_torch(model, data, weights, loss)


@pytest.mark.parametrize("function", ["Softmax", "LogSoftmax", "ReduceLogSumExp"])
def test_shift_of_exponents_adds_no_error(function: str) -> None:
    """The largest exponent cancels; a gradient through it would be the rounding error of a sum that is 0."""
    text = f"g (float[n, 256] x) => (float loss) {{ y = {function}(x) s = Mul(y, y) loss = ReduceSum(s) }}"
    weights: Feeds = {"x": 0.2 * normal(50, 256)}
    model = with_gradient(text.replace("float[n, 256] x", ""), weights)
    got = perpend.compile(model)(**weights)[1]
    x = torch.tensor(weights["x"], dtype=torch.float64, requires_grad=True)
    y = {"Softmax": torch.softmax, "LogSoftmax": torch.log_softmax, "ReduceLogSumExp": lambda x, _: x.logsumexp((0, 1))}
    expected = torch.autograd.grad((y[function](x, -1) ** 2).sum(), x)[0].numpy()
    np.testing.assert_allclose(got, expected, 0, 5e-6 * np.abs(expected).max())
