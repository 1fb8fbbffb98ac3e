"""More rows for operators.py: elementwise operators, reductions, rows and movement of other types and shapes than in
operator_rows.py."""

from typing import Any

import torch
import torch.nn.functional as F
from operator_rows import (
    PLANE,
    ROWS,
    add,
    bf16,
    f16,
    f32,
    f64,
    i32,
    i64,
    truth,
    u8,
)

__all__ = ["ROWS"]

FLAT: dict[str, Any] = {"compared": ()}

# ----------------------------------------------------------------------------------------------------------------------
# Elementwise
# ----------------------------------------------------------------------------------------------------------------------

for name, function in [
    ("exp2", torch.exp2),
    ("cosh", torch.cosh),
    ("erfc", torch.erfc),
    ("logit", lambda x: torch.logit(x, 1e-6)),
    ("logsigmoid", F.logsigmoid),
    ("selu", F.selu),
    ("leaky_relu", F.leaky_relu),
    ("softsign", F.softsign),
    ("hardsigmoid", F.hardsigmoid),
    ("tanhshrink", F.tanhshrink),
    ("sinc", torch.sinc),
    ("frac", torch.frac),
    ("trunc", torch.trunc),
    ("square", torch.square),
    ("nan_to_num", torch.nan_to_num),
    ("ndtr", torch.special.ndtr),
    ("log_ndtr", torch.special.log_ndtr),
    ("i0", torch.i0),
    ("erfcx", torch.special.erfcx),
    ("signbit", torch.signbit),
    ("isfinite", torch.isfinite),
    ("pow 1.5", lambda x: x.abs() ** 1.5),
    ("relu6", F.relu6),
    ("glu", F.glu),
]:
    add("elementwise", name, function, f32(*PLANE))
for name, function in [
    ("log2", torch.log2),
    ("log10", torch.log10),
    ("acosh", lambda x: torch.acosh(x + 1)),
    ("polygamma", lambda x: torch.polygamma(1, x)),
    ("xlogx", lambda x: torch.xlogy(x, x)),
    ("entr", torch.special.entr),
]:
    add("elementwise", name, function, f32(*PLANE, kind="positive"))
add("elementwise", "ndtri", torch.special.ndtri, f32(*PLANE, kind="uniform"))
for name, function in [
    ("logaddexp", torch.logaddexp),
    ("copysign", torch.copysign),
    ("nextafter", torch.nextafter),
    ("lerp", lambda x, y: torch.lerp(x, y, 0.3)),
    ("xlogy", torch.xlogy),
    ("ldexp", torch.ldexp),
    ("heaviside", torch.heaviside),
    ("trunc_divide", lambda x, y: torch.div(x, y, rounding_mode="trunc")),
]:
    add("elementwise", name, function, f32(*PLANE), f32(*PLANE, kind="positive"))
for name, function in [
    ("exp2", torch.exp2),
    ("expm1", torch.expm1),
    ("cos", torch.cos),
    ("tan", torch.tan),
    ("sinh", torch.sinh),
    ("cosh", torch.cosh),
    ("atan", torch.atan),
    ("asinh", torch.asinh),
    ("erf", torch.erf),
    ("erfc", torch.erfc),
    ("sigmoid", torch.sigmoid),
    ("silu", F.silu),
    ("softplus", F.softplus),
    ("mish", F.mish),
    ("elu", F.elu),
    ("floor", torch.floor),
    ("round", torch.round),
    ("relu", torch.relu),
    ("gelu tanh", lambda x: F.gelu(x, approximate="tanh")),
    ("pow 1.5", lambda x: x.abs() ** 1.5),
    ("isnan", torch.isnan),
]:
    add("elementwise", name, function, f64(*PLANE))
for name, function in [
    ("log2", torch.log2),
    ("log10", torch.log10),
    ("log1p", torch.log1p),
    ("sqrt", torch.sqrt),
    ("rsqrt", torch.rsqrt),
    ("reciprocal", torch.reciprocal),
    ("lgamma", torch.lgamma),
    ("digamma", torch.digamma),
    ("acosh", lambda x: torch.acosh(x + 1)),
]:
    add("elementwise", name, function, f64(*PLANE, kind="positive"))
for name, function in [("asin", torch.asin), ("acos", torch.acos), ("atanh", torch.atanh), ("erfinv", torch.erfinv)]:
    add("elementwise", name, function, f64(*PLANE, kind="inside"))
