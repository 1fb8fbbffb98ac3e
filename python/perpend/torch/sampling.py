"""ATen operators that resample images, and pools whose windows depend on the result's extents."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from .._perpend import Value
from .arithmetic import scaled
from .call import Call, is_float
from .movement import slice_between
from .types import Extent, extent_of, torch_dtype

Operator = Callable[["Call"], Any]

SAMPLING = ("linear", "nearest", "cubic")
PADDING = ("zeros", "border", "reflection")


def grid_sample(call: Call) -> Value:
    return call.op(
        "grid_sample",
        call.tensor("input"),
        call.tensor("grid", call.dtype),
        mode=SAMPLING[call["interpolation_mode"]],
        padding_mode=PADDING[call["padding_mode"]],
        align_corners=int(call["align_corners"]),
    )


def scaled_extent(call: Call, extent: Extent, factor: float) -> Extent:
    if isinstance(extent, int):
        return int(extent * factor)
    if factor == int(factor):
        return f"({extent}) * {int(factor)}"
    number = call.cast(call.converter.graph.dims([extent], scalar=True), torch.float64)
    size = call.op("floor", call.op("mul", number, call.number(factor, torch.float64)))
    return call.converter.graph.measure(call.cast(size, torch.int64))


def scale_factors(call: Call) -> list[float] | None:
    """One per spatial dimension, if the model gives factors instead of sizes."""
    if call.get("scale_factors") is not None:
        return [float(factor) for factor in call["scale_factors"]]
    given = [call.get(name) for name in ("scales_d", "scales_h", "scales_w", "scales") if name in call]
    return [float(factor) for factor in given] if given and all(isinstance(f, float) for f in given) else None


def upsample(mode: str, coordinates: str = "half_pixel", **attributes: Any) -> Operator:
    def convert(call: Call) -> Value:
        value = call.tensor("input" if "input" in call else "self")
        factors = scale_factors(call)
        if call.get("output_size") is None and factors is not None:
            sizes = [scaled_extent(call, e, f) for e, f in zip(value.shape[2:], factors, strict=True)]
        else:
            sizes = [extent_of(extent) for extent in call.result.shape[2:]]
        chosen: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": coordinates, **attributes}
        if call.get("align_corners", False) and "antialias" in attributes:
            return without_aliases(call, value, sizes, chosen)
        if call.get("align_corners", False):
            chosen["coordinate_transformation_mode"] = "align_corners"  # the extents alone decide
            factors = None
        if call.dtype == torch.uint8 and mode != "nearest":
            return resized_bytes(call, value, sizes, factors, chosen)
        scales = {} if factors is None else {"scales": [1.0, 1.0, *factors]}
        return call.op("resize", value, sizes=[*value.shape[:2], *sizes], **scales, **chosen)

    return convert


def without_aliases(call: Call, value: Value, sizes: list[Extent], chosen: dict[str, Any]) -> Value:
    """align_corners says how wide the windows are, (in - 1) / (out - 1), but not where they begin. That of an only
    element has no width: it is about the first one, and a cubic one reaches the second."""
    lengths, extents = [1, 1], [1, 1]
    for axis, size in enumerate(sizes, 2):
        extent = value.shape[axis]
        if not isinstance(size, int) or not isinstance(extent, int):
            raise call.fail("expected numbers as extents\nhint: export with these dimensions fixed")
        has_width = size > 1 and extent > 1
        lengths.append(size - 1 if has_width else size)
        extents.append(extent - 1 if has_width else 1)
        if not has_width:
            weights = (1.125, -0.125) if chosen["mode"] == "cubic" and extent > 1 else (1.0,)
            parts = [call.op("slice", value, starts=[k], ends=[k + 1], axes=[axis], steps=[1]) for k in range(2)]
            weighted = [scaled(call, part, weight) for part, weight in zip(parts, weights, strict=False)]
            value = call.op("add", *weighted) if len(weighted) == 2 else weighted[0]
    if call.dtype == torch.uint8:
        scales = [length / extent for length, extent in zip(lengths, extents, strict=True)]
        return resized_bytes(call, value, sizes, scales[2:], chosen)
    return call.op("resize", value, sizes=[*value.shape[:2], *sizes], ratios=[*lengths, *extents], **chosen)


def resized_bytes(
    call: Call, value: Value, sizes: list[Extent], factors: list[float] | None, chosen: dict[str, Any]
) -> Value:
    """One dimension after the other, the last one first; between them, too, elements are whole numbers."""
    half, least, greatest = (call.number(number, torch.float32) for number in (0.5, 0, 255))
    chosen = {**chosen, "by_step": 0}  # PyTorch's own weights have 16 bits: exact ones are nearest to them
    value = call.cast(value, torch.float32)
    for axis in reversed(range(len(sizes))):
        wanted, scales = list(value.shape), [1.0] * (len(sizes) + 2)
        wanted[axis + 2] = sizes[axis]
        if factors is not None:
            scales[axis + 2] = factors[axis]
        given = {} if factors is None else {"scales": scales}
        value = call.op("floor", call.op("add", call.op("resize", value, sizes=wanted, **given, **chosen), half))
        value = call.op("min", call.op("max", value, least), greatest)
    return call.cast(value, torch.uint8)


NEAREST = upsample("nearest", "pytorch_nearest", nearest_mode="floor")
EXACT = upsample("nearest", "pytorch_nearest_exact", nearest_mode="floor")
SMOOTH = {"linear1d": "linear", "bilinear2d": "linear", "trilinear3d": "linear", "bicubic2d": "cubic"}

# ----------------------------------------------------------------------------------------------------------------------
# Pools
# ----------------------------------------------------------------------------------------------------------------------


def pool(composite: str, window: int, has_positions: bool = False) -> Operator:
    def convert(call: Call) -> Any:
        size, padding = call.ints("kernel_size", window), call.ints("padding", window)
        attributes = {
            "kernel_shape": size,
            "strides": call.ints("stride", window, 0) if call.get("stride") else size,
            "pads": padding + padding,
            "ceil_mode": int(call.get("ceil_mode", False)),
        }
        divisor = call.get("divisor_override")
        if composite == "average_pool":
            attributes["count_include_pad"] = int(call.get("count_include_pad", True) or divisor is not None)
        else:
            attributes["dilations"] = call.ints("dilation", window, 1)
        value, is_batched = call.tensor("self"), call.rank() == window + 2
        value = value if is_batched else call.op("unsqueeze", value, axes=[0])
        if has_positions and call.is_read(1):
            results = with_positions(call, value, attributes)
            return results if is_batched else [call.op("squeeze", result, axes=[0]) for result in results]
        if divisor is not None:
            if attributes["ceil_mode"]:
                value = filled_up(call, value, attributes)
            attributes["divisor"] = divisor
        result = call.op(composite, value, **attributes)
        result = result if is_batched else call.op("squeeze", result, axes=[0])
        return [result, None] if has_positions else result

    return convert


def filled_up(call: Call, value: Value, attributes: dict[str, Any]) -> Value:
    """Padded with zeros for all windows, also those that begin inside and end outside. Changes the attributes."""
    window = len(attributes["strides"])
    low, rest = attributes["pads"][:window], value.shape[:-window]
    high = []
    for axis, (size, stride) in enumerate(zip(attributes["kernel_shape"], attributes["strides"], strict=True)):
        count, extent = extent_of(call.result.shape[axis - window]), value.shape[axis - window]
        high.append(f"max((({count}) - 1) * {stride} + {size} - ({extent}) - {low[axis]}, 0)")
    attributes |= {"pads": [0] * (2 * window), "ceil_mode": 0}
    zeros = [0] * len(rest)
    return call.op("pad", value, pads=[*zeros, *low, *zeros, *high], mode="constant", value=0.0)


def with_positions(call: Call, value: Value, attributes: dict[str, Any]) -> list[Value]:
    """Positions within an image; the composite's are those in the whole tensor."""
    maxima, positions = call.ops("max_pool_with_positions", value, **attributes)
    image = call.converter.graph.dims([" * ".join(f"({extent})" for extent in value.shape[2:])], scalar=True)
    return [maxima, call.op("mod", positions, image)]


