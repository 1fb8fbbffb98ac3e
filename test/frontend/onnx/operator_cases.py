"""Models of one operator each, for test_operators.py: inputs, constants, attributes, operator set."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

generator = np.random.default_rng(0)


def normal(*shape):
    return generator.standard_normal(shape).astype(np.float32)


def positive(*shape):
    return (generator.random(shape) + 0.1).astype(np.float32)


def inside_unit(*shape):
    return (generator.random(shape) * 1.8 - 0.9).astype(np.float32)


def integers(low, high, *shape, dtype=np.int64):
    return generator.integers(low, high, shape).astype(dtype)


def booleans(*shape):
    return generator.random(shape) > 0.5


def int64(*values):
    return np.array(values, np.int64)


def float32(*values):
    return np.array(values, np.float32)


def float_scalar(value):
    return np.array(value, np.float32)


def uint8_scalar(value):
    return np.array(value, np.uint8)


@dataclass
class Case:
    op: str
    inputs: list[Any]
    constants: dict[int, Any] = field(default_factory=dict)
    opset: int = 17
    outputs: int = 1
    label: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)

    def __str__(self):
        attributes = ",".join(f"{name}={value}" for name, value in self.attributes.items())
        return f"{self.op}-{self.opset}-{self.label}-{attributes}"


CASES: list[Case] = []


def case(op, inputs, constants=None, opset=17, outputs=1, label="", **attributes):
    """`inputs` are arrays, or None where absent; `constants` gives the positions that are initializers."""
    CASES.append(Case(op, inputs, constants or {}, opset, outputs, label, attributes))


for op in [
    "Abs",
    "Neg",
    "Exp",
    "Floor",
    "Ceil",
    "Round",
    "Sign",
    "Relu",
    "Sigmoid",
    "Tanh",
    "Sin",
    "Cos",
    "Softplus",
    "Softsign",
    "Elu",
    "Selu",
    "LeakyRelu",
    "HardSigmoid",
    "HardSwish",
    "Celu",
    "ThresholdedRelu",
    "Erf",
    "Identity",
    "Reciprocal",
    "Sinh",
    "Cosh",
    "Atan",
    "Asinh",
    "Tan",
    "IsNaN",
    "IsInf",
    "Shrink",
    "Mish",
]:
    case(
        op,
        [np.concatenate([normal(2, 9) * 2, np.array([[0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 0.001, -3]], np.float32)])],
        opset=18,
    )
for op in ["Sqrt", "Log"]:
    case(op, [positive(3, 4)])
for op in ["Asin", "Acos", "Atanh"]:
    case(op, [inside_unit(3, 4)])
case("Acosh", [positive(3, 4) + 1])
case("Gelu", [normal(3, 7)], opset=20)
case("Gelu", [normal(3, 7)], opset=20, approximate="tanh")
case("Relu", [np.array([np.nan, 1, -1], np.float32)], label="nan")
case("Max", [np.array([np.nan, 1, -1], np.float32), normal(3)], label="nan")
for op in ["Add", "Sub", "Mul", "Div", "Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual", "Max", "Min"]:
    case(op, [normal(2, 3, 4), normal(3, 1)])
    if op not in ("Less",):
        case(op, [integers(-9, 9, 2, 3), integers(1, 9, 3)], label="int")
case("Pow", [positive(2, 3), normal(2, 3)])
case("Pow", [normal(2, 3), float32(2)], {1: float32(2)})
case("Pow", [integers(1, 5, 2, 3, dtype=np.int32), integers(0, 3, 2, 3, dtype=np.int32)], label="int")
case("Div", [integers(-9, 9, 20), integers(1, 5, 20)], label="trunc")
case("Mod", [integers(-9, 9, 20), integers(1, 5, 20) * np.where(booleans(20), 1, -1)])
case("Mod", [normal(20) * 5, normal(20)], fmod=1)
case("BitShift", [integers(0, 200, 10, dtype=np.uint8), integers(0, 7, 10, dtype=np.uint8)], direction="LEFT")
case("BitShift", [integers(0, 200, 10, dtype=np.uint8), integers(0, 7, 10, dtype=np.uint8)], direction="RIGHT")
for op in ["And", "Or", "Xor"]:
    case(op, [booleans(3, 4), booleans(4)])
case("Not", [booleans(5)])
case("Where", [booleans(3, 4), normal(4), normal(3, 1)])
case("PRelu", [normal(2, 3, 4), positive(3, 1)])
case("Clip", [normal(3, 4), float32(-0.5).reshape(()), float32(0.5).reshape(())])
case("Clip", [normal(3, 4)], opset=6, min=-0.3, max=0.2)
case("Clip", [normal(3, 4), None, float32(0.5).reshape(())])
INFINITIES = float32(-np.inf, -1, 2, np.inf, np.nan)
for dtype in (np.float32, np.float64):
    case("Clip", [INFINITIES.astype(dtype)], label=f"infinities-{dtype.__name__}")
    case("Clip", [INFINITIES.astype(dtype), np.array(0, dtype)], label=f"above-0-{dtype.__name__}")
case("Clip", [INFINITIES], opset=6, max=1.0)
case("Sum", [normal(3, 4), normal(4), normal(3, 1)])
case("Mean", [normal(3, 4), normal(4), normal(3, 1)])
case("Max", [normal(3, 4), normal(4), normal(3, 1)])
for t in (1, 6, 7, 9, 10, 11, 3, 2):
    case("Cast", [normal(4, 5) * 50 if t not in (2,) else positive(4, 5) * 100], to=t)
case("Cast", [booleans(4)], to=1)
case("Cast", [integers(-5, 5, 6)], to=9)
case("Cast", [integers(0, 255, 6, dtype=np.uint8)], to=1)
for op in [
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSumExp",
    "ReduceSumSquare",
    "ReduceLogSum",
]:
    x = positive(2, 3, 4)
    if op == "ReduceSum":
        case(op, [x, int64(1)], {1: int64(1)}, opset=13)
        case(op, [x], opset=13, keepdims=0)
    else:
        case(op, [x], opset=13, axes=[-1, 0], keepdims=0)
        case(op, [x], opset=13)
    case(op, [x, int64(0, 2)], {1: int64(0, 2)}, opset=18, keepdims=0)
case("ReduceSum", [normal(2, 3), int64()], {1: int64()}, opset=13, noop_with_empty_axes=1)
case("ReduceMean", [integers(-9, 9, 3, 4, dtype=np.int32)], opset=13, axes=[1], label="int")
for op in ("ArgMax", "ArgMin"):
    case(op, [integers(0, 3, 3, 8).astype(np.float32)], axis=1)
    case(op, [integers(0, 3, 3, 8).astype(np.float32)], axis=0, keepdims=0, select_last_index=1)
case("Softmax", [normal(2, 3, 4)], axis=1)
case("Softmax", [normal(2, 3, 4)], opset=11, axis=1)
case("LogSoftmax", [normal(2, 3, 4)], axis=-1)
case("Softmax", [normal(2, 3) * 100], label="big")
case("Hardmax", [normal(3, 7)])
case("Hardmax", [normal(3, 7)], axis=0)
case("CumSum", [normal(3, 5), np.array(1)], {1: np.array(1)})
case("CumSum", [normal(3, 5), np.array(0)], {1: np.array(0)}, exclusive=1, reverse=1)
case("LayerNormalization", [normal(2, 3, 8), normal(8), normal(8)], axis=-1)
case("LayerNormalization", [normal(2, 3, 4), normal(3, 4), normal(3, 4)], axis=1)
case("BatchNormalization", [normal(2, 3, 4, 5), normal(3), normal(3), normal(3), positive(3)])
case("InstanceNormalization", [normal(2, 3, 4, 5), normal(3), normal(3)])
case("GroupNormalization", [normal(2, 6, 4), normal(2), normal(2)], opset=18, num_groups=2)
case("GroupNormalization", [normal(2, 6, 4), normal(6), normal(6)], opset=21, num_groups=2)
case("LpNormalization", [normal(3, 4)], axis=1, p=2)
case("LpNormalization", [normal(3, 4)], axis=0, p=1)
case("LRN", [normal(1, 6, 3, 3)], size=3)
case("LRN", [normal(1, 6, 3, 3)], size=4)
case("MeanVarianceNormalization", [normal(2, 3, 4, 5)])
case("MeanVarianceNormalization", [normal(2, 3, 4, 5) / 1000], label="small", axes=[2, 3])
case(
    "Conv",
    [normal(1, 4, 9, 8), normal(6, 2, 3, 3), normal(6)],
    group=2,
    strides=[2, 1],
    pads=[1, 0, 2, 1],
    dilations=[1, 2],
)
case("Conv", [normal(2, 3, 12), normal(4, 3, 5)])
case("Conv", [normal(1, 2, 5, 6, 7), normal(3, 2, 2, 3, 2)], pads=[1, 1, 1, 0, 0, 0])
for m in ("SAME_UPPER", "SAME_LOWER", "VALID"):
    case("Conv", [normal(1, 2, 9, 8), normal(3, 2, 3, 3)], auto_pad=m, strides=[2, 2])
    case("MaxPool", [normal(1, 2, 9, 8)], auto_pad=m, strides=[2, 2], kernel_shape=[3, 3])
    case("ConvTranspose", [normal(1, 2, 5, 4), normal(2, 3, 3, 3)], auto_pad=m, strides=[2, 2])
    case("AveragePool", [normal(1, 2, 9, 8)], auto_pad=m, strides=[2, 2], kernel_shape=[3, 3])
case(
    "ConvTranspose",
    [normal(1, 4, 5, 6), normal(4, 3, 3, 3), normal(6)],
    group=2,
    strides=[2, 3],
    pads=[1, 0, 1, 2],
    output_padding=[1, 0],
)
case("ConvTranspose", [normal(1, 2, 5), normal(2, 3, 4)], strides=[3], dilations=[2])
case("ConvTranspose", [normal(1, 2, 5, 5), normal(2, 3, 3, 3)], strides=[2, 2], output_shape=[10, 10])
case("ConvTranspose", [normal(1, 2, 5, 5), normal(2, 3, 2, 2)], strides=[2, 2], pads=[2, 0, 0, 1])
case("MaxPool", [normal(1, 2, 9, 8)], kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1])
case("MaxPool", [normal(1, 2, 9, 8)], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
case("MaxPool", [normal(1, 2, 11)], kernel_shape=[3], dilations=[2])
case("MaxPool", [integers(-9, 9, 1, 1, 6, dtype=np.int8)], kernel_shape=[3], label="int8", pads=[1, 1])
case(
    "MaxPool",
    [integers(0, 9, 1, 1, 6, dtype=np.uint8)],
    kernel_shape=[3],
    label="uint8",
    auto_pad="SAME_UPPER",
    strides=[2],
)
for inc in (0, 1):
    for ceil in (0, 1):
        case(
            "AveragePool",
            [normal(1, 2, 10, 9)],
            kernel_shape=[3, 3],
            strides=[2, 2],
            pads=[1, 1, 0, 1],
            count_include_pad=inc,
            ceil_mode=ceil,
            opset=19,
        )
case("GlobalAveragePool", [normal(2, 3, 4, 5)])
case("GlobalMaxPool", [normal(2, 3, 4, 5)])
case("MatMul", [normal(3, 4), normal(4, 5)])
case("MatMul", [normal(2, 1, 3, 4), normal(5, 4, 2)])
case("MatMul", [normal(4), normal(3, 4, 2)])
case("MatMul", [normal(3, 4), normal(4)])
case("MatMul", [normal(4), normal(4)])
case("MatMul", [normal(2, 3, 4), normal(4)])
case("Gemm", [normal(3, 4), normal(5, 4), normal(5)], transB=1, alpha=0.5, beta=2.0)
case("Gemm", [normal(4, 3), normal(4, 5)], transA=1)
case("Gemm", [normal(3, 4), normal(4, 5), normal(3, 1)])
case("Einsum", [normal(2, 3, 4), normal(2, 4, 5)], equation="bij,bjk->bik")
case("Einsum", [normal(2, 3, 4), normal(2, 5, 4)], equation="bid,bjd->bij")
case("Einsum", [normal(2, 4, 3, 5), normal(6, 5)], equation="b h i d, j d -> b h i j")
case("Einsum", [normal(3, 3)], equation="ij->ji")
case("Einsum", [normal(3, 4)], equation="ij->j")
case("Einsum", [normal(3), normal(4)], equation="i,j")
case("Einsum", [normal(2, 3, 4), normal(2, 4, 5)], equation="...ij,...jk->...ik")
case("Einsum", [normal(2, 3), normal(3, 4), normal(4, 5)], equation="ij,jk,kl->il")
case("Einsum", [normal(3, 3)], equation="ii->i")
case("Einsum", [normal(3, 3)], equation="ii")
case("Reshape", [normal(2, 3, 4), int64(0, -1)], {1: int64(0, -1)})
case("Flatten", [normal(2, 3, 4)], axis=2)
case("Flatten", [normal(2, 3, 4)], axis=0)
case("Transpose", [normal(2, 3, 4)])
case("Transpose", [normal(2, 3, 4)], perm=[1, 2, 0])
case("Squeeze", [normal(1, 3, 1)])
case("Squeeze", [normal(1, 3, 1), int64(-1)], {1: int64(-1)})
case("Squeeze", [normal(1, 3, 1)], opset=11, axes=[0])
case("Unsqueeze", [normal(3, 4), int64(0, -1)], {1: int64(0, -1)})
case("Unsqueeze", [normal(3, 4)], opset=11, axes=[1, 2])
case("Expand", [normal(3, 1), int64(2, 1, 4)], {1: int64(2, 1, 4)})
case("Tile", [normal(2, 3), int64(2, 3)], {1: int64(2, 3)})
case("Concat", [normal(2, 3), normal(4, 3), normal(1, 3)], axis=0)
case("Concat", [normal(2, 3), normal(2, 1)], axis=-1)
case(
    "Slice",
    [normal(8, 9), int64(1, -3), int64(100, -8), int64(0, 1), int64(2, -2)],
    {1: int64(1, -3), 2: int64(100, -8), 3: int64(0, 1), 4: int64(2, -2)},
)
case(
    "Slice",
    [normal(8, 9), int64(-1), int64(-100), int64(0), int64(-1)],
    {1: int64(-1), 2: int64(-100), 3: int64(0), 4: int64(-1)},
)
case("Slice", [normal(8, 9)], opset=9, starts=[1, 2], ends=[-1, 5])
case("Slice", [normal(8, 9), int64(7), int64(2**63 - 1)], {1: int64(7), 2: int64(2**63 - 1)})
case(
    "Slice",
    [normal(8), int64(-2), int64(-(2**63)), int64(0), int64(-3)],
    {1: int64(-2), 2: int64(-(2**63)), 3: int64(0), 4: int64(-3)},
)
for begin, end in ((-100, -(2**63)), (-9, -100), (-(2**63), 3)):
    case(
        "Slice",
        [normal(8), int64(begin), int64(end), int64(0), int64(-2)],
        {1: int64(begin), 2: int64(end), 3: int64(0), 4: int64(-2)},
    )
case("Split", [normal(6, 4)], outputs=3, opset=11)
case("Split", [normal(6, 4), int64(1, 5)], {1: int64(1, 5)}, outputs=2)
case("Split", [normal(7, 4)], outputs=3, opset=18, num_outputs=3)
case("Split", [normal(6, 4)], outputs=2, opset=11, axis=1, split=[1, 3])
for m in ("constant", "reflect", "edge"):
    case("Pad", [normal(4, 5), int64(1, 2, 2, 0)], {1: int64(1, 2, 2, 0)}, mode=m)
case("Pad", [normal(4, 5), int64(1, 2, 2, 4)], {1: int64(1, 2, 2, 4)}, mode="wrap", opset=19)
case(
    "Pad",
    [normal(4, 5), int64(-1, 2, 2, -1), float32(7).reshape(())],
    {1: int64(-1, 2, 2, -1), 2: float32(7).reshape(())},
)
case("Pad", [normal(4, 5)], opset=9, pads=[0, 1, 1, 0], value=2.5)
case(
    "Pad",
    [normal(4, 5), int64(1, 2), float32(7).reshape(()), int64(-1)],
    {1: int64(1, 2), 2: float32(7).reshape(()), 3: int64(-1)},
    opset=18,
)
case("DepthToSpace", [normal(1, 8, 2, 3)], blocksize=2)
case("DepthToSpace", [normal(1, 8, 2, 3)], blocksize=2, mode="CRD")
case("SpaceToDepth", [normal(1, 2, 4, 6)], blocksize=2)
case("Gather", [normal(4, 5), int64(0, -1, 2)], axis=1)
case("Gather", [normal(4, 5), int64([[0, -1], [2, 1]][0][0])], axis=0)
case("Gather", [normal(4, 5), np.array(2)], {1: np.array(2)}, axis=1)
case("Gather", [normal(4, 5), np.array(-1)], {1: np.array(-1)})
case("Gather", [normal(4, 5), np.array([[0, 1], [-2, 3]], np.int32)])
case("GatherElements", [normal(4, 5), integers(-5, 5, 4, 3)], axis=1)
case("GatherND", [normal(3, 4, 5), np.array([[0, 1], [2, -1]])])
case("GatherND", [normal(2, 3, 4), np.array([[1], [-2]])], batch_dims=1)
case("OneHot", [integers(-3, 3, 2, 3), np.array(3), float32(-1, 2)], {1: np.array(3)})
case("OneHot", [integers(0, 3, 4), int64(3), float32(0, 1)], {1: int64(3)}, axis=0)
case("Trilu", [normal(2, 4, 5)])
case("Trilu", [normal(4, 5), np.array(-1)], {1: np.array(-1)}, upper=0)
case("Trilu", [normal(4, 5), np.array(2)], {1: np.array(2)}, upper=1)
case("EyeLike", [normal(3, 5)], k=1)
case("Range", [np.array(1), np.array(10), np.array(3)], {0: np.array(1), 1: np.array(10), 2: np.array(3)})
case(
    "Range",
    [float32(0).reshape(()), float32(1).reshape(()), float32(0.25).reshape(())],
    {0: float32(0).reshape(()), 1: float32(1).reshape(()), 2: float32(0.25).reshape(())},
)
case("Shape", [normal(3, 4, 5)])
case("Shape", [normal(3, 4, 5)], start=-2)
case("Size", [normal(3, 4, 5)])
case("ConstantOfShape", [int64(2, 3)], {0: int64(2, 3)})
case("Dropout", [normal(3, 4)])
for op in ["Exp", "Sigmoid", "Tanh", "Softmax", "ReduceMean", "GlobalAveragePool"]:
    case(op, [normal(2, 3, 4).astype(np.float16)], label="f16", **{"axes": [1]} if op == "ReduceMean" else {})
case("MatMul", [normal(3, 64).astype(np.float16), normal(64, 5).astype(np.float16)], label="f16")
case("Add", [normal(3, 4).astype(np.float16), normal(4).astype(np.float16)], label="f16")
case("QuantizeLinear", [normal(3, 4) * 3, float32(0.05).reshape(()), np.array(128, np.uint8)])
case("DequantizeLinear", [integers(-128, 127, 3, 4, dtype=np.int8), float32(0.05).reshape(()), np.array(3, np.int8)])
case("QuantizeLinear", [normal(3, 4) * 3, positive(4), integers(-5, 5, 4, dtype=np.int8)], axis=1)
case(
    "DequantizeLinear",
    [integers(0, 255, 3, 4, dtype=np.uint8), positive(3), integers(0, 255, 3, dtype=np.uint8)],
    axis=0,
)
case("DynamicQuantizeLinear", [normal(3, 4)], outputs=3)
case(
    "MatMulInteger",
    [
        integers(0, 255, 3, 4, dtype=np.uint8),
        integers(-128, 127, 4, 5, dtype=np.int8),
        np.array(120, np.uint8),
        np.array(3, np.int8),
    ],
)
case(
    "MatMulInteger",
    [
        integers(0, 255, 3, 4, dtype=np.uint8),
        integers(0, 255, 4, 5, dtype=np.uint8),
        np.array(120, np.uint8),
        integers(0, 255, 5, dtype=np.uint8),
    ],
    {3: integers(0, 255, 5, dtype=np.uint8)},
)
case(
    "ConvInteger",
    [integers(0, 255, 1, 2, 5, 5, dtype=np.uint8), integers(0, 255, 3, 2, 3, 3, dtype=np.uint8), np.array(7, np.uint8)],
    pads=[1, 1, 1, 1],
)
case(
    "QLinearMatMul",
    [
        integers(0, 255, 3, 4, dtype=np.uint8),
        float_scalar(0.02),
        uint8_scalar(120),
        integers(0, 255, 4, 5, dtype=np.uint8),
        float_scalar(0.03),
        uint8_scalar(110),
        float_scalar(0.1),
        uint8_scalar(128),
    ],
)
case(
    "QLinearConv",
    [
        integers(0, 255, 1, 2, 5, 5, dtype=np.uint8),
        float_scalar(0.02),
        uint8_scalar(120),
        integers(0, 255, 3, 2, 3, 3, dtype=np.uint8),
        float_scalar(0.03),
        uint8_scalar(110),
        float_scalar(0.1),
        uint8_scalar(128),
        integers(-99, 99, 3, dtype=np.int32),
    ],
    pads=[1, 1, 1, 1],
)

for mode in ("avg", "max"):
    case(
        "RoiAlign",
        [normal(2, 3, 13, 11), float32(0, 0, 10, 7, 1, 2, 5, 12, 3, 3, 3, 3).reshape(3, 4), int64(0, 1, 1)],
        output_height=2,
        output_width=3,
        sampling_ratio=0,
        mode=mode,
        label="as many samples as elements",
    )