for name, function in [
    ("div", torch.div),
    ("atan2", torch.atan2),
    ("hypot", torch.hypot),
    ("fmod", torch.fmod),
    ("remainder", torch.remainder),
    ("maximum", torch.maximum),
    ("floor_divide", torch.floor_divide),
    ("less", torch.lt),
]:
    add("elementwise", name, function, f64(*PLANE), f64(*PLANE, kind="positive"))
add("elementwise", "where", torch.where, truth(*PLANE), f64(*PLANE), f64(*PLANE))
for kind in (bf16, f16):
    for name, function in [
        ("sin", torch.sin),
        ("sigmoid", torch.sigmoid),
        ("silu", F.silu),
        ("erfc", torch.erfc),
        ("lgamma", torch.lgamma),
        ("relu", torch.relu),
        ("softplus", F.softplus),
    ]:
        add("elementwise", name, function, kind(*PLANE))
    add("elementwise", "log", torch.log, kind(*PLANE, kind="positive"))
    add("elementwise", "div", torch.div, kind(*PLANE), kind(*PLANE, kind="positive"))
    add("elementwise", "remainder", torch.remainder, kind(*PLANE), kind(*PLANE, kind="positive"), **FLAT)
for integers in (i32, i64):
    add("elementwise", "maximum", torch.maximum, integers(*PLANE), integers(*PLANE))
    add("elementwise", "abs", torch.abs, integers(*PLANE))
    add("elementwise", "clamp", lambda x: x.clamp(10, 100), kind(*PLANE))
    add("elementwise", "remainder", lambda x, y: x % (y + 1), kind(*PLANE), kind(*PLANE))
    add("elementwise", "shift", lambda x: x << 3, kind(*PLANE))
    add("elementwise", "pow 3", lambda x: x**3, kind(*PLANE))
    add("elementwise", "gcd", torch.gcd, kind(*PLANE), kind(*PLANE))
