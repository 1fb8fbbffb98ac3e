"""The list of operators that operators.py times: one row for each operator and shape, as models use them.

A row is a function of PyTorch, the operands that it is called with, and, where ONNX has one operator for it, that node.
Operands are drawn from a generator that the row's name seeds, so that every engine sees the same numbers.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

DTYPES = {
    "f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
    "i32": torch.int32, "u8": torch.uint8, "bool": torch.bool,
}  # fmt: skip


class Operand(NamedTuple):
    type: str
    shape: tuple[int, ...]
    kind: str = "normal"  # how numbers are drawn
    high: int = 1000  # integers are below it

    def __str__(self) -> str:
        return f"{self.type} {'x'.join(map(str, self.shape)) or 'scalar'}"

    def draw(self, generator: np.random.Generator) -> Tensor:
        if self.type in ("i64", "i32", "u8", "bool"):
            high = 2 if self.type == "bool" else min(self.high, 256) if self.type == "u8" else self.high
            return torch.from_numpy(generator.integers(0, high, self.shape)).to(DTYPES[self.type])
        return torch.from_numpy(KINDS[self.kind](generator, self.shape)).to(DTYPES[self.type])


def definite(generator: np.random.Generator, shape: tuple[int, ...]) -> Any:
    x = generator.standard_normal(shape)
    return x @ np.swapaxes(x, -1, -2) / shape[-1] + np.eye(shape[-1])


def boxes(generator: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Opposite corners, in an image of 640 x 640."""
    center, extent = generator.uniform(0, 640, (*shape[:-1], 2)), generator.uniform(13, 141, (*shape[:-1], 2))
    return np.concatenate([center - extent / 2, center + extent / 2], -1)


def scores(generator: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """One in a hundred is up to 1, others up to 0.01."""
    return generator.uniform(0, 1, shape) * np.where(generator.uniform(0, 1, shape) < 0.01, 1, 0.01)


KINDS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Any]] = {
    "normal": lambda generator, shape: generator.standard_normal(shape),
    "uniform": lambda generator, shape: generator.uniform(0, 1, shape),
    "inside": lambda generator, shape: generator.uniform(-0.99, 0.99, shape),
    "positive": lambda generator, shape: generator.uniform(0.1, 10, shape),
    "boxes": boxes,
    "scores": scores,
    "definite": definite,
    "lower": lambda generator, shape: np.tril(generator.standard_normal(shape) * 0.1) + np.eye(shape[-1]),
}


class Node(NamedTuple):
    """One node of ONNX. `constants` are operands by their place."""

    operator: str
    constants: dict[int, Any]
    outputs: int
    attributes: dict[str, Any]


@dataclass(frozen=True)
class Row:
    family: str
    name: str
    function: Callable[..., Any]
    operands: Sequence[Operand]
    node: Node | None = None
    compared: Sequence[int] | None = None  # results that all engines must agree on; None: all
    tolerance: float | None = None  # None: by the type of the first operand
    weights: Sequence[Operand] = field(default=())  # operands that are constants of the model
    is_imported: bool = False  # Perpend compiles the node: PyTorch has no such operator

    @property
    def key(self) -> str:
        return ", ".join([self.name, *map(str, (*self.operands, *self.weights))])

    def draw(self) -> list[Tensor]:
        """The operands, then the weights."""
        generator = np.random.default_rng(zlib.crc32(self.key.encode()))
        return [operand.draw(generator) for operand in (*self.operands, *self.weights)]


def f32(*shape: int, kind: str = "normal") -> Operand:
    return Operand("f32", shape, kind)


def f64(*shape: int, kind: str = "normal") -> Operand:
    return Operand("f64", shape, kind)


def f16(*shape: int, kind: str = "normal") -> Operand:
    return Operand("f16", shape, kind)


def bf16(*shape: int, kind: str = "normal") -> Operand:
    return Operand("bf16", shape, kind)


def i64(*shape: int, high: int = 1000) -> Operand:
    return Operand("i64", shape, high=high)


def i32(*shape: int, high: int = 1000) -> Operand:
    return Operand("i32", shape, high=high)


def u8(*shape: int) -> Operand:
    return Operand("u8", shape)


def truth(*shape: int) -> Operand:
    return Operand("bool", shape)


def node(operator: str, constants: dict[int, Any] | None = None, outputs: int = 1, **attributes: Any) -> Node:
    return Node(operator, constants or {}, outputs, attributes)


ROWS: list[Row] = []


def add(family: str, name: str, function: Callable[..., Any], *operands: Operand, **more: Any) -> None:
    """Adds a row, unless there is one of its name, types and shapes."""
    row = Row(family, name, function, operands, **more)
    if all((row.family, row.key) != (other.family, other.key) for other in ROWS):
        ROWS.append(row)


# ----------------------------------------------------------------------------------------------------------------------
# Elementwise
# ----------------------------------------------------------------------------------------------------------------------

