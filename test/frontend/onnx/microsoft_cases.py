"""Models of one com.microsoft operator each, for test_microsoft_operators.py. Extents are odd where they can be."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from operator_cases import booleans, float_scalar, integers, normal, positive


@dataclass
class Case:
    op: str
    inputs: list[Any]
    outputs: int
    attributes: dict[str, Any]
    domain: str = "com.microsoft"
    # Names of symbolic dimensions, by position of the input and axis.
    symbols: dict[tuple[int, int], str] = field(default_factory=dict)
    label: str = ""
    # Inputs that are initializers.
    constants: tuple[int, ...] = ()
    # Results of 8 bits may differ by this, where ONNX Runtime's own rounding differs.
    slack: int = 0
    # How many results ONNX Runtime defines in full.
    compared: int = 9

    def __str__(self):
        attributes = ",".join(f"{name}={value}" for name, value in self.attributes.items())
        return f"{self.op}-{self.label}-{attributes}"


CASES: list[Case] = []


def case(
    op,
    inputs,
    outputs=1,
    *,
    domain="com.microsoft",
    symbols=None,
    label="",
    constants=(),
    slack=0,
    compared=9,
    **attributes,
):
    CASES.append(Case(op, inputs, outputs, attributes, domain, symbols or {}, label, tuple(constants), slack, compared))


def half(array):
    return array.astype(np.float16)


def int32(*values):
    return np.array(values, np.int32)


def bytes_of(*shape, dtype=np.uint8):
    info = np.iinfo(dtype)
    return integers(info.min, info.max + 1, *shape, dtype=dtype)


def narrow(weights):
    """Signed weights of 7 bits: where a processor has no dot product of bytes, ONNX Runtime's sums of two products
    saturate at 16 bits."""
    return weights // 2 if weights.dtype == np.int8 else weights


def zero(value, dtype=np.uint8):
    return np.array(value, dtype)


B, S, L, H, D = 2, 3, 5, 3, 4
E = H * D

# Activations.
for op in ["Gelu", "QuickGelu", "FastGelu"]:
    case(op, [normal(2, 3, 5)], symbols={(0, 0): "n", (0, 1): "s"})
case("QuickGelu", [normal(2, 5)], alpha=0.7)
case("FastGelu", [normal(2, 3, 5), normal(5)])
case("BiasGelu", [normal(2, 3, 5), normal(5)], symbols={(0, 1): "s"})

# Normalisations.
for domain in ["", "com.microsoft"]:
    if domain == "":
        case("SimplifiedLayerNormalization", [normal(2, 3, 7), normal(7)], domain=domain, epsilon=1e-3, axis=-1)
case("SkipLayerNormalization", [normal(B, S, 7), normal(B, S, 7), normal(7), normal(7), normal(7)], 4, epsilon=1e-3)
case("SkipLayerNormalization", [normal(B, S, 7), normal(B, S, 7), normal(7)], symbols={(0, 0): "b", (1, 0): "b"})
case("SkipLayerNormalization", [normal(B, S, 7), normal(S, 7), normal(7), normal(7)], label="broadcast")
case("SkipLayerNormalization", [half(normal(B, S, 7)), half(normal(B, S, 7)), half(normal(7)), half(normal(7))])
case("SkipSimplifiedLayerNormalization", [normal(B, S, 7), normal(B, S, 7), normal(7), normal(7)], 4, epsilon=1e-3)
case("SkipSimplifiedLayerNormalization", [half(normal(B, S, 7)), half(normal(B, S, 7)), half(normal(7))], label="f16")
for with_mask in [False, True]:
    case(
        "EmbedLayerNormalization",
        [
            integers(0, 9, B, S, dtype=np.int32),
            integers(0, 2, B, S, dtype=np.int32),
            normal(9, 7),
            normal(11, 7),
            normal(2, 7),
            normal(7),
            normal(7),
            integers(-1, 4, B, S, dtype=np.int32) if with_mask else None,  # only ones count
        ],
        3,
        epsilon=1e-5,
    )
case(
    "EmbedLayerNormalization",
    [
        integers(0, 9, B, S, dtype=np.int32),
        None,
        normal(9, 7),
        normal(11, 7),
        None,
        normal(7),
        normal(7),
        None,
        integers(0, 11, B, S, dtype=np.int32),
    ],
    2,
    label="positions",
)

# Products.
case("FusedMatMul", [normal(2, 3, 5), normal(2, 5, 7)], alpha=0.3, symbols={(0, 1): "m"})
case("FusedMatMul", [normal(2, 5, 3), normal(2, 7, 5)], transA=1, transB=1)
case("FusedMatMul", [normal(3, 2, 5), normal(5, 2, 7)], transBatchA=1, transBatchB=1, alpha=2.0)
case("FusedMatMul", [normal(5, 2, 3), normal(7, 2, 5)], transA=1, transBatchA=1, transB=1, transBatchB=1)
case("TransposeMatMul", [normal(5, 3), normal(5, 7)], transA=1)
case("FusedGemm", [normal(5, 3), normal(7, 5), normal(7)], transA=1, transB=1, alpha=0.5, beta=2.0, activation="Relu")
case("FusedGemm", [normal(3, 5), normal(5, 7)], activation="LeakyRelu", activation_alpha=0.3)
for name, parameters in {"Relu": [], "LeakyRelu": [0.2], "Clip": [-0.5, 0.75], "HardSigmoid": [0.3, 0.4]}.items():
    given = {"activation_params": parameters} if parameters else {}
    case("FusedConv", [normal(1, 3, 5, 7), normal(2, 3, 3, 3), normal(2)], activation=name, **given)
case("FusedConv", [normal(1, 3, 5, 7), normal(2, 3, 3, 3), normal(2), normal(1, 2, 3, 5)], activation="Relu")
case("CDist", [normal(5, 3), normal(7, 3)], metric="euclidean", symbols={(0, 0): "n"})
case("CDist", [normal(5, 3), normal(7, 3)], metric="sqeuclidean")

# Shapes.
case("ExpandDims", [normal(2, 3), np.array(-1, np.int32)], constants=[1])
case("GatherND", [normal(3, 4, 5), integers(0, 3, 7, 2)])
case("Pad", [normal(2, 3), np.array([1, 0, 2, 3]), float_scalar(0.5)], constants=[1, 2], mode="constant")
case("Range", [float_scalar(1.0), float_scalar(7.5), float_scalar(1.5)], constants=[0, 1, 2])
case("Range", [np.array(2, np.int64), np.array(9, np.int64)], constants=[0, 1])
case("Trilu", [normal(2, 5, 3), np.array(1, np.int64)], constants=[1], upper=0)
case("NhwcMaxPool", [bytes_of(2, 7, 5, 3)], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])

# Rotary embedding.
TABLES = [normal(11, 2), normal(11, 2)]
IDS = integers(0, 11, B, S)
case("RotaryEmbedding", [normal(B, S, E), IDS, *TABLES], symbols={(0, 0): "b", (1, 0): "b"})
case("RotaryEmbedding", [normal(B, H, S, D), IDS, *TABLES], interleaved=1, symbols={(0, 2): "s", (1, 1): "s"})
case("RotaryEmbedding", [normal(B, S, E), np.array([3]), *TABLES], label="offset")
case("RotaryEmbedding", [normal(B, S, 18), IDS, *TABLES], num_heads=3, rotary_embedding_dim=4)
case("RotaryEmbedding", [half(normal(B, S, E)), IDS, *map(half, TABLES)], label="f16")

# Multi-head attention.
QKV = [normal(B, S, E), normal(B, L, E), normal(B, L, 15)]
BIAS = normal(2 * E + 15)
TOKENS = {(0, 0): "b", (1, 0): "b", (2, 0): "b", (0, 1): "s", (1, 1): "l", (2, 1): "l"}
case("MultiHeadAttention", QKV, num_heads=H, symbols=TOKENS)
case("MultiHeadAttention", [*QKV, BIAS], num_heads=H, scale=0.3)
case("MultiHeadAttention", [*QKV, None, None, normal(B, H, S, L)], num_heads=H, label="bias")
case("MultiHeadAttention", [*QKV, None, None, normal(1, 1, S, L)], num_heads=H, label="bias-broadcast")
case("MultiHeadAttention", [*QKV, None, int32(2, 5)], num_heads=H, label="lengths")
case("MultiHeadAttention", [*QKV, None, integers(0, 2, B, L, dtype=np.int32)], num_heads=H, label="mask")
case("MultiHeadAttention", [*QKV, None, integers(0, 2, B, S, L, dtype=np.int32)], num_heads=H, label="mask3d")
SELF = [normal(B, S, E) for _ in range(3)]
PAST = [normal(B, H, 7, D), normal(B, H, 7, D)]
for unidirectional in [0, 1]:
    case("MultiHeadAttention", SELF, num_heads=H, unidirectional=unidirectional)
    case(
        "MultiHeadAttention",
        [*SELF, None, None, None, *PAST],
        3,
        num_heads=H,
        unidirectional=unidirectional,
        label="past",
        symbols={(0, 1): "s", (1, 1): "s", (2, 1): "s", (6, 2): "p", (7, 2): "p"},
    )
case("MultiHeadAttention", [normal(B, S, E), normal(B, H, L, D), normal(B, H, L, D)], num_heads=H, label="cross")

# Attention with a projection.
PROJECTION = [normal(B, S, 7), normal(7, 3 * E), normal(3 * E)]
case("Attention", PROJECTION, num_heads=H, symbols={(0, 0): "b", (0, 1): "s"})
case("Attention", PROJECTION, num_heads=H, unidirectional=1, scale=0.4)
case("Attention", [*PROJECTION, int32(2, 3)], num_heads=H, label="lengths")
case("Attention", [*PROJECTION, int32(3, 2, 1, 0)], num_heads=H, label="ends-and-starts")
case("Attention", [*PROJECTION, integers(0, 2, B, S, dtype=np.int32)], num_heads=H, label="mask")
case("Attention", [*PROJECTION, integers(0, 2, B, S, S, dtype=np.int32)], num_heads=H, label="mask3d")
case(
    "Attention", [normal(B, S, 7), normal(7, 2 * E + 15), normal(2 * E + 15)], num_heads=H, qkv_hidden_sizes=[E, E, 15]
)
case("Attention", [*PROJECTION, None, normal(2, B, H, 5, D)], 2, num_heads=H, unidirectional=1, label="past")
case("Attention", [*PROJECTION, None, None, normal(B, H, S, S)], num_heads=H, label="bias")

# Grouped attention.
KV, G = 2, 16
GROUPED = [normal(B, S, 4 * G), normal(B, S, KV * G), normal(B, S, KV * G)]
STEP = [normal(B, 1, 4 * G), normal(B, 1, KV * G), normal(B, 1, KV * G)]
CACHE = [normal(B, KV, 6, G), normal(B, KV, 6, G)]
PROMPT = [int32(S - 1, S - 1), np.array(S, np.int32)]
DECODE = [int32(6, 6), np.array(7, np.int32)]
HEADS = {"num_heads": 4, "kv_num_heads": KV}
ANGLES = [normal(16, 8), normal(16, 8)]
EMPTY = [normal(B, KV, 0, G), normal(B, KV, 0, G)]
for past, tokens, lengths, label in [(EMPTY, GROUPED, PROMPT, "prompt"), (CACHE, STEP, DECODE, "decode")]:
    inputs = [*tokens, *past, *lengths]
    case("GroupQueryAttention", inputs, 3, constants=[6], label=label, **HEADS)
    case("GroupQueryAttention", inputs, 3, constants=[6], label=label, softcap=0.8, scale=0.7, **HEADS)
    case("GroupQueryAttention", inputs, 3, constants=[6], label=label, local_window_size=2, **HEADS)
    case("GroupQueryAttention", inputs, 3, constants=[6], label=label, smooth_softmax=1, **HEADS)
    case("GroupQueryAttention", [*inputs, *ANGLES], 3, constants=[6], label=label, do_rotary=1, **HEADS)
    case(
        "GroupQueryAttention",
        [*inputs, *ANGLES],
        3,
        constants=[6],
        label=label,
        do_rotary=1,
        rotary_interleaved=1,
        **HEADS,
    )
    packed = [np.concatenate(tokens, axis=2), None, None, *past, *lengths]
    case("GroupQueryAttention", [*packed, *ANGLES], 3, constants=[6], label="packed-" + label, do_rotary=1, **HEADS)
    case(
        "GroupQueryAttention",
        [*inputs, None, None, None, None, normal(4)],
        3,
        constants=[6],
        label="sink-" + label,
        **HEADS,
    )
    total = int(lengths[1])
    bias = normal(B, 1, tokens[0].shape[1], total)
    case("GroupQueryAttention", [*inputs, None, None, None, bias], 3, constants=[6], label="bias-" + label, **HEADS)
for last, keys in [((S - 1, 0), S), ((0, 1), S), ((S - 1, S - 1), S)]:
    case(
        "GroupQueryAttention",
        [*GROUPED, None, None, int32(*last), np.array(keys, np.int32)],
        3,
        constants=[6],
        label=f"both ways {last}",
        causal=0,
        **HEADS,
    )
ONE = [array[:1] for array in [*GROUPED, *CACHE]]
case("GroupQueryAttention", [*ONE, int32(8), np.array(9, np.int32)], 3, constants=[6], label="chunk", **HEADS)
UNEVEN = [*STEP, *CACHE, int32(6, 4), DECODE[1], *ANGLES]
case(
    "GroupQueryAttention",
    UNEVEN,
    3,
    constants=[6],
    label="uneven",
    compared=1,
    do_rotary=1,
    local_window_size=4,
    **HEADS,
)
case(
    "GroupQueryAttention",
    [*map(half, STEP), *map(half, CACHE), *DECODE, *map(half, ANGLES)],
    3,
    constants=[6],
    label="f16",
    do_rotary=1,
    **HEADS,
)

# Quantised weights.
for bits, block in [(4, 16), (4, 32), (8, 16)]:
    N, K = 5, 37
    blocks = -(-K // block)
    weights = bytes_of(N, blocks, block * bits // 8)
    scales = positive(N, blocks)
    packed_zeros = bytes_of(N, -(-blocks * bits // 8))
    form = {"N": N, "K": K, "bits": bits, "block_size": block}
    case("MatMulNBits", [normal(2, 3, K), weights, scales], symbols={(0, 0): "b"}, constants=[1, 2], **form)
    case("MatMulNBits", [normal(3, K), weights, scales, packed_zeros], constants=[1, 2, 3], label="zeros", **form)
    case(
        "MatMulNBits",
        [normal(3, K), weights, scales, packed_zeros, None, normal(N)],
        constants=[1, 2, 3],
        label="b",
        **form,
    )
    if bits == 4:  # and without zero points: with groups, ONNX Runtime forgets them, and 2 bits give it other results
        groups = integers(0, blocks, K, dtype=np.int32)
        case("MatMulNBits", [normal(3, K), weights, scales, None, groups], constants=[1, 2, 4], label="g", **form)
    case(
        "MatMulNBits",
        [half(normal(3, K)), weights, half(scales), packed_zeros],
        constants=[1, 2, 3],
        label="f16",
        **form,
    )
case(
    "MatMulNBits",
    [normal(3, 37), bytes_of(5, 3, 8), positive(5, 3), positive(5, 3) * 8],
    constants=[1, 2, 3],
    label="float-zeros",
    N=5,
    K=37,
    bits=4,
    block_size=16,
)
for signed in [np.uint8, np.int8]:
    weight = narrow(bytes_of(7, 5, dtype=signed))
    case("DynamicQuantizeMatMul", [normal(2, 3, 7), weight, float_scalar(0.03), zero(3, signed)], constants=[1, 2, 3])
    case("DynamicQuantizeMatMul", [normal(3, 7), weight, positive(5), bytes_of(5, dtype=signed), normal(5)])
    quantised = [bytes_of(3, 7), weight, float_scalar(0.02), float_scalar(0.03), zero(120), zero(3, signed)]
    case("MatMulIntegerToFloat", quantised)
    case("MatMulIntegerToFloat", [*quantised[:3], positive(5), zero(9), bytes_of(5, dtype=signed), normal(5)])
PRODUCT = [bytes_of(B, S, 7), bytes_of(7, 3 * E), normal(3 * E), float_scalar(0.01), float_scalar(0.02)]
case("QAttention", [*PRODUCT, None, zero(120), zero(130)], num_heads=H)
case("QAttention", [*PRODUCT, int32(2, 3), zero(120), zero(130), None], num_heads=H, unidirectional=0, label="lengths")
case("QAttention", [*PRODUCT, None, zero(120), zero(130), normal(2, B, H, 5, D)], 2, num_heads=H, unidirectional=1)

for t in [np.uint8, np.int8]:
    x, y = (
        [bytes_of(2, 3, 5, dtype=t), float_scalar(0.03), zero(7, t)],
        [bytes_of(5, dtype=t), float_scalar(0.02), zero(3, t)],
    )
    out = [float_scalar(0.05), zero(11, t)]
    for op in ["QLinearAdd", "QLinearMul"]:
        case(op, [*x, *y, *out], slack=1, symbols={(0, 0): "n"})
        # Scales that are powers of two: no other rounding, and many ties.
        halves = [bytes_of(9, 13, dtype=t), float_scalar(0.25), zero(3, t)]
        case(op, [*halves, bytes_of(13, dtype=t), float_scalar(0.5), zero(6, t), float_scalar(0.5), zero(5, t)])
    case("QLinearSigmoid", [*x, float_scalar(0.004), zero(0, t)], slack=1)
    case("QLinearLeakyRelu", [*x, *out], alpha=0.2, slack=1)
    case(
        "QLinearSoftmax",
        [*x, float_scalar(1 / 256), zero(np.iinfo(t).min, t)],
        axis=-1,
        opset=13,
        slack=1,
        constants=[1, 2, 3, 4],
    )
    case("QLinearSoftmax", [*x, float_scalar(1 / 256), zero(0, t)], axis=1, opset=12, slack=1, constants=[1, 2, 3, 4])
    case("QLinearConcat", [*out, *x, bytes_of(2, 4, 5, dtype=t), float_scalar(0.04), zero(9, t)], axis=1, slack=1)
    image = [bytes_of(2, 3, 7, 5, dtype=t), float_scalar(0.03), zero(7, t)]
    case("QLinearAveragePool", [*image, *out], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1], slack=1)
    case("QLinearAveragePool", [*image, *out], kernel_shape=[2, 2], channels_last=1, count_include_pad=1, slack=1)
    for last in [0, 1]:
        case("QLinearGlobalAveragePool", [*image, *out], channels_last=last, slack=1)
    same = [bytes_of(2, 3, 5, dtype=t), float_scalar(0.02), zero(3, t)]
    case("QLinearWhere", [booleans(3, 5), *x, *same, *out], slack=1, constants=[2, 3, 5, 6, 7, 8])
GEMM = [bytes_of(3, 7), float_scalar(0.02), zero(120), bytes_of(7, 5), float_scalar(0.03), zero(130)]
case("QGemm", [*GEMM, integers(-99, 99, 5, dtype=np.int32), float_scalar(0.5), zero(100)], slack=1, alpha=1.5)
case("QGemm", GEMM)
case("QGemm", [bytes_of(7, 3), *GEMM[1:3], bytes_of(5, 7), positive(5), bytes_of(5), None], transA=1, transB=1)
case("QuantizeLinear", [normal(3, 4) * 3, float_scalar(0.05), zero(128)])
case("DequantizeLinear", [bytes_of(3, 4), float_scalar(0.05), zero(128)])

for quant_type, (N, K) in [(0, (5, 37)), (1, (4, 32)), (1, (3, 17))]:
    form = {"N": N, "K": K, "block_size": 16, "quant_type": quant_type}
    weights = [bytes_of(-(-N * K // 2)), positive(-(-N * K // 16))]
    case("MatMulBnb4", [normal(2, 3, K), *weights], symbols={(0, 1): "s"}, constants=[1, 2], **form)

PLACES = integers(-6, 6, 2, 3, dtype=np.int64)
for bits in [4, 8]:
    table = [bytes_of(6, 32 * bits // 8), PLACES, positive(6, 2)]
    form = {"bits": bits, "block_size": 16, "quantize_axis": 1, "gather_axis": 0}
    case("GatherBlockQuantized", table, constants=[0, 2], symbols={(1, 1): "s"}, **form)
    zeros = bytes_of(6, 2 * bits // 8)
    case("GatherBlockQuantized", [*table, zeros], constants=[0, 2, 3], label="zeros", **form)
    case("GatherBlockQuantized", [*table[:2], half(table[2])], constants=[0, 2], label="f16", **form)

EMBEDDINGS = [bytes_of(9, 7), bytes_of(11, 7), bytes_of(2, 7), bytes_of(7), bytes_of(7)]
NUMBERS = [float_scalar(scale) for scale in (0.02, 0.03, 0.01, 0.005, 0.01)] + [zero(z) for z in (120, 130, 9, 0, 128)]
for with_mask in [False, True]:
    words, segments, mask = (integers(0, top, B, S, dtype=np.int32) for top in (9, 2, 2))
    tables = [*EMBEDDINGS, mask if with_mask else None, *NUMBERS]
    constants = [index for index in range(2, 18) if index != 7]
    case("QEmbedLayerNormalization", [words, segments, *tables], 2, constants=constants, epsilon=1e-5)
    tables[2] = tables[8] = tables[13] = None
    constants = [index for index in constants if index not in (4, 10, 15)]
    case("QEmbedLayerNormalization", [words, None, *tables], 2, constants=constants, label="words", epsilon=1e-5)

TOKEN, BUFFER = [normal(B, 1, E) for _ in range(3)], [normal(B, H, 7, D) for _ in range(2)]
for used in [0, 4, 6]:
    case(
        "DecoderMaskedMultiHeadAttention",
        [*TOKEN, None, None, *BUFFER, int32(used)],
        3,
        compared=1,
        num_heads=H,
        past_present_share_buffer=1,
        label=f"used {used}",
    )
case(
    "DecoderMaskedMultiHeadAttention",
    [*TOKEN, None, None, *BUFFER, int32(4), None, None, normal(3 * E)],
    3,
    compared=1,
    num_heads=H,
    past_present_share_buffer=1,
    label="bias",
)
case("DecoderMaskedMultiHeadAttention", [TOKEN[0], *BUFFER], 1, num_heads=H, label="cross")

# Masks of a buffer cover the keys in use: with one new key behind 4, the first 5.
COVERED, KEEPS = normal(B, H, 1, 5), integers(0, 2, B, 5, dtype=np.int32)
for name, mask, bias, symbols in [
    ("bias", None, COVERED, {(5, 3): "t"}),
    ("bias-broadcast", None, normal(1, 1, 1, 5), {(5, 3): "t"}),
    ("mask", KEEPS, None, {(4, 1): "t"}),
    ("mask-and-bias", KEEPS, COVERED, {(4, 1): "t", (5, 3): "t"}),
    ("lengths", int32(2, 5), None, {}),
    ("mask3d", KEEPS.reshape(B, 1, 5), None, {(4, 2): "t"}),
]:
    masks, label = [None, mask, bias], f"buffer-{name}"
    symbols |= {(6, 2): "p", (7, 2): "p"}
    case(
        "MultiHeadAttention",
        [*TOKEN, *masks, *BUFFER, int32(4)],
        3,
        compared=1,
        num_heads=H,
        label=label,
        symbols=symbols,
    )
    if mask is None or mask is KEEPS:
        inputs, form = [*TOKEN, mask, bias, *BUFFER, int32(4)], {"num_heads": H, "past_present_share_buffer": 1}
        case("DecoderMaskedMultiHeadAttention", inputs, 3, compared=1, label=label, **form)

case("Unique", [np.array([2, 1, 1, 3, 4, 3], np.float32)], 3, symbols={(0, 0): "n"})
for mode in ["bilinear", "nearest", "bicubic"]:
    for padding in ["zeros", "border", "reflection"]:
        grid = normal(2, 3, 4, 2)
        case("GridSample", [normal(2, 3, 5, 7), grid], mode=mode, padding_mode=padding, align_corners=1)
