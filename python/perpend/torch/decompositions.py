"""Decompositions of operators beyond core ATen: fused layers, bags of embeddings, distances, order statistics."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._decomp import get_decompositions
from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot
from torch.nn import functional

from .bessel import BESSEL
from .bits import BITS, INTEGERS
from .gradients import GRADIENTS
from .histograms import HISTOGRAMS
from .linear_algebra import IN_OTHERS
from .order_statistics import ORDER_STATISTICS
from .patches import PATCHES
from .pooling import POOLS
from .quantisation import FAKE, SCALED
from .random import DISTRIBUTIONS
from .special import SPECIAL, real_type
from .triangles import IN_TRIANGLES

aten: Any = torch.ops.aten


def _attention_mask(mask: Tensor | None, kind: int | None, dtype: torch.dtype) -> Tensor | None:
    """The summand of the scores. kind 0: [query, key]; 1: [batch, key]; 2: four dimensions."""
    if mask is None:
        return None
    mask = mask.to(torch.bool)
    mask = mask[:, None, None, :] if kind == 1 else mask
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(mask, float("-inf"))


def _attention(
    value: Tensor, heads: int, qkv: tuple[Tensor, Tensor], projection: tuple[Tensor, Tensor], mask: Tensor | None
) -> Tensor:
    batch, length, width = value.shape
    joint = functional.linear(value, *qkv).view(batch, length, 3, heads, width // heads)
    query, key, content = (joint.select(2, part).transpose(1, 2) for part in range(3))
    result = functional.scaled_dot_product_attention(query, key, content, attn_mask=mask)
    return functional.linear(result.transpose(1, 2).reshape(batch, length, width), *projection)


def encoder_layer(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    """aten._transformer_encoder_layer_fwd: the fast path of nn.TransformerEncoderLayer in eval mode."""
    added = _attention_mask(mask, mask_type, src.dtype)

    def attend(value: Tensor) -> Tensor:
        return _attention(value, num_heads, (qkv_weight, qkv_bias), (proj_weight, proj_bias), added)

    def feed(value: Tensor) -> Tensor:
        hidden = functional.linear(value, ffn_weight_1, ffn_bias_1)
        hidden = functional.gelu(hidden) if use_gelu else functional.relu(hidden)
        return functional.linear(hidden, ffn_weight_2, ffn_bias_2)

    def first(value: Tensor) -> Tensor:
        return functional.layer_norm(value, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def second(value: Tensor) -> Tensor:
        return functional.layer_norm(value, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        src = src + attend(first(src))
        return src + feed(second(src))
    src = first(src + attend(src))
    return second(src + feed(src))


def length_of_bags(offsets: Tensor, count: Any) -> Any:
    """The length of all bags of `count` indices together, if offsets are numbers at equal distances from 0 on, as
    functional.embedding_bag makes them for a matrix of indices; otherwise None."""
    mode = get_proxy_mode()
    place = get_proxy_slot(offsets, mode.tracer, None) if mode else None
    node = place.proxy.node if place else None
    if node is None or node.target is not aten.arange.start_step or node.args[0] != 0:
        return None
    length = node.args[2] if len(node.args) > 2 else 1
    return length if isinstance(length, int) and count == offsets.shape[0] * length else None


class Bags:
    """Rows that belong to bags: `bag` has the number of each one's."""

    def __init__(self, bag: Tensor, count: Any, length: Any) -> None:
        """length: of all bags, which are then one behind the other; None: they have any."""
        self.bag, self.count, self.length = bag, count, length

    def reduced(self, rows: Tensor, reduce: str, neutral: float) -> Tensor:
        """[rows, ..] to [bags, ..]; `neutral` for bags without rows."""
        if self.length is not None:
            parts = rows.unflatten(0, [self.count, self.length])
            return parts.sum(1) if reduce == "sum" else parts.amax(1) if reduce == "amax" else parts.amin(1)
        shape = (self.count, *rows.shape[1:])
        initial = torch.full(shape, neutral, dtype=rows.dtype, device=rows.device)
        if reduce == "sum":
            return initial.index_add(0, self.bag, rows)
        spread = self.bag.reshape([-1] + [1] * (rows.dim() - 1)).expand(rows.shape)
        return initial.scatter_reduce(0, spread, rows, reduce)


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Reduces bags of rows of a table: sum (mode 0), mean (1) or maximum (2); bag b begins at offsets[b].

    The other results equal what PyTorch's kernels return: the bag of each index (empty if plain sums do not need it),
    the sizes of the bags and the index of each maximum (zeros if nothing counts them).
    """
    is_plain_sum = mode == 0 and padding_idx < 0 and weight.dtype != torch.float64
    zeros = torch.zeros_like(offsets)
    length = None if include_last_offset else length_of_bags(offsets, indices.shape[0])
    offsets = offsets[:-1] if include_last_offset else offsets
    begins = torch.zeros(indices.shape[0] + 1, dtype=torch.int64, device=indices.device)
    begins = begins.index_add(0, offsets.to(torch.int64), torch.ones_like(offsets, dtype=torch.int64))
    bag = begins[:-1].cumsum(0) - 1  # how many bags begin before an index or at it
    bags = Bags(bag, offsets.shape[0], length)
    is_padded = padding_idx >= 0
    kept = (indices != padding_idx if is_padded else torch.ones_like(indices)).to(weight.dtype)
    rows = functional.embedding(indices, weight)
    counts = bags.reduced(kept, "sum", 0.0)
    if mode == 2:
        rows = torch.where(kept[:, None] > 0, rows, float("-inf")) if is_padded else rows
        result = torch.where(counts[:, None] > 0, bags.reduced(rows, "amax", float("-inf")), 0.0)
        sizes, largest = counts.to(offsets.dtype), first_of_maxima(rows, indices, bags, result)
    else:
        rows = rows if per_sample_weights is None else rows * per_sample_weights[:, None]
        rows = torch.where(kept[:, None] > 0, rows, 0.0) if is_padded else rows
        result = bags.reduced(rows, "sum", 0.0)
        result = result / counts.clamp(min=1)[:, None] if mode == 1 else result
        sizes = counts.to(offsets.dtype) if mode == 1 else zeros if is_plain_sum else zeros[: offsets.shape[0]]
        largest = sizes
    return result, bag[:0] if is_plain_sum else bag, sizes, largest


def first_of_maxima(rows: Tensor, indices: Tensor, bags: Bags, maxima: Tensor) -> Tensor:
    """The first index of each bag whose row has the maximum; 0 for a bag without rows."""
    count = indices.shape[0]
    place = torch.arange(count, device=indices.device)[:, None]
    place = torch.where(rows == maxima[bags.bag], place, count)
    first = bags.reduced(place, "amin", count)
    return torch.cat([indices, torch.zeros_like(indices[:1])])[first]


def distances(x: Tensor, y: Tensor, p: float, compute_mode: int | None = None) -> Tensor:
    """aten._cdist_forward: the p-norm of x[.., i, :] - y[.., j, :]."""
    difference = (x[..., :, None, :] - y[..., None, :, :]).abs()
    return length(difference, p)


def length(difference: Tensor, p: float) -> Tensor:
    """The p-norm along the last dimension; p = 0 counts, and NaN as what it is."""
    if p == 0:
        return torch.where(difference != difference, difference, (difference != 0).to(difference.dtype)).sum(-1)
    return torch.linalg.vector_norm(difference, p, dim=-1)


def distance(x: Tensor, y: Tensor, p: float = 2) -> Tensor:
    return torch.linalg.vector_norm(x - y, p)


def distances_of_pairs(x: Tensor, p: float = 2) -> Tensor:
    """aten._pdist_forward: the distances of rows i < j, in order."""
    first, second = torch.triu_indices(x.shape[0], x.shape[0], 1, device=x.device)
    return length(x[first] - x[second], p)


def multilabel_margin(x: Tensor, target: Tensor, reduction: int) -> tuple[Tensor, Tensor]:
    """sum over targets j (those before the first -1) and all others i of max(0, 1 - x[j] + x[i]) / classes, without
    those that are NaN."""
    rows, labels = (part.reshape(-1, part.shape[-1] if part.dim() else 1) for part in (x, target))
    classes = rows.shape[-1]
    is_given = (labels < 0).long().cumsum(-1) == 0
    is_target = (is_given[..., None] & (labels[..., None] == torch.arange(classes, device=x.device))).any(-2)
    wanted = rows.gather(-1, labels.clamp(min=0))
    margins = 1 - wanted[..., :, None] + rows[..., None, :]
    counts = is_given[..., :, None] & ~is_target[..., None, :] & (margins > 0)
    losses = torch.where(counts, margins, 0.0).sum((-2, -1)) / classes
    result = {0: losses.reshape(x.shape[:-1]), 1: losses.mean(), 2: losses.sum()}[reduction]
    return result, is_target.reshape(x.shape).to(x.dtype)


def multi_margin(
    x: Tensor, target: Tensor, p: int = 1, margin: float = 1, weight: Tensor | None = None, reduction: int = 1
) -> Tensor:
    """sum over i that are not the target t of weight[t] max(0, margin - x[t] + x[i])^p / classes, without those that
    are NaN."""
    rows, labels = x.reshape(-1, x.shape[-1] if x.dim() else 1), target.reshape(-1, 1)
    classes = rows.shape[-1]
    margins = margin - rows.gather(-1, labels) + rows
    terms = margins if p == 1 else margins * margins
    terms = terms if weight is None else terms * weight[labels]
    counts = (margins > 0) & (labels != torch.arange(classes, device=x.device))
    losses = torch.where(counts, terms, 0.0).sum(-1) / classes
    return {0: losses.reshape(target.shape), 1: losses.mean(), 2: losses.sum()}[reduction]


def resize(x: Tensor, size: list[int], *, memory_format: torch.memory_format | None = None) -> Any:
    """Keeps the elements in order; additional ones, which PyTorch leaves uninitialised, are 0."""
    count, wanted = math.prod(x.shape), math.prod(size)
    if not x.is_contiguous() or memory_format not in (None, torch.contiguous_format, torch.preserve_format):
        return NotImplemented
    flat = x.reshape(-1)
    flat = torch.cat([flat, flat.new_zeros(wanted - count)]) if wanted > count else flat[:wanted]
    return flat.reshape(size)


def roll(x: Tensor, shifts: list[int], dims: tuple[int, ...] | list[int] = ()) -> Tensor:
    """Rows are gathered; the last dimension, if its extent is a number, is put together of two parts."""
    if not dims:
        return roll(x.reshape(-1), shifts, [0]).reshape(x.shape)
    rotation = 0
    for shift, dim in zip(shifts, dims, strict=True):
        count = x.shape[dim] if x.dim() else 0
        if count == 0:
            continue
        if dim % x.dim() == x.dim() - 1 and isinstance(count, int):
            rotation += shift
        else:
            x = x.index_select(dim, (torch.arange(count, device=x.device) - shift) % count)
    begin = -rotation % x.shape[-1] if rotation else 0
    return torch.cat([x[..., begin:], x[..., :begin]], -1) if begin else x


def index_fill(x: Tensor, dim: int, index: Tensor, value: float | Tensor) -> Tensor:
    """`value` at the listed positions of a dimension, which a mask marks."""
    if not x.dim():
        return index_fill(x[None], 0, index, value)[0]
    dim %= x.dim()
    is_there = x.new_ones((), dtype=torch.bool)
    mask = x.new_zeros(x.shape[dim], dtype=torch.bool).index_put((index.reshape(-1),), is_there)
    filling = value.to(x.dtype) if isinstance(value, Tensor) else x.new_full((), value)
    return torch.where(mask.reshape([-1] + [1] * (x.dim() - 1 - dim)), filling, x)


def trilinear(
    x: Tensor,
    y: Tensor,
    z: Tensor,
    expand1: list[int],
    expand2: list[int],
    expand3: list[int],
    sumdim: list[int],
    unroll_dim: int = 1,
) -> Tensor:
    """The product of three tensors, unsqueezed at the listed dimensions, summed over `sumdim`: two products of two."""
    rank = x.dim() + len(expand1)
    letters = "abcdefghijklmnopqrstuvwxyz"[:rank]

    def without(dims: list[int]) -> str:
        return "".join(letter for dim, letter in enumerate(letters) if dim not in dims and dim - rank not in dims)

    names = ",".join(without(dims) for dims in (expand1, expand2, expand3))
    return torch.einsum(f"{names}->{without(sumdim)}", x, y, z)


def add_scaled(operator: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """x + value y * z, or y / z. Floats of 16 bits are computed in f32; among integers, value loses its fraction."""

    def function(x: Tensor, y: Tensor, z: Tensor, *, value: float = 1) -> Tensor:
        dtype = torch.promote_types(torch.result_type(x, y), torch.result_type(x, z))
        is_whole = not dtype.is_floating_point and not dtype.is_complex
        wide = torch.promote_types(dtype, torch.float32) if dtype.is_floating_point else dtype
        x, y, z = (each.to(wide) for each in (x, y, z))
        factor = int(value) if is_whole else value
        return (x + operator(y if factor == 1 else y * factor, z)).to(dtype)

    return function


def times_power_of_two(x: Tensor, exponent: Tensor) -> Tensor:
    """aten.ldexp"""
    return x * torch.pow(2.0, exponent)


def add_sum_of_products(x: Tensor, y: Tensor, z: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """aten.addbmm: the batch becomes a part of what the product sums over."""
    return torch.addmm(x, y.movedim(0, 1).flatten(1), z.flatten(0, 1), beta=beta, alpha=alpha)


def scatter_reduce(
    x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool = True
) -> Tensor:
    """Reductions without the tensor's own elements, and means."""
    if include_self and reduce != "mean":
        return NotImplemented
    if x.dim() == 0:
        return scatter_reduce(x[None], 0, index.reshape(1), source.reshape(1), reduce, include_self)[0]
    count = torch.zeros_like(x, dtype=torch.long).scatter_add(dim, index, torch.ones_like(index))
    base = x
    if not include_self:
        base = torch.where(count > 0, x.new_full((), neutral_element(reduce, x.dtype)), x)
    result = torch.scatter_reduce(base, dim, index, source, "sum" if reduce == "mean" else reduce)
    if reduce != "mean":
        return result
    number = (count + int(include_self)).clamp(min=1)
    return result / number if x.is_floating_point() else torch.div(result, number, rounding_mode="floor").to(x.dtype)