PLANE = (512, 1024)

for name, function, operator in [
    ("exp", torch.exp, "Exp"), ("tanh", torch.tanh, "Tanh"), ("sigmoid", torch.sigmoid, "Sigmoid"),
    ("erf", torch.erf, "Erf"), ("gelu", F.gelu, None), ("silu", F.silu, None), ("mish", F.mish, "Mish"),
    ("softplus", F.softplus, "Softplus"), ("hardswish", F.hardswish, "HardSwish"), ("elu", F.elu, "Elu"),
    ("relu", torch.relu, "Relu"), ("abs", torch.abs, "Abs"), ("sin", torch.sin, "Sin"), ("cos", torch.cos, "Cos"),
    ("tan", torch.tan, "Tan"), ("atan", torch.atan, "Atan"), ("sinh", torch.sinh, "Sinh"),
    ("asinh", torch.asinh, "Asinh"), ("expm1", torch.expm1, None), ("floor", torch.floor, "Floor"),
    ("round", torch.round, "Round"), ("sign", torch.sign, "Sign"), ("isnan", torch.isnan, "IsNaN"),
]:  # fmt: skip
    add("elementwise", name, function, f32(*PLANE), node=node(operator) if operator else None)
for name, function, operator in [
    ("log", torch.log, "Log"), ("log1p", torch.log1p, None), ("sqrt", torch.sqrt, "Sqrt"),
    ("rsqrt", torch.rsqrt, None), ("reciprocal", torch.reciprocal, "Reciprocal"), ("lgamma", torch.lgamma, None),
    ("digamma", torch.digamma, None),
]:  # fmt: skip
    add("elementwise", name, function, f32(*PLANE, kind="positive"), node=node(operator) if operator else None)
for name, function, operator in [
    ("asin", torch.asin, "Asin"), ("acos", torch.acos, "Acos"), ("atanh", torch.atanh, "Atanh"),
    ("erfinv", torch.erfinv, None),
]:  # fmt: skip
    add("elementwise", name, function, f32(*PLANE, kind="inside"), node=node(operator) if operator else None)
for name, function, operator in [
    ("add", torch.add, "Add"), ("div", torch.div, "Div"), ("atan2", torch.atan2, None), ("hypot", torch.hypot, None),
    ("fmod", torch.fmod, None), ("remainder", torch.remainder, None), ("maximum", torch.maximum, "Max"),
    ("less", torch.lt, "Less"), ("floor_divide", torch.floor_divide, None),
]:  # fmt: skip
    add("elementwise", name, function, f32(*PLANE), f32(*PLANE, kind="positive"),
        node=node(operator) if operator else None)  # fmt: skip
add("elementwise", "pow", torch.pow, f32(*PLANE, kind="positive"), f32(*PLANE), node=node("Pow"))
add("elementwise", "cube", lambda x: x**3, f32(*PLANE))
add("elementwise", "gelu tanh", lambda x: F.gelu(x, approximate="tanh"), f32(*PLANE),
    node=node("Gelu", approximate="tanh"))  # fmt: skip
add("elementwise", "clamp", lambda x: x.clamp(-1, 1), f32(*PLANE),
    node=node("Clip", {1: np.float32(-1), 2: np.float32(1)}))  # fmt: skip
add("elementwise", "where", torch.where, truth(*PLANE), f32(*PLANE), f32(*PLANE), node=node("Where"))
add("elementwise", "add a row", torch.add, f32(*PLANE), f32(1024), node=node("Add"))
add("elementwise", "multiply by a column", torch.mul, f32(*PLANE), f32(512, 1), node=node("Mul"))
for kind in (f64, bf16, f16):
    for name, function in [("exp", torch.exp), ("tanh", torch.tanh), ("gelu", F.gelu), ("add", torch.add)]:
        operands = [kind(*PLANE)] * (2 if name == "add" else 1)
        add("elementwise", name, function, *operands)