def spatial_sizes(call: Call) -> list[Extent]:
    sizes = call.get("output_size")
    return sizes if isinstance(sizes, list) else [sizes]


def adaptive_windows(call: Call, value: Value, axis: int, size: int) -> list[tuple[Extent, Value]]:
    """The windows along one dimension, which may overlap, and where they begin."""
    extent = value.shape[axis]
    windows: list[tuple[Extent, Value]] = []
    for i in range(size):
        begin, end = f"floordiv({i} * ({extent}), {size})", f"ceildiv({i + 1} * ({extent}), {size})"
        windows.append((begin, slice_between(call, value, axis, begin, end)))
    return windows


def windows_of(call: Call, value: Value, axis: int, size: Extent) -> tuple[Value, Value]:
    """As many windows as a symbol says, which all are as long as the longest, in a new dimension behind theirs, and
    which elements belong to them."""
    extent = value.shape[axis]
    first, behind = (scalar(call, number) for number in (f"({extent}) - 1", f"({size}) - 1"))
    at = call.op("arange", scalar(call, 0), scalar(call, size), scalar(call, 1))
    begin = call.op("floor_div", call.op("mul", at, scalar(call, extent)), scalar(call, size))
    later = call.op("add", call.op("mul", call.op("add", at, scalar(call, 1)), scalar(call, extent)), behind)
    end = call.op("floor_div", later, scalar(call, size))
    longest = f"min(ceildiv({extent}, max({size}, 1)) + 1, {extent})"
    offsets = call.op("arange", scalar(call, 0), scalar(call, longest), scalar(call, 1))
    places = call.op("add", call.op("unsqueeze", begin, axes=[1]), offsets)
    belongs = call.op("less", places, call.op("unsqueeze", end, axes=[1]))
    inner = list(range(2, 1 + len(value.shape) - axis))
    belongs = call.op("unsqueeze", belongs, axes=inner) if inner else belongs
    return call.op("gather", value, call.op("min", places, first), axis=axis), belongs


