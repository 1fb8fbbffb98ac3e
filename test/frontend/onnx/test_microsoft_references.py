"""Operators of the domain com.microsoft that ONNX Runtime has for other processors only, against numpy."""

import numpy as np
import perpend
import pytest
from microsoft_cases import Case, bytes_of, int32
from operator_cases import integers, normal
from test_microsoft_operators import build


def softmax(x, axes):
    powers = np.exp(x - x.max(axes, keepdims=True))
    return powers / powers.sum(axes, keepdims=True)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def complex_of(x):
    return x[..., 0] + 1j * x[..., 1]


def pair_of(z):
    return np.stack([z.real, z.imag], -1)


def conv(x, filters, bias):
    """x [n, c, h, w], padded by 1; filters [o, c, 3, 3]."""
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, filters) + bias[:, None, None]


def nhwc_conv(x, filters, bias, added=None):
    result = conv(x.transpose(0, 3, 1, 2), filters, bias).transpose(0, 2, 3, 1)
    return result if added is None else np.maximum(result + added, 0)


def gemma(angles, query, query_half, key, key_half):
    sine, cosine = np.sin(angles)[:, None], np.cos(angles)[:, None]
    return query * cosine + query_half * sine, key * cosine + key_half * sine


CASES = [
    (
        Case("BiasSoftmax", [normal(2, 3, 4, 5), normal(2, 1, 1, 5)], 1, {"axis": 3, "is_inner_broadcast": 1}),
        lambda x, bias: softmax(x + bias, -1),
    ),
    (
        Case("BiasSoftmax", [normal(2, 3, 4), normal(3, 4)], 1, {"axis": 1, "is_inner_broadcast": 0}),
        lambda x, bias: softmax(x + bias, (1, 2)),
    ),
    (
        Case("BiasDropout", [normal(2, 5), normal(5), normal(2, 5)], 2, {}),
        lambda x, bias, residual: (x + bias + residual, np.ones(x.shape, bool)),
    ),
    (Case("GemmFastGelu", [normal(2, 3, 5), normal(5, 4), normal(4)], 1, {}), lambda x, w, b: gelu(x @ w + b)),
    (
        Case(
            "FusedMatMulActivation", [normal(3, 5), normal(4, 5)], 1, {"activation": "Relu", "transB": 1, "alpha": 2.0}
        ),
        lambda a, b: np.maximum(2 * a @ b.T, 0),
    ),
    (Case("NhwcConv", [normal(2, 5, 6, 3), normal(4, 3, 3, 3), normal(4)], 1, {"pads": [1] * 4}), nhwc_conv),
    (
        Case(
            "NhwcFusedConv",
            [normal(2, 5, 6, 3), normal(4, 3, 3, 3), normal(4), normal(2, 5, 6, 4)],
            1,
            {"pads": [1] * 4, "activation": "Relu"},
        ),
        nhwc_conv,
    ),
    (Case("ComplexMul", [normal(3, 4, 2), normal(4, 2)], 1, {}), lambda a, b: pair_of(complex_of(a) * complex_of(b))),
    (
        Case("ComplexMulConj", [normal(3, 4, 2), normal(3, 4, 2)], 1, {}),
        lambda a, b: pair_of(complex_of(a) * np.conj(complex_of(b))),
    ),
    (Case("Rfft", [normal(3, 8)], 1, {"signal_ndim": 1}), lambda x: pair_of(np.fft.rfft(x))),
    (Case("Irfft", [normal(3, 5, 2)], 1, {"signal_ndim": 1}), lambda x: np.fft.irfft(complex_of(x))),
    (
        Case("MulInteger", [bytes_of(3, 4), np.array(7, np.uint8), bytes_of(4), None], 1, {}),
        lambda a, zero, b: (a.astype(np.int32) - int(zero)) * b,
    ),
    (
        Case("ReduceSumInteger", [bytes_of(3, 4, 5, dtype=np.int8)], 1, {"axes": [0, 2], "keepdims": 1}),
        lambda x: x.astype(np.int32).sum((0, 2), keepdims=True),
    ),
    (
        Case("TorchEmbedding", [normal(9, 4), integers(0, 9, 2, 3)], 1, {}),
        lambda weights, indices: weights[indices],
    ),
    (
        Case("GemmaRotaryEmbedding", [normal(2, 3, 4), *(normal(2, 5, 3, 4) for _ in range(4))], 2, {}),
        gemma,
    ),
    *(
        (
            Case("IsAllFinite", [normal(2, 3), np.array([1, value], np.float32)], 1, attributes, label=str(value)),
            lambda x, y, result=result: np.array(result),
        )
        for value, attributes, result in [
            (1, {}, True),
            (np.nan, {}, False),
            (-np.inf, {}, False),
            (np.inf, {"isnan_only": 1}, True),
            (np.nan, {"isinf_only": 1}, True),
            (np.nan, {"isnan_only": 1}, False),
        ]
    ),
]


