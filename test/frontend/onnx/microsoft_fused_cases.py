"""Further models of one com.microsoft operator each: experts, quantised networks, regions, norms, states."""

import numpy as np
from microsoft_cases import CASES, bytes_of, case, half, int32, narrow
from operator_cases import integers, normal, positive

__all__ = ["CASES"]

# Mixtures of experts: tokens, scores, then the layers.
TOKENS, WIDTH, INNER, EXPERTS = 7, 32, 16, 5


def layers(fusion=1):
    return [
        normal(EXPERTS, fusion * INNER, WIDTH) / 4,
        normal(EXPERTS, fusion * INNER),
        normal(EXPERTS, WIDTH, INNER) / 4,
        normal(EXPERTS, WIDTH),
    ]


for activation in ["relu", "gelu", "silu", "identity"]:
    case(
        "MoE",
        [normal(TOKENS, WIDTH), normal(TOKENS, EXPERTS), *layers()],
        symbols={(0, 0): "t", (1, 0): "t"},
        activation_type=activation,
        k=2,
        normalize_routing_weights=int(activation == "silu"),
    )
case("MoE", [normal(2, 3, WIDTH), normal(6, EXPERTS), *layers()], label="3d", k=1)
case("MoE", [normal(TOKENS, WIDTH), normal(TOKENS, EXPERTS), *layers()], label="all", k=EXPERTS)
case("MoE", [normal(TOKENS, WIDTH), normal(TOKENS, EXPERTS), layers()[0], None, layers()[2]], label="no bias", k=2)
case(
    "MoE",
    [normal(TOKENS, WIDTH), normal(TOKENS, EXPERTS), *layers(fusion=2)],
    label="swiglu",
    k=4,
    activation_type="swiglu",
    activation_alpha=1.702,
    activation_beta=1.0,
    swiglu_limit=1.5,
    swiglu_fusion=1,
)