def adaptive_symbolic(call: Call, composite: str, value: Value, axis: int, size: Extent) -> Value:
    elements, belongs = windows_of(call, value, axis, size)
    kind = torch_dtype(value.dtype)
    if composite == "reduce_max":
        least = -math.inf if kind.is_floating_point else torch.iinfo(kind).min
        return call.op(
            composite, call.op("where", belongs, elements, call.number(least, kind)), axes=[axis + 1], keepdims=0
        )
    zero, wide = call.number(0, kind), torch.float64 if kind == torch.float64 else torch.float32
    counts = call.op("reduce_sum", call.cast(belongs, wide), axes=[1], keepdims=0)
    total = call.cast(call.op("where", belongs, elements, zero), wide)
    return call.cast(call.op("div", call.op("reduce_sum", total, axes=[axis + 1], keepdims=0), counts), kind)


def adaptive(call: Call, composite: str) -> Value:
    """Each output position reduces a window."""
    value, sizes = call.tensor("self"), spatial_sizes(call)
    first = len(value.shape) - len(sizes)
    whole = [axis for axis, size in enumerate(sizes, first) if size == 1 and size != value.shape[axis]]
    if whole:  # one reduction
        value = call.op(composite, value, axes=whole, keepdims=1)
    for axis, size in enumerate(sizes, first):
        if size == value.shape[axis]:
            continue
        if not isinstance(size, int):
            value = adaptive_symbolic(call, composite, value, axis, size)
            continue
        windows = adaptive_windows(call, value, axis, size)
        parts = [call.op(composite, window, axes=[axis], keepdims=1) for _, window in windows]
        value = call.op("concat", *parts, axis=axis)
    return value


def adaptive_average_pool(call: Call) -> Value:
    return adaptive(call, "reduce_mean")


def adaptive_max_pool(call: Call) -> list[Value | None]:
    return adaptive_maxima(call) if call.is_read(1) else [adaptive(call, "reduce_max"), None]