@pytest.mark.parametrize(("case", "reference"), CASES, ids=lambda value: str(value) if isinstance(value, Case) else "")
def test_operator(case, reference):
    model, feeds = build(case, dynamic=False)
    results, expected = perpend.compile(model)(**feeds), reference(*feeds.values())
    as_tuple = lambda value: value if isinstance(value, tuple) else (value,)  # noqa: E731
    for got, wanted in zip(as_tuple(results), as_tuple(expected), strict=True):
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got, wanted, 2e-5, 2e-5)


def test_experts_with_a_third_layer():
    """Of the other processors' kernels: relu(x w1 + b1) (x w3 + b3) w2 + b2."""
    x, scores = normal(5, 6), normal(5, 3)
    w1, b1, w2, b2, w3, b3 = (normal(3, *shape) for shape in [(4, 6), (4,), (6, 4), (6,), (4, 6), (4,)])
    model, feeds = build(Case("MoE", [x, scores, w1, b1, w2, b2, w3, b3], 1, {"k": 2}), dynamic=False)
    shares, expected = softmax(scores, -1), np.zeros_like(x)
    for token, row in enumerate(shares):
        for expert in np.argsort(-row)[:2]:
            hidden = np.maximum(w1[expert] @ x[token] + b1[expert], 0) * (w3[expert] @ x[token] + b3[expert])
            expected[token] += row[expert] * (w2[expert] @ hidden + b2[expert])
    np.testing.assert_allclose(perpend.compile(model)(**feeds), expected, 2e-5, 2e-5)


REFUSED = [
    ("Rfft", [normal(2, 8)], {"signal_ndim": 2}, "signals of one dimension"),
    (
        "MoE",
        [normal(2, 8), normal(2, 3), normal(3, 4, 8), None, normal(3, 8, 4)],
        {"use_sparse_mixer": 1},
        "use_sparse_mixer",
    ),
    ("Inverse", [normal(2, 3)], {}, "expected square matrices"),
    ("UnfoldTensor", [normal(2, 3)], {"size": 4}, "expected windows of at most 3 elements, got 4"),
    (
        "MRotaryEmbedding",
        [normal(1, 2, 8), integers(0, 3, 3, 1, 2), normal(3, 4), normal(3, 4)],
        {"mrope_section": [1, 1]},
        "three sizes in mrope_section",
    ),
    (
        "CropAndResize",
        [normal(1, 1, 2, 2), normal(1, 4), int32(0), int32(2, 2)],
        {"mode": "cubic"},
        "the mode bilinear or nearest",
    ),
    (
        "MRotaryEmbedding",
        [normal(1, 2, 8), integers(0, 3, 3, 1, 2), normal(3, 4), normal(3, 4)],
        {"mrope_section": [2**62, 2**62, 2**62]},
        "sizes in mrope_section .* 4 columns",
    ),
    (
        "MRotaryEmbedding",
        [normal(1, 2, 8), integers(0, 3, 3, 1, 2), normal(3, 4), normal(3, 4)],
        {"mrope_section": [2**40, 0, 0]},
        "sizes in mrope_section .* 4 columns",
    ),
    (
        "MRotaryEmbedding",
        [normal(1, 2, 8), integers(0, 3, 3, 1, 2), normal(3, 4), normal(3, 5)],
        {"mrope_section": [2, 1, 1]},
        "sizes in mrope_section .* 5 columns",
    ),
    ("GatedRMSNorm", [normal(2, 8), normal(2, 4), normal(2, 8)], {}, r"expected a scale of rank 1, got shape \[2, 4\]"),
    ("BranchwiseRMSNorm", [normal(8)], {}, r"or num_branches and .*, got shape \[8\] and 0 branches"),
    ("NGramRepeatBlock", [integers(0, 3, 2, 3, 1), normal(2, 5)], {"ngram_size": 2}, r"rank 2, got shape \[2, 3, 1\]"),
    ("NhwcFusedConv", [normal(2, 8), normal(4, 8)], {}, r"channels.*, got shape \[2, 8\]"),
    ("GemmaRotaryEmbedding", [normal(2, 8), *[normal(1, 1, 2, 8)] * 4], {}, r"angles of rank 3, got shape \[2, 8\]"),
    (
        "GroupQueryAttention",
        [normal(2, 3, 33), None, None, None, None, int32(2, 2), np.array(3, np.int32)],
        {"num_heads": 4, "kv_num_heads": 2},
        "width divides by num_heads and twice kv_num_heads together, 8, got 33",
    ),
]