def neutral_element(reduce: str, dtype: torch.dtype) -> float:
    """What a reduction begins with, so that it does not change the result."""
    if reduce in ("sum", "mean", "prod"):
        return int(reduce == "prod")
    wants_lowest = reduce == "amax"
    if dtype.is_floating_point:
        return -math.inf if wants_lowest else math.inf
    if dtype == torch.bool:
        return not wants_lowest
    limits = torch.iinfo(dtype)
    return int(limits.min if wants_lowest else limits.max)


def index_reduce(
    x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """Reduces result[.., index[i], ..] with source[.., i, ..]."""
    shape = [-1 if axis == dim % x.dim() else 1 for axis in range(x.dim())]
    return x.scatter_reduce(dim, index.reshape(shape).expand(source.shape), source, reduce, include_self=include_self)


def take(x: Tensor, index: Tensor) -> Tensor:
    """Elements of the flattened tensor, counted from its end where an index is negative."""
    index = torch.where(index < 0, index + x.numel(), index)
    return x.reshape(-1).index_select(0, index.reshape(-1)).reshape(index.shape)


def put(x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Writes elements of the flattened tensor."""
    flat = x.reshape(-1).index_put((index.reshape(-1),), source.reshape(-1), accumulate)
    return flat.reshape(x.shape)


def diagonal_scatter(x: Tensor, source: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Writes the diagonal; its dimension is the last of the source."""
    rows, columns = x.shape[dim1], x.shape[dim2]
    row = torch.arange(rows, device=x.device)
    places = row[:, None] + offset == torch.arange(columns, device=x.device)
    moved = x.movedim((dim1, dim2), (-2, -1))
    along = row if offset >= 0 else row + offset
    spread = source.index_select(-1, along.clamp(0, source.shape[-1] - 1)).unsqueeze(-1)
    return torch.where(places, spread, moved).movedim((-2, -1), (dim1, dim2))


def mode(x: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The least of the most frequent values, and its last position."""
    if x.dim() == 0:
        return x.clone(), torch.zeros_like(x, dtype=torch.long)
    values, order = torch.sort(x.movedim(dim, -1), dim=-1, stable=True)
    is_new = torch.ones_like(values, dtype=torch.bool)
    is_new = torch.cat([is_new[..., :1], values[..., 1:] != values[..., :-1]], -1)
    run = is_new.long().cumsum(-1) - 1
    lengths = torch.zeros_like(run).scatter_add(-1, run, torch.ones_like(run))
    longest = lengths.argmax(-1, keepdim=True)
    last = lengths.cumsum(-1).gather(-1, longest) - 1
    results = (values.gather(-1, last), order.gather(-1, last))
    first, second = (part.movedim(-1, dim) if keepdim else part.squeeze(-1) for part in results)
    return first, second


def deviation(
    x: Tensor, dim: list[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> Tensor:
    """aten.std: the root of the variance before that is rounded, which may be too large for the type."""
    return torch.var(x.double(), dim, correction=correction, keepdim=keepdim).sqrt().to(x.dtype)


def deviation_and_mean(
    x: Tensor, dim: list[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    variance, mean = torch.var_mean(x.double(), dim, correction=correction, keepdim=keepdim)
    return variance.sqrt().to(x.dtype), mean.to(x.dtype)


def least_common_multiple(x: Tensor, y: Tensor) -> Tensor:
    """Narrow types compute as int, as C++ does; a result that is too large keeps the low bits."""
    dtype = torch.result_type(x, y)
    x, y = (each.to(torch.promote_types(dtype, torch.int32)) for each in (x, y))
    divisor = torch.gcd(x, y)
    return (torch.div(x, divisor.clamp(min=1), rounding_mode="trunc") * y).abs().to(dtype)


def sign_bit(x: Tensor) -> Tensor:
    """-0.0 has one, and a NaN may."""
    return (x.view(INTEGERS[x.dtype.itemsize]) if x.is_floating_point() else x) < 0


def copy_sign(x: Tensor, y: Tensor | float) -> Tensor:
    """Integers become floating point, where -0.0 exists."""
    x = x.to(real_type(torch.result_type(x, y)))
    if not isinstance(y, Tensor):
        return -x.abs() if math.copysign(1.0, y) < 0 else x.abs()
    return torch.where(sign_bit(y), -x.abs(), x.abs())


def greater(x: Tensor, y: Tensor) -> Tensor:
    """The maximum; if one operand is NaN, the other."""
    return torch.where(x != x, y, torch.where(y != y, x, torch.maximum(x, y)))


def lesser(x: Tensor, y: Tensor) -> Tensor:
    return torch.where(x != x, y, torch.where(y != y, x, torch.minimum(x, y)))


def round_to(x: Tensor, *, decimals: int) -> Tensor:
    factor, wide = 10.0 ** abs(decimals), x.to(torch.promote_types(x.dtype, torch.float32))
    result = torch.round(wide * factor) / factor if decimals >= 0 else torch.round(wide / factor) * factor
    return result.to(x.dtype)


def angle(x: Tensor) -> Tensor:
    """Real numbers only; complex ones stay an operator."""
    if x.is_complex():
        return NotImplemented
    x = x.to(real_type(x.dtype))
    return torch.where(x != x, x, (x < 0).to(x.dtype) * math.pi)


def threshold(x: Tensor, threshold: float, value: float) -> Tensor:
    """Of integers in their own type, which both numbers are cast to."""
    if not x.is_floating_point():
        threshold, value = int(threshold), int(value)
    return torch.where(x <= threshold, value, x)


def evenly_spaced(start: float, end: float, steps: int, *, dtype: torch.dtype | None = None, **others: Any) -> Tensor:
    """aten.linspace. Of integers, the ends lose their fractions before there are steps between them."""
    if dtype is not None and not dtype.is_floating_point and not dtype.is_complex:
        start, end = (int(each) if isinstance(each, float) else each for each in (start, end))
    result: Tensor = torch._refs.linspace(start, end, steps, dtype=dtype, **others)
    return result


def powers_between(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: torch.dtype | None = None, **others: Any
) -> Tensor:
    """aten.logspace, of any base. Of integers, the ends lose their fractions as those of linspace."""
    dtype = dtype or torch.get_default_dtype()
    if not dtype.is_floating_point and not dtype.is_complex:
        start, end = (torch.trunc(each) if isinstance(each, Tensor) else int(each) for each in (start, end))
    exponents = torch.linspace(start, end, steps, dtype=torch.float64)
    return torch.pow(float(base), exponents).to(dtype)


def randomised_relu(
    x: Tensor,
    noise: Tensor,
    lower: float = 0.125,
    upper: float = 1 / 3,
    training: bool = False,
    generator: Any = None,
) -> Any:
    if not training:
        return functional.leaky_relu(x, (lower + upper) / 2), noise
    slope = torch.where(x <= 0, lower + (upper - lower) * torch.rand_like(x), 1.0)
    return x * slope, slope


TABLE_OF_TORCH = [
    aten._native_batch_norm_legit,
    aten._native_batch_norm_legit_functional,
    aten._batch_norm_with_update_functional,
    aten.binary_cross_entropy,
]

DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    **DISTRIBUTIONS,
    **IN_OTHERS,
    **SPECIAL,
    **BESSEL,
    **BITS,
    **GRADIENTS,
    **HISTOGRAMS,
    **PATCHES,
    **POOLS,
    **FAKE,
    **SCALED,
    **IN_TRIANGLES,
    **ORDER_STATISTICS,
    **get_decompositions(TABLE_OF_TORCH),
    aten._transformer_encoder_layer_fwd.default: encoder_layer,
    aten._embedding_bag.default: embedding_bag,
    aten._embedding_bag_forward_only.default: embedding_bag,
    aten._cdist_forward.default: distances,
    aten.mode.default: mode,
    aten.std.correction: deviation,
    aten.std_mean.correction: deviation_and_mean,
    aten.lcm.default: least_common_multiple,
    aten.index_reduce.default: index_reduce,
    aten.put.default: put,
    aten.take.default: take,
    aten.resize.default: resize,
    aten.diagonal_scatter.default: diagonal_scatter,
    aten.dist.default: distance,
    aten._pdist_forward.default: distances_of_pairs,
    aten.multilabel_margin_loss_forward.default: multilabel_margin,
    aten.multi_margin_loss.default: multi_margin,
    aten._trilinear.default: trilinear,
    aten.roll.default: roll,
    aten.index_fill.int_Scalar: index_fill,
    aten.index_fill.int_Tensor: index_fill,
    aten.addbmm.default: add_sum_of_products,
    aten.addcmul.default: add_scaled(torch.mul),
    aten.addcdiv.default: add_scaled(torch.true_divide),
    aten.ldexp.Tensor: times_power_of_two,
    aten.linspace.default: evenly_spaced,
    aten.logspace.default: powers_between,
    aten.logspace.Tensor_Tensor: powers_between,
    aten.logspace.Tensor_Scalar: powers_between,
    aten.logspace.Scalar_Tensor: powers_between,
    aten.signbit.default: sign_bit,
    aten.copysign.Tensor: copy_sign,
    aten.copysign.Scalar: copy_sign,
    aten.fmax.default: greater,
    aten.fmin.default: lesser,
    aten.round.decimals: round_to,
    aten.angle.default: angle,
    aten.threshold.default: threshold,
    aten.rrelu_with_noise_functional.default: randomised_relu,
    aten.scatter_reduce.two: scatter_reduce,
}