def adaptive_maxima(call: Call) -> list[Value | None]:
    """And their positions in the image: along one dimension after the other, from the last on, the first maximum of
    each window, or its last NaN."""
    value, sizes = call.tensor("self"), spatial_sizes(call)
    image = value.shape
    place = call.op("expand", call.number(0, torch.int64), shape=image)
    row: Extent = 1  # elements for a step along the dimension
    for axis in range(len(image) - 1, len(image) - 1 - len(sizes), -1):
        maxima, places = [], []
        size = sizes[axis - len(image)]
        if not isinstance(size, int):
            raise call.fail(
                "expected an output_size of numbers\nhint: leave out return_indices, or export a fixed size"
            )
        windows, own_places = (adaptive_windows(call, x, axis, size) for x in (value, place))
        for (begin, window), (_, own) in zip(windows, own_places, strict=True):
            at = place_of_maximum(call, window, axis)
            along = call.op("mul", call.op("add", at, scalar(call, begin)), scalar(call, row))
            maxima.append(call.op("gather_elements", window, at, axis=axis))
            places.append(call.op("add", call.op("gather_elements", own, at, axis=axis), along))
        value, place = (call.op("concat", *parts, axis=axis) for parts in (maxima, places))
        row = f"({row}) * ({image[axis]})"
    return [value, place]


def place_of_maximum(call: Call, window: Value, axis: int) -> Value:
    """The position of the first maximum along a dimension, or of the last NaN."""
    first = call.op("argmax", window, axis=axis, keepdims=1)
    if not is_float(window):
        return first
    is_nan = call.cast(call.op("isnan", window), torch.uint8)
    has_nan = call.cast(call.op("reduce_max", is_nan, axes=[axis], keepdims=1), torch.bool)
    return call.op("where", has_nan, call.op("argmax", is_nan, axis=axis, keepdims=1, select_last_index=1), first)


def scalar(call: Call, number: Extent) -> Value:
    return call.converter.graph.dims([number], scalar=True)


def max_unpool(call: Call) -> Value:
    """Each image's elements at their positions, zero elsewhere."""
    value, positions = call.tensor("self"), call.tensor("indices")
    window = call.rank() - 2 if "stride" in call else 2
    sizes = [extent_of(extent) for extent in call.result.shape]
    flat = [call.reshape(part, [*part.shape[:-window], -1]) for part in (value, positions)]
    area = " * ".join(f"({extent})" for extent in sizes[-window:])
    zeros = call.op("expand", call.number(0, call.dtype), shape=[*sizes[:-window], area])
    return call.reshape(call.op("scatter_elements", zeros, flat[1], flat[0], axis=-1), sizes)


SAMPLINGS: dict[str, Operator] = {
    "aten.grid_sampler_2d": grid_sample,
    "aten.grid_sampler_3d": grid_sample,
    "aten.grid_sampler": grid_sample,
    **{f"aten.upsample_nearest{n}d": NEAREST for n in (1, 2, 3)},
    **{f"aten._upsample_nearest_exact{n}d": EXACT for n in (1, 2, 3)},
    **{f"aten.upsample_{name}": upsample(mode, by_step=1, cubic_coeff_a=-0.75) for name, mode in SMOOTH.items()},
    "aten._upsample_bilinear2d_aa": upsample("linear", by_step=1, antialias=1, exclude_outside=1),
    "aten._upsample_bicubic2d_aa": upsample("cubic", by_step=1, antialias=1, exclude_outside=1, cubic_coeff_a=-0.5),
    "aten.max_pool2d_with_indices": pool("max_pool", 2, has_positions=True),
    "aten.max_pool3d_with_indices": pool("max_pool", 3, has_positions=True),
    "aten.max_pool1d": pool("max_pool", 1),
    "aten.max_pool2d": pool("max_pool", 2),
    "aten.avg_pool1d": pool("average_pool", 1),
    "aten.avg_pool2d": pool("average_pool", 2),
    "aten.avg_pool3d": pool("average_pool", 3),
    "aten.adaptive_avg_pool1d": adaptive_average_pool,
    "aten.adaptive_avg_pool2d": adaptive_average_pool,
    "aten.adaptive_avg_pool3d": adaptive_average_pool,
    "aten._adaptive_avg_pool2d": adaptive_average_pool,
    "aten._adaptive_avg_pool3d": adaptive_average_pool,
    "aten.adaptive_max_pool2d": adaptive_max_pool,
    "aten.adaptive_max_pool3d": adaptive_max_pool,
    "aten.max_unpool2d": max_unpool,
    "aten.max_unpool3d": max_unpool,
}