@pytest.mark.parametrize(("op", "inputs", "attributes", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refusals_name_the_node(op, inputs, attributes, message):
    model, _ = build(Case(op, inputs, 2 if op == "GemmaRotaryEmbedding" else 1, attributes), dynamic=False)
    with pytest.raises(perpend.CompileError, match=f"node 'node' .*{message}"):
        perpend.compile(model)


def experts(tokens=5, router=(5, 4), first=(4, 16, 8), bias=(4, 16), second=(4, 8, 16)):
    return [normal(tokens, 8), normal(*router), normal(*first), normal(*bias), normal(*second)]


def quantised_experts(first=(4, 64, 16), scales=(4, 64), second=(4, 32, 32), others=(4, 32)):
    return [normal(5, 32), normal(5, 4), bytes_of(*first), normal(*scales), None, bytes_of(*second), normal(*others)]


SILU = {"activation_type": "silu", "k": 2}
REFUSED_EXPERTS = [
    ("MoE", experts(), {"activation_type": "foo"}, "the activation 'foo' is not supported"),
    ("QMoE", quantised_experts(), {"activation_type": "foo"}, "the activation 'foo' is not supported"),
    ("MoE", experts(first=(4, 16, 9)), {}, r"first layer, weights: expected shape \[4, 16, 8\], got \[4, 16, 9\]"),
    ("MoE", experts(second=(4, 8, 17)), {}, r"second layer, weights: expected shape \[4, 8, 16\], got \[4, 8, 17\]"),
    ("MoE", experts(second=(4, 9, 16)), {}, r"second layer, weights: expected shape \[4, 8, 16\], got \[4, 9, 16\]"),
    ("MoE", experts(second=(3, 8, 16)), {}, r"second layer, weights: expected shape \[4, 8, 16\], got \[3, 8, 16\]"),
    ("MoE", experts(bias=(3, 16)), {}, r"first layer, bias: expected shape \[4, 16\], got \[3, 16\]"),
    ("MoE", experts(bias=(16,)), {}, r"first layer, bias: expected shape \[4, 16\], got \[16\]"),
    (
        "MoE",
        experts(first=(4, 17, 8), bias=(4, 17)),
        {"activation_type": "swiglu"},
        "an even number of rows in the weights of the first layer, got 17",
    ),
    ("MoE", experts(router=(5, 6)), {}, r"router_probs: expected shape \[5, 4\], got \[5, 6\]"),
    ("MoE", experts(router=(3, 4)), {}, r"router_probs: expected shape \[5, 4\], got \[3, 4\]"),
    ("MoE", experts(), {"k": 0}, "expected k from 1 to the number of experts, 4, got 0"),
    ("MoE", experts(), {"k": 5}, "expected k from 1 to the number of experts, 4, got 5"),
    (
        "QMoE",
        quantised_experts(scales=(4, 32)),
        SILU,
        r"first layer, scales: expected shape \[4, 64\], got \[4, 32\]",
    ),
    (
        "QMoE",
        quantised_experts(scales=(4, 64, 3), others=(4, 32, 4)),
        SILU | {"block_size": 16},
        r"first layer, scales: expected shape \[4, 64, 2\], got \[4, 64, 3\]",
    ),
    ("QMoE", quantised_experts(first=(4, 64, 15)), SILU, r"first layer, weights: expected shape \[4, 64, 16\]"),
    (
        "QMoE",
        [*quantised_experts(), *[None] * 4, bytes_of(4, 31)],
        SILU,
        r"first layer, zero points: expected shape \[4, 32\], got \[4, 31\]",
    ),
]


@pytest.mark.parametrize(("op", "inputs", "attributes", "message"), REFUSED_EXPERTS)
def test_experts_that_do_not_fit(op, inputs, attributes, message):
    model, _ = build(Case(op, inputs, 2 if op == "GemmaRotaryEmbedding" else 1, attributes), dynamic=False)
    with pytest.raises(perpend.CompileError, match=f"node 'node' .*{message}"):
        perpend.compile(model)


@pytest.mark.parametrize(("position", "axis"), [(1, 0), (1, 1), (2, 0), (3, 1), (4, 1), (4, 2)])
def test_experts_that_do_not_fit_when_they_run(position, axis):
    inputs = experts()
    model, feeds = build(Case("MoE", inputs, 1, {}, symbols={(position, axis): "n"}), dynamic=True)
    compiled = perpend.compile(model)
    compiled(**feeds)
    shape = list(inputs[position].shape)
    shape[axis] += 1
    with pytest.raises(ValueError, match=r"router_probs|layer"):
        compiled(**feeds | {f"input{position}": normal(*shape)})


# The shapes of NGramHashMapping's inputs by position: 2 rows of 7 tokens, n-grams up to 3, two heads.
NGRAMS = {1: (3,), 2: (4,), 3: (2, 2), 4: (4,), 6: (2, 7)}
WRONG_NGRAMS = [(1, (4,)), (1, (2,)), (2, (3,)), (2, (6,)), (3, (2, 3)), (3, (2, 1)), (3, (1, 2)), (4, (1,)),
                (6, (2, 6)), (6, (1, 7))]  # fmt: skip


def ngrams(position=None, shape=None):
    arrays = {0: integers(1, 9, 2, 7, dtype=np.int64)}
    for index, extents in (NGRAMS | ({} if position is None else {position: shape})).items():
        arrays[index] = integers(1, 9, *extents, dtype=np.int32 if index == 6 else np.int64)
    return [arrays.get(index) for index in range(7)]


@pytest.mark.parametrize(("position", "shape"), WRONG_NGRAMS)
def test_ngrams_that_do_not_fit(position, shape):
    attributes = {"max_ngram_size": 3, "n_head_per_ngram": 2, "pad_id": 0}
    model, _ = build(Case("NGramHashMapping", ngrams(position, shape), 2, attributes), dynamic=False)
    with pytest.raises(perpend.CompileError, match=r"node 'node' .*: expected shape \[.*\], got \["):
        perpend.compile(model)
    symbols = {(position, axis): f"s{axis}" for axis in range(len(shape))}
    model, feeds = build(Case("NGramHashMapping", ngrams(), 2, attributes, symbols=symbols), dynamic=True)
    compiled = perpend.compile(model)
    compiled(**feeds)
    wrong = integers(1, 9, *shape, dtype=feeds[f"input{position}"].dtype)
    with pytest.raises(ValueError, match=r"node 'node'.*: expected shape \[.*\], got \["):
        compiled(**feeds | {f"input{position}": wrong})


def test_sections_of_tables_known_at_run_time():
    inputs = [normal(1, 2, 8), integers(0, 3, 3, 1, 2), normal(3, 4), normal(3, 4)]
    symbols = {(2, 1): "pairs", (3, 1): "pairs"}
    case = Case("MRotaryEmbedding", inputs, 1, {"mrope_section": [2**40, 0, 0]}, symbols=symbols)
    with pytest.raises(perpend.CompileError, match="sizes in mrope_section"):
        perpend.compile(build(case, dynamic=True)[0])