add("elementwise", "multiply", torch.mul, i32(*PLANE), i32(*PLANE))
add("elementwise", "floor_divide", lambda x, y: x // (y + 1), i32(*PLANE), i32(*PLANE))
add("elementwise", "add", torch.add, u8(*PLANE), u8(*PLANE))
add("elementwise", "multiply", torch.mul, u8(*PLANE), u8(*PLANE))
add("elementwise", "where", torch.where, truth(*PLANE), i64(*PLANE), i64(*PLANE))
add("elementwise", "logical_and", torch.logical_and, truth(*PLANE), truth(*PLANE))
add("elementwise", "to f64", lambda x: x.double(), f32(*PLANE))
add("elementwise", "to f32", lambda x: x.float(), f64(*PLANE))
add("elementwise", "to f32", lambda x: x.float(), i64(*PLANE))
add("elementwise", "to i32", lambda x: x.int(), i64(*PLANE))
add("elementwise", "to i32", lambda x: x.int(), f32(*PLANE))
add("elementwise", "to f16", lambda x: x.half(), f32(*PLANE))
add("elementwise", "to u8", lambda x: x.to(torch.uint8), f32(*PLANE, kind="positive"))
add("elementwise", "to bool", lambda x: x.bool(), i64(*PLANE))
add("elementwise", "to i64", lambda x: x.long(), truth(*PLANE))

# ----------------------------------------------------------------------------------------------------------------------
# Reductions and running sums
# ----------------------------------------------------------------------------------------------------------------------

for element in (f64, i64, i32, bf16):
    options: dict[str, Any] = {} if element in (i64, i32) else {"kind": "uniform"}
    for name, function in [
        ("max", lambda x: x.amax(-1)),
        ("max of columns", lambda x: x.amax(0)),
        ("max with position", lambda x: x.max(-1)),
        ("argmax", lambda x: x.argmax(-1)),
        ("argmax of columns", lambda x: x.argmax(0)),
        ("sum of columns", lambda x: x.sum(0)),
        ("prod", lambda x: x.prod(-1)),
        ("cumsum", lambda x: x.cumsum(-1)),
        ("cumsum of columns", lambda x: x.cumsum(0)),
        ("cumprod", lambda x: x.cumprod(-1)),
        ("cummax", lambda x: x.cummax(-1)),
        ("cummin of columns", lambda x: x.cummin(0)),
    ]:
        add(
            "reductions",
            name,
            function,
            element(*PLANE, **options),
            **({"compared": (0,)} if "with" in name else {"compared": ()} if "arg" in name or element is bf16 else {}),
        )
add("reductions", "cummax of one line", lambda x: x.cummax(0), f64(60000))
add("reductions", "cummax of one line", lambda x: x.cummax(0), i64(60000, high=10**12))
add("reductions", "cummin", lambda x: x.cummin(-1), f32(*PLANE))
add("reductions", "cummax of columns", lambda x: x.cummax(0), f32(*PLANE))
add("reductions", "cumsum of one line", lambda x: x.cumsum(0), f32(500000), tolerance=1e-3)
add("reductions", "cumsum of one line", lambda x: x.cumsum(0), f64(500000))
add("reductions", "cumprod of columns", lambda x: x.cumprod(0), f32(*PLANE, kind="uniform"))
add("reductions", "cumsum", lambda x: x.cumsum(-1), truth(*PLANE))
add("reductions", "cumsum of the middle", lambda x: x.cumsum(1), f32(8, 64, 1024))
for name, function in [
    ("var", lambda x: x.var(-1)),
    ("var of columns", lambda x: x.var(0)),
    ("std of all", lambda x: x.std()),
    ("logsumexp", lambda x: x.logsumexp(-1)),
    ("logsumexp of columns", lambda x: x.logsumexp(0)),
    ("norm", lambda x: torch.linalg.vector_norm(x, dim=-1)),
    ("norm 1", lambda x: torch.linalg.vector_norm(x, 1, dim=-1)),
    ("norm 3", lambda x: torch.linalg.vector_norm(x, 3, dim=-1)),
    ("norm infinity", lambda x: torch.linalg.vector_norm(x, float("inf"), dim=-1)),
    ("mean", lambda x: x.mean(-1)),
    ("sum of all", torch.sum),
    ("logcumsumexp", lambda x: x.logcumsumexp(-1)),
    ("aminmax", lambda x: x.aminmax(dim=-1)),
    ("nansum", lambda x: x.nansum(-1)),
    ("var_mean", lambda x: torch.var_mean(x, -1)),
    ("min of all", torch.min),
    ("argmax of all", lambda x: x.argmax()),
    ("diff", lambda x: x.diff()),
]:
    add("reductions", name, function, f32(*PLANE))
    add("reductions", name, function, f64(*PLANE))
for name, function in [
    ("any of columns", lambda x: x.any(0)),
    ("all", lambda x: x.all(-1)),
    ("any of all", lambda x: x.any()),
    ("sum", lambda x: x.sum(-1)),
    ("sum of all", lambda x: x.sum()),
    ("sum of columns", lambda x: x.sum(0)),
    ("count_nonzero", lambda x: torch.count_nonzero(x, 1)),
    ("argmax", lambda x: x.int().argmax(-1)),
]:
    add("reductions", name, function, truth(*PLANE), **FLAT)
add("reductions", "sum of the middle", lambda x: x.sum(1), f32(8, 64, 1024))
add("reductions", "sum of first and last", lambda x: x.sum((0, 2)), f32(8, 64, 1024))
add("reductions", "max of the middle", lambda x: x.amax(1), f32(8, 64, 1024))
add("reductions", "mean of channels", lambda x: x.mean(1), f32(8, 64, 32, 32))
add("reductions", "sum", lambda x: x.sum(-1), f32(50000, 10))
add("reductions", "max", lambda x: x.amax(-1), f32(50000, 10))
add("reductions", "argmax", lambda x: x.argmax(-1), f32(50000, 10))
add("reductions", "sum", lambda x: x.sum(-1), f32(1, 500000))
add("reductions", "sum", lambda x: x.sum(-1), i32(*PLANE))
add("reductions", "sum", lambda x: x.sum(-1), u8(*PLANE))
add("reductions", "count_nonzero", lambda x: torch.count_nonzero(x), f32(*PLANE))
add("reductions", "sum", lambda x: x.sum(-1), f16(*PLANE))

# ----------------------------------------------------------------------------------------------------------------------
# Rows
# ----------------------------------------------------------------------------------------------------------------------

for kind in (f64, f16):
    add("rows", "softmax", lambda x: x.softmax(-1), kind(*PLANE))
    add("rows", "layer_norm", lambda x, w, b: F.layer_norm(x, (768,), w, b), kind(8, 128, 768), kind(768), kind(768))
add("rows", "log_softmax", lambda x: x.log_softmax(-1), f64(*PLANE))
add("rows", "softmax", lambda x: x.softmax(-1), f32(20000, 10))
add("rows", "softmax", lambda x: x.softmax(-1), f32(96, 197, 197))
add("rows", "softmax", lambda x: x.softmax(-1), f32(1, 500000))
add("rows", "softmax of columns", lambda x: x.softmax(0), f32(*PLANE))
add("rows", "log_softmax of channels", lambda x: x.log_softmax(1), f32(8, 21, 64, 64))
add("rows", "softmax of channels", lambda x: x.softmax(1), f32(1, 150, 128, 128))
add("rows", "softmax of channels", lambda x: x.softmax(1), bf16(8, 21, 64, 64))
add("rows", "layer_norm", lambda x, w, b: F.layer_norm(x, (96,), w, b), f32(3136, 96), f32(96), f32(96))
add("rows", "group_norm", lambda x, w, b: F.group_norm(x, 32, w, b), f32(1, 320, 64, 64), f32(320), f32(320))
add("rows", "group_norm", lambda x, w, b: F.group_norm(x, 8, w, b), f32(4, 64, 16, 16), f32(64), f32(64))
add("rows", "group_norm", lambda x, w, b: F.group_norm(x, 32, w, b), bf16(4, 128, 32, 32), bf16(128), bf16(128))
add("rows", "group_norm", lambda x, w, b: F.group_norm(x, 32, w, b), f64(4, 128, 32, 32), f64(128), f64(128))
add(
    "rows",
    "batch_norm",
    lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b),
    f64(8, 64, 32, 32),
    f64(64),
    f64(64, kind="positive"),
    f64(64),
    f64(64),
)
add("rows", "local_response_norm", lambda x: F.local_response_norm(x, 5), f32(4, 64, 32, 32))
add("rows", "rms_norm", lambda x, w: F.rms_norm(x, (1024,), w), bf16(*PLANE), bf16(1024))
add("rows", "normalize channels", lambda x: F.normalize(x, dim=1), f32(8, 64, 32, 32))
add("rows", "mse_loss", lambda x, y: F.mse_loss(x, y), f32(*PLANE), f32(*PLANE))
add("rows", "kl_div", lambda x, y: F.kl_div(x, y), f32(*PLANE), f32(*PLANE, kind="positive"))
add("rows", "smooth_l1_loss", lambda x, y: F.smooth_l1_loss(x, y), f32(*PLANE), f32(*PLANE))
add(
    "rows",
    "bce_with_logits",
    lambda x, y: F.binary_cross_entropy_with_logits(x, y),
    f32(*PLANE),
    f32(*PLANE, kind="uniform"),
)
add("rows", "nll_loss", lambda x, t: F.nll_loss(x, t), f32(256, 1000), i64(256))