def packed_layer(to, width, bits, block, has_zeros):
    blocks = [width // block] if block else []
    zeros_bytes = -(-(blocks[0] if block else to) * bits // 8)
    zeros = bytes_of(EXPERTS, to, zeros_bytes) if block else bytes_of(EXPERTS, zeros_bytes)
    scales = positive(EXPERTS, to, *blocks) / (40 * bits * bits)
    return [bytes_of(EXPERTS, to, width * bits // 8), scales, normal(EXPERTS, to)], zeros if has_zeros else None


for bits in [2, 4, 8]:
    for block, has_zeros in [(0, False), (16, False), (16, True)]:
        first, first_zeros = packed_layer(INNER, WIDTH, bits, block, has_zeros)
        second, second_zeros = packed_layer(WIDTH, INNER, bits, block, has_zeros)
        zeros = [None, None, None, first_zeros, second_zeros] if has_zeros else []
        sizes = {"block_size": block} if block else {}
        case(
            "QMoE",
            [normal(TOKENS, WIDTH), normal(TOKENS, EXPERTS), *first, *second, *zeros],
            label="zeros" if has_zeros else "",
            constants=(2, 3, 5, 6, 11, 12),
            symbols={(0, 0): "t", (1, 0): "t"},
            slack=4e-3 if bits == 8 and block else 0,  # ONNX Runtime rounds activations to 8 bits there
            k=2,
            normalize_routing_weights=int(bits == 4),  # ONNX Runtime's QMoE does so in any case, its MoE does not
            expert_weight_bits=bits,
            activation_type="silu",
            **sizes,
        )

# DynamicQuantizeLSTM.
UNITS, INPUTS, STEPS, BATCH = 4, 3, 5, 2


def quantised_weights(directions, rows, dtype, per_channel):
    shape = (directions, 4 * UNITS) if per_channel else (directions,)
    zeros = np.zeros(shape, dtype) if dtype == np.int8 else bytes_of(*shape, dtype=dtype)
    weights = narrow(bytes_of(directions, rows, 4 * UNITS, dtype=dtype))
    return weights, (positive(*shape) / 100).astype(np.float32), zeros


for direction, dtype, per_channel in [
    ("forward", np.int8, False),
    ("reverse", np.uint8, False),
    ("bidirectional", np.int8, True),
]:
    directions = 2 if direction == "bidirectional" else 1
    w, w_scale, w_zero = quantised_weights(directions, INPUTS, dtype, per_channel)
    r, r_scale, r_zero = quantised_weights(directions, UNITS, dtype, per_channel)
    case(
        "DynamicQuantizeLSTM",
        [
            normal(STEPS, BATCH, INPUTS),
            w,
            r,
            normal(directions, 8 * UNITS),
            None,
            normal(directions, BATCH, UNITS) if dtype == np.int8 else None,
            normal(directions, BATCH, UNITS) if dtype == np.int8 else None,
            None,
            w_scale,
            w_zero,
            r_scale,
            r_zero,
        ],
        3,
        constants=(1, 2, 9, 11),
        symbols={(0, 0): "t"},
        hidden_size=UNITS,
        direction=direction,
    )

# Regions and matrices.
REGIONS = np.array([[0, 0, 1, 1], [-0.1, 0.2, 0.6, 1.3], [0.5, 0.6, 0.2, 0.1]], np.float32)
for mode in ["bilinear", "nearest"]:
    for size in [(4, 3), (1, 1), (9, 2)]:
        case(
            "CropAndResize",
            [normal(2, 3, 7, 9), REGIONS, int32(0, 1, 1), int32(*size)],
            constants=(3,),
            label=str(size),
            symbols={(0, 0): "n", (0, 2): "h", (1, 0): "r", (2, 0): "r"},
            mode=mode,
            extrapolation_value=0.5,
        )
case("CropAndResize", [normal(1, 2, 5, 1), REGIONS[:1], int32(0), int32(3, 2)], label="size from data")
for shape in [(1, 1), (4, 4), (2, 3, 7, 7)]:
    case(
        "Inverse",
        [normal(*shape) + 2 * np.eye(shape[-1], dtype=np.float32)],
        symbols={(0, 0): "n"} if shape[2:] else {},
    )
case("Inverse", [np.array([[[0, 1, 2], [1, 0, 3], [4, -3, 8]]], np.float32)], label="pivot")
for dim, size, step in [(-1, 3, 1), (0, 2, 2), (1, 5, 3)]:
    case("UnfoldTensor", [normal(4, 7, 3)], symbols={(0, 1): "n"} if dim == 0 else {}, dim=dim, size=size, step=step)

# Norms and gates.
for activation in ["silu", "sigmoid"]:
    for convert in [np.asarray, half]:
        arrays = [normal(2, 3, 12), normal(4), normal(2, 3, 12)]
        case("GatedRMSNorm", [convert(array) for array in arrays], label=convert.__name__, activation=activation)
case("BranchwiseRMSNorm", [normal(2, 3, 4), normal(12)], symbols={(0, 0): "n"}, epsilon=1e-3)
case("BranchwiseRMSNorm", [normal(2, 12), normal(3, 4)], num_branches=3)
case("BranchwiseRMSNorm", [normal(2, 12)], label="no scale", num_branches=4)
case("GatedAdd", [normal(2, 3, 4), normal(2, 3, 4), normal(2, 3, 1)], symbols={(0, 0): "n", (1, 0): "n", (2, 0): "n"})
case("GatedAdd", [half(normal(2, 4)), half(normal(2, 4)), half(normal(2, 1))], label="f16")
case("ScaledSiLU", [normal(3, 5)], alpha=0.5)
case("ScaledSiLU", [half(normal(3, 5)), half(np.array(1.5))], label="f16")
case("LinearAttentionGate", [normal(2, 3, 4), normal(4), normal(4), normal(2, 3, 4)], 2)
case("LinearAttentionGate", [normal(2, 3, 4), normal(4), normal(4)], label="decay")

# Integers.
case("MatMulInteger16", [integers(-99, 99, 3, 5, dtype=np.int16), integers(-99, 99, 5, 2, dtype=np.int16)])
for last in [0, 1]:
    x = bytes_of(1, 7, 5, 4) if last else bytes_of(1, 4, 7, 5)
    scales = [np.array(value, np.float32) for value in (0.02, 0.03, 0.4)]
    zeros = [np.array(value, np.uint8) for value in (120, 130, 110)]
    weights = bytes_of(6, 2, 3, 3)
    inputs = [
        x,
        scales[0],
        zeros[0],
        weights,
        scales[1],
        zeros[1],
        scales[2],
        zeros[2],
        integers(-99, 99, 6, dtype=np.int32),
    ]
    case("QLinearConv", inputs, constants=(3, 4, 5), slack=1, channels_last=last, group=2, pads=[1, 1, 1, 1])

# Tokens.
IDS = np.array([[1, 2, 3, 1, 2], [4, 4, 4, 4, 4], [1, 2, 3, 4, 0]], np.int64)
for size in [1, 2, 3, 6]:
    case("NGramRepeatBlock", [IDS, normal(3, 6)], symbols={(0, 1): "s", (0, 0): "b", (1, 0): "b"}, ngram_size=size)
for layout, sections in [(0, [2, 1, 1]), (1, [2, 1, 1]), (1, [0, 2, 2]), (0, [4, 0, 0])]:
    arrays = [normal(2, 3, 16), integers(0, 9, 3, 2, 3), normal(9, 4), normal(9, 4)]
    case(
        "MRotaryEmbedding",
        arrays,
        symbols={(0, 1): "s", (1, 2): "s"},
        num_heads=2,
        mrope_section=sections,
        mrope_layout=layout,
    )
case(
    "MRotaryEmbedding",
    [normal(2, 3, 4, 10), integers(0, 9, 3, 2, 4), normal(9, 3), normal(9, 3)],
    label="part of a head",
    mrope_section=[1, 1, 1],
    interleaved=1,
    rotary_embedding_dim=6,
    num_heads=3,
)
for rule in ["linear", "gated", "delta", "gated_delta"]:
    decay = -positive(2, 3, 2) if rule.startswith("gated") else None
    rate = positive(2, 3, 2) / 4 if rule.endswith("delta") else None
    arrays = [normal(2, 3, 16), normal(2, 3, 8) / 2, normal(2, 3, 10), normal(2, 2, 4, 5), decay, rate]
    case("LinearAttention", arrays, 2, q_num_heads=4, kv_num_heads=2, update_rule=rule)
case("CausalConvWithState", [normal(2, 3, 7), normal(3, 1, 4), normal(3), normal(2, 3, 3)], 2, activation="silu")
case("CausalConvWithState", [normal(2, 3, 7), normal(3, 1, 4)], 2, label="plain")
case(
    "CausalConvWithState",
    [normal(2, 3, 7), normal(3, 1, 3), normal(3), normal(2, 3, 4)],
    2,
    label="dilated",
    dilation=2,
)