add("elementwise", "log", torch.log, f64(*PLANE, kind="positive"))
add("elementwise", "sin", torch.sin, f64(*PLANE))
add("elementwise", "pow", torch.pow, f64(*PLANE, kind="positive"), f64(*PLANE))
add("elementwise", "add", torch.add, i64(*PLANE), i64(*PLANE), node=node("Add"))
add("elementwise", "multiply", torch.mul, i64(*PLANE), i64(*PLANE), node=node("Mul"))
add("elementwise", "floor_divide by 7", lambda x: x // 7, i64(*PLANE))
add("elementwise", "remainder by 7", lambda x: x % 7, i64(*PLANE))
add("elementwise", "floor_divide", lambda x, y: x // (y + 1), i64(*PLANE), i64(*PLANE))
add("elementwise", "equal", torch.eq, i64(*PLANE), i64(*PLANE), node=node("Equal"))
add("elementwise", "bitwise_and", torch.bitwise_and, i32(*PLANE), i32(*PLANE))
add("elementwise", "to bf16", lambda x: x.bfloat16(), f32(*PLANE))
add("elementwise", "to bf16", lambda x: x.bfloat16(), f64(*PLANE), tolerance=2e-3)  # PyTorch rounds to f32 first
add("elementwise", "i1e", torch.special.i1e, f32(*PLANE))
add("elementwise", "bessel_j0", torch.special.bessel_j0, f32(*PLANE))
add("elementwise", "igamma", torch.special.gammainc, f32(100, 200, kind="positive"), f32(100, 200, kind="positive"))
add("elementwise", "to i64", lambda x: x.long(), f32(*PLANE), node=node("Cast", to=7))
add("elementwise", "to f32", lambda x: x.float(), u8(*PLANE), node=node("Cast", to=1))
add("elementwise", "to f32", lambda x: x.float(), bf16(*PLANE))

# ----------------------------------------------------------------------------------------------------------------------
# Reductions and running sums
# ----------------------------------------------------------------------------------------------------------------------

LAST, FIRST = {1: np.array([-1])}, {1: np.array([0])}

add("reductions", "sum of all", torch.sum, f32(1000, 1000), node=node("ReduceSum", keepdims=0))
add("reductions", "sum", lambda x: x.sum(-1), f32(*PLANE), node=node("ReduceSum", LAST, keepdims=0))
add("reductions", "sum of columns", lambda x: x.sum(0), f32(*PLANE), node=node("ReduceSum", FIRST, keepdims=0))
add(
    "reductions", "mean of few columns", lambda x: x.mean(0), f32(100003, 5), node=node("ReduceMean", FIRST, keepdims=0)
)
add("reductions", "max of few columns", lambda x: x.amax(0), f32(100003, 5), node=node("ReduceMax", FIRST, keepdims=0))
add("reductions", "var of few columns", lambda x: x.var(0), f32(100003, 5))
add("reductions", "cumsum of few columns", lambda x: x.cumsum(0), f32(100000, 3),
    node=node("CumSum", {1: np.int64(0)}), tolerance=1e-3)  # fmt: skip
add("reductions", "mean of images", lambda x: x.mean((2, 3)), f32(8, 64, 32, 32),
    node=node("ReduceMean", {1: np.array([2, 3])}, keepdims=0))  # fmt: skip
add("reductions", "max", lambda x: x.amax(-1), f32(*PLANE), node=node("ReduceMax", LAST, keepdims=0))
add("reductions", "max of columns", lambda x: x.amax(0), f32(*PLANE), node=node("ReduceMax", FIRST, keepdims=0))
add("reductions", "max with position", lambda x: x.max(-1), f32(*PLANE))
add("reductions", "argmax", lambda x: x.argmax(-1), f32(*PLANE), node=node("ArgMax", axis=-1, keepdims=0))
add("reductions", "argmax of columns", lambda x: x.argmax(0), f32(*PLANE), node=node("ArgMax", axis=0, keepdims=0))
add("reductions", "argmax of a vocabulary", lambda x: x.argmax(-1), f32(1, 50257),
    node=node("ArgMax", axis=-1, keepdims=0))  # fmt: skip
add("reductions", "argmin", lambda x: x.argmin(-1), i64(*PLANE, high=10**9),
    node=node("ArgMin", axis=-1, keepdims=0))  # fmt: skip
add("reductions", "prod", lambda x: x.prod(-1), f32(*PLANE, kind="uniform"), node=node("ReduceProd", LAST, keepdims=0))
add("reductions", "any", lambda x: x.any(-1), truth(*PLANE))
add("reductions", "var", lambda x: x.var(-1), f32(*PLANE))
add("reductions", "std of columns", lambda x: x.std(0), f32(*PLANE))
add("reductions", "norm", lambda x: torch.linalg.vector_norm(x, dim=-1), f32(*PLANE),
    node=node("ReduceL2", LAST, keepdims=0))  # fmt: skip
add("reductions", "logsumexp", lambda x: x.logsumexp(-1), f32(*PLANE), node=node("ReduceLogSumExp", LAST, keepdims=0))
add("reductions", "sum", lambda x: x.sum(-1), bf16(*PLANE))
add("reductions", "sum", lambda x: x.sum(-1), f64(*PLANE))
add("reductions", "sum", lambda x: x.sum(-1), i64(*PLANE), node=node("ReduceSum", LAST, keepdims=0))
add("reductions", "count_nonzero", lambda x: torch.count_nonzero(x), truth(*PLANE))
add("reductions", "cumsum", lambda x: x.cumsum(-1), f32(*PLANE), node=node("CumSum", {1: np.int64(-1)}))
add("reductions", "cumsum of columns", lambda x: x.cumsum(0), f32(*PLANE), node=node("CumSum", {1: np.int64(0)}))
add("reductions", "cumsum", lambda x: x.cumsum(-1), i64(*PLANE), node=node("CumSum", {1: np.int64(-1)}))
add("reductions", "cumprod", lambda x: x.cumprod(-1), f32(*PLANE, kind="uniform"))
add("reductions", "cummax", lambda x: x.cummax(-1), f32(*PLANE))
add("reductions", "cummax of one line", lambda x: x.cummax(0), f32(60000))
add("reductions", "cummin of columns", lambda x: x.cummin(0), f32(*PLANE))
add("reductions", "logcumsumexp", lambda x: x.logcumsumexp(-1), f32(*PLANE))

# ----------------------------------------------------------------------------------------------------------------------
# Rows
# ----------------------------------------------------------------------------------------------------------------------

add("rows", "softmax", lambda x: x.softmax(-1), f32(*PLANE), node=node("Softmax", axis=-1))
add("rows", "softmax of channels", lambda x: x.softmax(1), f32(8, 21, 64, 64), node=node("Softmax", axis=1))
add("rows", "softmax", lambda x: x.softmax(-1), bf16(*PLANE))
add("rows", "log_softmax", lambda x: x.log_softmax(-1), f32(16, 50257), node=node("LogSoftmax", axis=-1))
add("rows", "log_softmax", lambda x: x.log_softmax(-1), f32(4000, 29), node=node("LogSoftmax", axis=-1))
add("rows", "layer_norm", lambda x, w, b: F.layer_norm(x, (768,), w, b), f32(8, 128, 768), f32(768), f32(768),
    node=node("LayerNormalization"))  # fmt: skip
add("rows", "layer_norm", lambda x, w, b: F.layer_norm(x, (768,), w, b), bf16(8, 128, 768), bf16(768), bf16(768))
add("rows", "rms_norm", lambda x, w: F.rms_norm(x, (1024,), w), f32(*PLANE), f32(1024),
    node=node("RMSNormalization"))  # fmt: skip
add("rows", "group_norm", lambda x, w, b: F.group_norm(x, 32, w, b), f32(4, 128, 32, 32), f32(128), f32(128),
    node=node("GroupNormalization", num_groups=32))  # fmt: skip
add("rows", "batch_norm", lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b), f32(8, 64, 32, 32), f32(64),
    f32(64, kind="positive"), f32(64), f32(64))  # fmt: skip
add("rows", "instance_norm", lambda x: F.instance_norm(x), f32(8, 64, 32, 32))
add("rows", "normalize", lambda x: F.normalize(x), f32(*PLANE), node=node("LpNormalization", axis=1))
add("rows", "cosine_similarity", lambda x, y: F.cosine_similarity(x, y), f32(*PLANE), f32(*PLANE))
add("rows", "cross_entropy", lambda x, t: F.cross_entropy(x, t), f32(256, 1000), i64(256))

# ----------------------------------------------------------------------------------------------------------------------
# Movement and indices
# ----------------------------------------------------------------------------------------------------------------------

add("rows", "cross_entropy, of each row, weighted",
    lambda x, t, w: F.cross_entropy(x, t, weight=w, reduction="none"), f32(5000, 10), i64(5000, high=10),
    f32(10, kind="positive"))  # fmt: skip
add("movement", "transpose", lambda x: x.T.contiguous(), f32(1024, 1024), node=node("Transpose", perm=[1, 0]))
add("movement", "to channels last", lambda x: x.permute(0, 2, 3, 1).contiguous(), f32(1, 64, 112, 112),
    node=node("Transpose", perm=[0, 2, 3, 1]))  # fmt: skip
add("movement", "heads", lambda x: x.permute(0, 2, 1, 3).contiguous(), f32(4, 128, 12, 64),
    node=node("Transpose", perm=[0, 2, 1, 3]))  # fmt: skip
add("movement", "transpose", lambda x: x.T.contiguous(), bf16(1024, 1024))
add("movement", "transpose", lambda x: x.T.contiguous(), u8(1024, 1024), node=node("Transpose", perm=[1, 0]))
add("movement", "concat", lambda x, y: torch.cat([x, y], 1), f32(8, 64, 32, 32), f32(8, 32, 32, 32),
    node=node("Concat", axis=1))  # fmt: skip
add("movement", "concat of columns", lambda x, y: torch.cat([x, y], -1), f32(2000, 64), f32(2000, 100),
    node=node("Concat", axis=-1))  # fmt: skip
add("movement", "stack", lambda x, y: torch.stack([x, y], -1), f32(*PLANE), f32(*PLANE))
add("movement", "repeat", lambda x: x.repeat(4, 3), f32(256, 256), node=node("Tile", {1: np.array([4, 3])}))
add("movement", "repeat_interleave", lambda x: x.repeat_interleave(4, 1), f32(4, 8, 128, 64))
add("movement", "repeat_interleave, counts", lambda x, n: x.repeat_interleave(n, 0), f32(500, 80), i64(500, high=4))
add("movement", "pad", lambda x: F.pad(x, (1, 1, 1, 1)), f32(8, 64, 32, 32),
    node=node("Pad", {1: np.array([0, 0, 1, 1, 0, 0, 1, 1])}))  # fmt: skip
add("movement", "pad by reflection", lambda x: F.pad(x, (3, 3, 3, 3), mode="reflect"), f32(1, 32, 128, 128),
    node=node("Pad", {1: np.array([0, 0, 3, 3, 0, 0, 3, 3])}, mode="reflect"))  # fmt: skip
add("movement", "flip", lambda x: x.flip(-1), f32(*PLANE))
add("movement", "roll", lambda x: x.roll((4, 4), (1, 2)), f32(1, 56, 56, 96))
add("movement", "roll a line", lambda x: x.roll(7), i64(300007))
add("movement", "tril", lambda x: x.tril(), f32(1024, 1024), node=node("Trilu", upper=0))
add("movement", "every second", lambda x: x[:, ::2].contiguous(), f32(*PLANE))
add("movement", "pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), f32(1, 64, 64, 64))
add("movement", "unfold", lambda x: F.unfold(x, 3, padding=1), f32(1, 32, 64, 64))
add("movement", "fold", lambda x: F.fold(x, (64, 64), 3, padding=1), f32(1, 288, 4096))
add("movement", "embedding", lambda i, w: F.embedding(i, w), i64(8, 128, high=30000), f32(30000, 256))
add("movement", "embedding_bag, sums", lambda i, w: F.embedding_bag(i, w, mode="sum"), i64(256, 32, high=30000),
    f32(30000, 128))  # fmt: skip
add("movement", "embedding_bag, means", lambda i, w: F.embedding_bag(i, w), i64(1024, 20, high=10000), f32(10000, 64))
add("movement", "embedding_bag, sums from offsets, weighted",
    lambda i, w, f: F.embedding_bag(i, w, torch.arange(0, 20000, 10), mode="sum", per_sample_weights=f),
    i64(20000, high=10000), f32(10000, 16), f32(20000))  # fmt: skip
add("movement", "index_select", lambda x, i: x.index_select(1, i), f32(*PLANE), i64(512))
add("movement", "gather", lambda x, i: x.gather(1, i), f32(*PLANE), i64(512, 512, high=1024),
    node=node("GatherElements", axis=1))  # fmt: skip
add("movement", "gather of columns", lambda x, i: x.gather(0, i), f32(*PLANE), i64(256, 1024, high=512),
    node=node("GatherElements", axis=0))  # fmt: skip
add("movement", "advanced index", lambda x, i, j: x[i, j], f32(*PLANE), i64(100000, high=512), i64(100000, high=1024))
add("movement", "scatter", lambda x, i, y: x.scatter(1, i, y), f32(*PLANE), i64(512, 1, high=1024), f32(512, 1),
    node=node("ScatterElements", axis=1))  # fmt: skip
add("movement", "scatter_add", lambda x, i, y: x.scatter_add(0, i, y), f32(1000, 64), i64(10000, 64), f32(10000, 64),
    node=node("ScatterElements", axis=0, reduction="add"), tolerance=1e-3)  # fmt: skip
add("movement", "index_add", lambda x, i, y: x.index_add(0, i, y), f32(1000, 64), i64(10000), f32(10000, 64))
add("movement", "index_put", lambda x, i, y: x.index_put((i,), y, accumulate=True), f32(1000, 64), i64(5000),
    f32(5000, 64))  # fmt: skip
add("movement", "masked_fill", lambda x, m: x.masked_fill(m, -1e9), f32(*PLANE), truth(*PLANE))
add("movement", "masked_select", lambda x, m: x[m], f32(*PLANE), truth(*PLANE))
add("movement", "nonzero", lambda m: m.nonzero(), truth(*PLANE))
add("movement", "one_hot", lambda i: F.one_hot(i, 1000), i64(512))
add("movement", "searchsorted", torch.searchsorted, f32(4, 100000, kind="uniform"), f32(4, 10000), compared=())
add("movement", "bucketize", lambda x: torch.bucketize(x, torch.linspace(-3, 3, 64)), f32(*PLANE))

# ----------------------------------------------------------------------------------------------------------------------
# Selection and sorting
# ----------------------------------------------------------------------------------------------------------------------


def largest(count: int) -> dict[str, Any]:
    """Of equal elements any may be chosen, so positions are not compared."""
    return {"node": node("TopK", {1: np.array([count])}, outputs=2, axis=-1), "compared": (0,)}


for count, shape in [
    (1, (16, 50000)), (50, (1, 50257)), (50, (16, 50000)), (300, (1, 8400)), (5, (32, 1000)), (5000, (16, 10000)),
    (100, (64, 256)), (1000, (1, 76725)),
]:  # fmt: skip
    add("selection", f"topk {count}", lambda x, count=count: x.topk(count), f32(*shape), **largest(count))
add("selection", "topk 50", lambda x: x.topk(50), bf16(1, 50257), compared=(0,))
add("selection", "topk 5 of columns", lambda x: x.topk(5, 0), f32(1000, 256),
    node=node("TopK", {1: np.array([5])}, outputs=2, axis=0), compared=(0,))  # fmt: skip
add("selection", "topk 50", lambda x: x.topk(50), i64(16, 50000, high=10**12), **largest(50))
for operand in (
    f32(64, 1000), f32(64, 10000), f32(1, 1000000), f64(64, 10000), i64(64, 10000, high=10**12),
    i32(64, 10000, high=10**9), bf16(64, 10000), u8(64, 10000), i64(1000, 16),
):  # fmt: skip
    add("selection", "sort", lambda x: x.sort(stable=True), operand)
add("selection", "sort of columns", lambda x: x.sort(0), f32(1000, 256), compared=(0,))
add("selection", "sort, descending", lambda x: x.sort(descending=True, stable=True), f32(64, 10000))
add("selection", "argsort", lambda x: x.argsort(stable=True), f32(64, 1000))
add("selection", "argsort", lambda x: x.argsort(stable=True), i64(64, 1000))
add("selection", "kthvalue", lambda x: x.kthvalue(100), f32(64, 1000), compared=(0,))
add("selection", "kthvalue", lambda x: x.kthvalue(5000), f32(16, 10000), compared=(0,))
add("selection", "median", lambda x: x.median(-1), f32(64, 1000), compared=(0,))
add("selection", "median of all", lambda x: x.median(), f32(*PLANE))
add("selection", "quantile", lambda x: x.quantile(0.9, -1), f32(64, 1000))
add("selection", "mode", lambda x: x.mode(-1), i64(64, 1000, high=50), compared=(0,))
add("selection", "mode", lambda x: x.mode(-1), f32(64, 1000), compared=(0,))
add("selection", "unique", lambda x: torch.unique(x), i64(100000))
add("selection", "unique", lambda x: torch.unique(x), f32(100000))
add("selection", "unique", lambda x: torch.unique(x), truth(100000))
add("selection", "unique, with counts", lambda x: torch.unique(x, return_counts=True), u8(300, 900))
add("selection", "unique, with inverse", lambda x: torch.unique(x, return_inverse=True, return_counts=True),
    i64(100000, high=10**9))  # fmt: skip
add("selection", "unique_consecutive", lambda x: torch.unique_consecutive(x), i64(100000, high=3))


def suppressed(boxes: Tensor, scores: Tensor, most: int, overlap: float, least: float) -> Tensor:
    """(batch, class, box): for each batch and class, the box of the best score, then without those that overlap it."""
    rows: list[tuple[int, int, int]] = []
    area = (boxes[..., 2:] - boxes[..., :2]).prod(-1)
    for batch, kind in np.ndindex(*scores.shape[:2]):
        values, order = scores[batch, kind].sort(descending=True, stable=True)
        left = order[values > least]
        for _ in range(most):
            if not len(left):
                break
            box, left = left[0], left[1:]
            rows.append((batch, kind, int(box)))
            first, others = boxes[batch, box], boxes[batch, left]
            low, high = torch.maximum(first[:2], others[:, :2]), torch.minimum(first[2:], others[:, 2:])
            common = (high - low).clamp(min=0).prod(1)
            left = left[common / (area[batch, box] + area[batch, left] - common) <= overlap]
    return torch.tensor(rows).reshape(-1, 3)


for classes, count, most, least, spread in [
    (80, 8400, 100, 0.25, "scores"), (1, 8400, 300, 0.25, "scores"), (80, 1000, 50, 0.05, "scores"),
    (1, 8400, 1000, 0.0, "uniform"), (1, 100, 100, 0.0, "uniform"),
]:  # fmt: skip
    limits = {2: np.array([most]), 3: np.array([0.5], np.float32), 4: np.array([least], np.float32)}
    add("selection", f"boxes without overlaps, {most} of scores above {least}",
        lambda boxes, scores, most=most, least=least: suppressed(boxes, scores, most, 0.5, least),
        f32(1, count, 4, kind="boxes"), f32(1, classes, count, kind=spread),
        node=node("NonMaxSuppression", limits), is_imported=True)  # fmt: skip
add("selection", "isin", lambda x, y: torch.isin(x, y), i64(100000), i64(100))
add("selection", "bincount", lambda x: torch.bincount(x, minlength=1000), i64(100000))
add("selection", "median of all", lambda x: x.median(), i64(100000))
add("selection", "histc", lambda x: torch.histc(x, 100, -3, 3), f32(*PLANE))

# ----------------------------------------------------------------------------------------------------------------------
# Products, convolutions, windows
# ----------------------------------------------------------------------------------------------------------------------

add("products", "matmul", torch.matmul, f32(384, 384), f32(384, 384), node=node("MatMul"))
add("products", "matmul", torch.matmul, f64(256, 256), f64(256, 256), node=node("MatMul"))
add("products", "matmul", torch.matmul, bf16(384, 384), bf16(384, 384))
add("products", "matmul of heads", torch.matmul, f32(12, 128, 64), f32(12, 64, 128), node=node("MatMul"))
add("products", "matrix by vector", torch.mv, f32(1000, 1000), f32(1000), node=node("MatMul"))
add("products", "linear", F.linear, f32(128, 768), weights=[f32(768, 768), f32(768)],
    node=node("Gemm", transB=1))  # fmt: skip
add("products", "linear", F.linear, bf16(128, 768), weights=[bf16(768, 768), bf16(768)])
add("products", "einsum", lambda q, k: torch.einsum("bihd,bjhd->bhij", q, k), f32(2, 128, 8, 64), f32(2, 128, 8, 64),
    node=node("Einsum", equation="bihd,bjhd->bhij"))  # fmt: skip
add("products", "cdist", lambda x, y: torch.cdist(x, y), f32(512, 64), f32(512, 64))
add("products", "outer", torch.outer, f32(1000), f32(1000))
add("products", "attention", F.scaled_dot_product_attention, *[f32(1, 12, 256, 64)] * 3)
add("products", "attention, causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    *[f32(1, 12, 256, 64)] * 3)  # fmt: skip
add("products", "attention", F.scaled_dot_product_attention, *[bf16(1, 12, 256, 64)] * 3)
add("products", "attention, one query", F.scaled_dot_product_attention, f32(1, 12, 1, 64),
    *[f32(1, 12, 1024, 64)] * 2)  # fmt: skip
add("products", "conv2d 3x3", lambda x, w: F.conv2d(x, w, padding=1), f32(1, 64, 56, 56), weights=[f32(64, 64, 3, 3)],
    node=node("Conv", pads=[1, 1, 1, 1]))  # fmt: skip
add("products", "conv2d 1x1", lambda x, w: F.conv2d(x, w), f32(1, 128, 28, 28), weights=[f32(256, 128, 1, 1)],
    node=node("Conv"))  # fmt: skip
add("products", "conv2d 7x7 /2", lambda x, w: F.conv2d(x, w, stride=2, padding=3), f32(1, 3, 224, 224),
    weights=[f32(32, 3, 7, 7)], node=node("Conv", pads=[3, 3, 3, 3], strides=[2, 2]))  # fmt: skip
add("products", "conv2d, depthwise", lambda x, w: F.conv2d(x, w, padding=1, groups=128), f32(1, 128, 56, 56),
    weights=[f32(128, 1, 3, 3)], node=node("Conv", pads=[1, 1, 1, 1], group=128))  # fmt: skip
add("products", "conv2d, depthwise 11x11", lambda x, w: F.conv2d(x, w, padding=5, groups=3), f32(1, 3, 256, 256),
    weights=[f32(3, 1, 11, 11)], node=node("Conv", pads=[5] * 4, group=3))  # fmt: skip
add("products", "conv1d", lambda x, w: F.conv1d(x, w, padding=1), f32(1, 80, 1500), weights=[f32(128, 80, 3)],
    node=node("Conv", pads=[1, 1]))  # fmt: skip
add("products", "conv3d", lambda x, w: F.conv3d(x, w, padding=1), f32(1, 16, 8, 28, 28), weights=[f32(16, 16, 3, 3, 3)],
    node=node("Conv", pads=[1] * 6))  # fmt: skip
add("products", "conv_transpose2d", lambda x, w: F.conv_transpose2d(x, w, stride=2), f32(1, 64, 32, 32),
    weights=[f32(64, 32, 2, 2)], node=node("ConvTranspose", strides=[2, 2]))  # fmt: skip
add("products", "conv_transpose2d 4x4", lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1), f32(1, 64, 32, 32),
    weights=[f32(64, 32, 4, 4)], node=node("ConvTranspose", strides=[2, 2], pads=[1] * 4))  # fmt: skip
add("windows", "max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1), f32(1, 64, 112, 112),
    node=node("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4))  # fmt: skip
add("windows", "max_pool2d with positions", lambda x: F.max_pool2d(x, 2, return_indices=True), f32(1, 64, 112, 112))
add("windows", "avg_pool2d", lambda x: F.avg_pool2d(x, 2), f32(1, 64, 112, 112),
    node=node("AveragePool", kernel_shape=[2, 2], strides=[2, 2]))  # fmt: skip
add("windows", "adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, 7), f32(1, 256, 30, 30))
for mode in ("bilinear", "nearest", "bicubic"):
    add("windows", f"interpolate, {mode}", lambda x, mode=mode: F.interpolate(x, scale_factor=2, mode=mode),
        f32(1, 64, 64, 64))  # fmt: skip
add("windows", "interpolate, bilinear", lambda x: F.interpolate(x, (224, 224), mode="bilinear", antialias=True),
    f32(1, 3, 480, 640))  # fmt: skip
add("windows", "grid_sample", lambda x, g: F.grid_sample(x, g, align_corners=False), f32(1, 32, 64, 64),
    f32(1, 64, 64, 2, kind="inside"), node=node("GridSample"))  # fmt: skip

# ----------------------------------------------------------------------------------------------------------------------
# Matrices, spectra, random numbers
# ----------------------------------------------------------------------------------------------------------------------

LOOSE: dict[str, Any] = {"tolerance": 1e-3}

add("matrices", "cholesky", torch.linalg.cholesky, f32(8, 128, 128, kind="definite"), **LOOSE)
add("matrices", "solve", torch.linalg.solve, f32(256, 256, kind="definite"), f32(256, 1), **LOOSE)
add("matrices", "solve", torch.linalg.solve, f32(32, 64, 64, kind="definite"), f32(32, 64, 16), **LOOSE)
add("matrices", "solve", torch.linalg.solve, f32(1000, 4, 4, kind="definite"), f32(1000, 4, 1), **LOOSE)
add("matrices", "solve_triangular", lambda a, b: torch.linalg.solve_triangular(a, b, upper=False),
    f32(4, 128, 128, kind="lower"), f32(4, 128, 16), **LOOSE)  # fmt: skip
add("matrices", "inverse", torch.linalg.inv, f32(8, 128, 128, kind="definite"), **LOOSE)
add("matrices", "inverse", torch.linalg.inv, f32(256, 256, kind="definite"), **LOOSE)
add("matrices", "inverse", torch.linalg.inv, f32(5000, 3, 3, kind="definite"), **LOOSE)
add("matrices", "inverse", torch.linalg.inv, f64(8, 128, 128, kind="definite"), **LOOSE)
add("matrices", "determinant", torch.linalg.det, f32(32, 64, 64, kind="definite"), **LOOSE)
add("matrices", "qr", torch.linalg.qr, f32(4, 128, 64), compared=(), **LOOSE)
add("matrices", "eigh", torch.linalg.eigh, f32(4, 64, 64, kind="definite"), compared=(0,), **LOOSE)
add("matrices", "eigvalsh", torch.linalg.eigvalsh, f32(4, 64, 64, kind="definite"), **LOOSE)
add("matrices", "svd", lambda x: torch.linalg.svd(x, full_matrices=False), f32(4, 64, 64), compared=(1,), **LOOSE)
add("matrices", "svd", lambda x: torch.linalg.svd(x, full_matrices=False), f32(1000, 3, 3), compared=(1,), **LOOSE)
add("matrices", "svdvals", torch.linalg.svdvals, f32(4, 64, 64), **LOOSE)
add("matrices", "matrix_exp", torch.linalg.matrix_exp, f32(8, 64, 64, kind="definite"), **LOOSE)
add("spectra", "fft", lambda x: torch.view_as_real(torch.fft.fft(x)), f32(128, 1024))
add("spectra", "rfft", lambda x: torch.view_as_real(torch.fft.rfft(x)), f32(256, 400))
add("spectra", "rfft of a prime", lambda x: torch.view_as_real(torch.fft.rfft(x)), f32(64, 1009))
add("spectra", "irfft", lambda x: torch.fft.irfft(torch.view_as_complex(x)), f32(128, 513, 2))
add("spectra", "fft2", lambda x: torch.view_as_real(torch.fft.fft2(x)), f32(4, 256, 256))
add("spectra", "rfft2", lambda x: torch.view_as_real(torch.fft.rfft2(x)), f32(4, 256, 256))
add("spectra", "stft", lambda x: torch.view_as_real(torch.stft(x, 512, 128, window=torch.hann_window(512),
    return_complex=True)), f32(2, 48000))  # fmt: skip
add("random", "rand_like", torch.rand_like, f32(*PLANE), compared=())
add("random", "randn_like", torch.randn_like, f32(*PLANE), compared=())
add("random", "bernoulli", torch.bernoulli, f32(*PLANE, kind="uniform"), compared=())
add("random", "multinomial, one", lambda p: p.multinomial(1), f32(16, 50257, kind="uniform"), compared=())
add("random", "multinomial, ten", lambda p: p.multinomial(10), f32(16, 10000, kind="uniform"), compared=())
add("random", "multinomial, with replacement", lambda p: p.multinomial(100, replacement=True),
    f32(16, 10000, kind="uniform"), compared=())  # fmt: skip
add("random", "randperm", lambda x: torch.randperm(100000), f32(1), compared=())