# ----------------------------------------------------------------------------------------------------------------------
# Movement and indices
# ----------------------------------------------------------------------------------------------------------------------

add("movement", "index_add", lambda x, i, y: x.index_add(0, i, y), f64(1000, 64), i64(10000), f64(10000, 64))
add(
    "movement",
    "index_add of columns",
    lambda x, i, y: x.index_add(1, i, y),
    f32(64, 1000),
    i64(10000),
    f32(64, 10000),
    tolerance=1e-3,
)
for reduce in ("sum", "amax", "mean", "prod"):
    add(
        "movement",
        f"scatter_reduce, {reduce}",
        lambda x, i, y, reduce=reduce: x.scatter_reduce(0, i, y, reduce),
        f32(1000, 64),
        i64(10000, 64),
        f32(10000, 64),
        **FLAT,
    )
add(
    "movement",
    "scatter_reduce, amax",
    lambda x, i, y: x.scatter_reduce(0, i, y, "amax", include_self=False),
    i64(100000),
    i64(100000),
    i64(100000),
)
add(
    "movement",
    "scatter_add of rows",
    lambda x, i, y: x.scatter_add(1, i, y),
    f32(256, 1000),
    i64(256, 4000),
    f32(256, 4000),
    tolerance=1e-3,
)
add("movement", "index_copy", lambda x, i, y: x.index_copy(0, i, y), f32(1000, 512), i64(100), f32(100, 512), **FLAT)
add("movement", "index_fill", lambda x, i: x.index_fill(1, i, 0.5), f32(*PLANE), i64(100))
add("movement", "masked_scatter", lambda x, m, y: x.masked_scatter(m, y), f32(*PLANE), truth(*PLANE), f32(*PLANE))
add("movement", "take", lambda x, i: x.take(i), f32(*PLANE), i64(100000, high=500000))
add("movement", "take_along_dim", lambda x, i: x.take_along_dim(i, 1), f32(*PLANE), i64(512, 100))
add("movement", "gather", lambda x, i: x.gather(1, i), i64(*PLANE), i64(512, 512))
add("movement", "embedding", lambda i, w: F.embedding(i, w), i64(8, 128, high=30000), bf16(30000, 256))
add("movement", "embedding of rows of 16", lambda i, w: F.embedding(i, w), i64(20000, high=30000), f32(30000, 16))
add("movement", "index_select of rows", lambda x, i: x.index_select(0, i), f32(10000, 64), i64(10000, high=10000))
add("movement", "one_hot", lambda i: F.one_hot(i, 16), i64(50000, high=16))
add("movement", "one_hot as f32", lambda i: F.one_hot(i, 1000).float(), i64(512))
add("movement", "pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), f32(1, 16, 128, 128))
add("movement", "channel_shuffle", lambda x: F.channel_shuffle(x, 4), f32(1, 64, 64, 64))
add("movement", "unfold, stride 2", lambda x: F.unfold(x, 3, stride=2), f32(1, 32, 65, 65))
add("movement", "unfold of patches", lambda x: F.unfold(x, 16, stride=16), f32(1, 3, 224, 224))
add("movement", "windows", lambda x: x.unfold(1, 400, 160).contiguous(), f32(4, 16000))
add("movement", "fold of patches", lambda x: F.fold(x, (224, 224), 16, stride=16), f32(1, 768, 196))
add("movement", "rot90", lambda x: x.rot90(1, (0, 1)), f32(1024, 1024))
add("movement", "transpose", lambda x: x.T.contiguous(), f64(1024, 1024))
add("movement", "to channels first", lambda x: x.permute(0, 3, 1, 2).contiguous(), f32(1, 112, 112, 64))
add("movement", "to channels first", lambda x: x.permute(0, 3, 1, 2).contiguous(), u8(1, 480, 640, 3))
add("movement", "permute of five", lambda x: x.permute(0, 2, 4, 1, 3).contiguous(), f32(4, 8, 16, 32, 32))
add("movement", "flip of both", lambda x: x.flip((0, 1)), f32(*PLANE))
add("movement", "flip of rows", lambda x: x.flip(0), f32(*PLANE))
add("movement", "triu", lambda x: x.triu(1), f64(512, 1024))
add("movement", "diag_embed", lambda x: x.diag_embed(), f32(64, 128))
add("movement", "diagonal", lambda x: x.diagonal(0, 1, 2).contiguous(), f32(64, 256, 256))
add("movement", "concat of 16", lambda *x: torch.cat(x, 1), *[f32(64, 512)] * 16)
add("movement", "concat", lambda x, y: torch.cat([x, y], 1), u8(512, 500), u8(512, 300))
add("movement", "chunk", lambda x: [y.contiguous() for y in x.chunk(3, -1)], f32(512, 1536))
add("movement", "expand", lambda x: x.expand(512, 1024).contiguous(), f32(512, 1))
add("movement", "kron", torch.kron, f32(32, 32), f32(32, 32))
add("movement", "pad of edges", lambda x: F.pad(x, (3, 3, 3, 3), mode="replicate"), f32(1, 32, 128, 128))
add("movement", "pad, circular", lambda x: F.pad(x, (3, 3, 3, 3), mode="circular"), f32(1, 32, 128, 128))
add("movement", "pad of a line", lambda x: F.pad(x, (200, 200), mode="reflect"), f32(4, 48000))
add("movement", "nonzero", lambda x: x.nonzero(), f32(*PLANE))
add("movement", "masked_select", lambda x, m: x[m], i64(*PLANE), truth(*PLANE))
add("movement", "rows by a mask", lambda x, m: x[m], f32(10000, 64), truth(10000))
add("movement", "arange", lambda x: torch.arange(500000) + x.long(), f32(1))
add("movement", "linspace", lambda x: torch.linspace(0, 1, 500000) + x, f32(1))
add("movement", "searchsorted", torch.searchsorted, f64(4, 100000, kind="uniform"), f64(4, 10000), **FLAT)
add("movement", "bucketize", lambda x: torch.bucketize(x, torch.arange(0, 1000, 10)), i64(*PLANE))
add("movement", "cross", lambda x, y: torch.linalg.cross(x, y), f32(100000, 3), f32(100000, 3))
add("movement", "roll", lambda x: x.roll(100, -1), f32(*PLANE))
add("movement", "roll by an odd number", lambda x: x.roll(101, -1), f32(*PLANE))
add("movement", "columns before columns", lambda x, y: torch.cat([x, y], -1), f32(512, 3), f32(512, 1021))
add("movement", "embedding_bag, sums from given offsets",
    lambda i, w, o: F.embedding_bag(i, w, torch.arange(0, 20000, 10) + o, mode="sum"),
    i64(20000, high=10000), f32(10000, 64), i64(2000, high=1))  # fmt: skip
add("movement", "sums of listed rows", lambda w, i: w[i].sum(1), f32(10000, 64), i64(512, 20, high=10000))
add("movement", "slice assigned", lambda x, y: x.slice_scatter(y, 1, 100, 612), f32(*PLANE), f32(512, 512))
