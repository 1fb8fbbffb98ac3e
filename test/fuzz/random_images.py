"""The operators of random models on images, boxes and signals."""

from fractions import Fraction

import numpy as np
from onnx import TensorProto
from random_arithmetic import image, window_attributes
from random_graph import FLOAT, INT64, Rejected, random_operator


@random_operator()
def lp_pool(g):
    x = image(g)
    if g.chance(0.3):
        return g.add("GlobalLpPool", x, p=g.number(1, 3))
    kernel = [g.number(1, min(4, extent)) for extent in x.shape[2:]]
    attributes = window_attributes(g, x.shape[2:], kernel, may_dilate=False)
    g.add("LpPool", x, kernel_shape=kernel, p=g.number(1, 3), **attributes)


@random_operator()
def there_and_back(g):
    """The largest of each window, and those at their places again."""
    x = image(g, window_dims=2, least=2, exact=True)
    if x.shape[2] % 2 or x.shape[3] % 2:
        raise Rejected  # ONNX counts the places in whole windows, ONNX Runtime in the result
    kernel = [2, 2]
    top, places = g.add("MaxPool", x, outputs=2, kernel_shape=kernel, strides=kernel, exact=True)
    operands = [top.name, places.name, g.constant(np.array(x.shape, INT64)).name]
    g.add_named("MaxUnpool", operands, FLOAT, x.shape, True, kernel_shape=kernel, strides=kernel)


@random_operator(2)
def sampled(g):
    x = image(g, window_dims=2, least=2)
    size = g.numbers(2, 1, 6)
    # Away from the places where a nearest neighbour or a border changes.
    grid = (g.random.integers(-14, 15, [x.shape[0], *size, 2]) / 11 + 0.0123).astype(FLOAT)
    mode = g.choose(["linear", "nearest", "cubic"] if g.opset >= 20 else ["bilinear", "nearest", "bicubic"])
    g.add("GridSample", x, g.constant(grid), mode=mode, padding_mode=g.choose(["zeros", "border", "reflection"]),
          align_corners=g.number(0, 1))  # fmt: skip


@random_operator()
def affine_grid(g):
    x = image(g, window_dims=2, least=2)
    theta = g.constant(g.array([x.shape[0], 2, 3]) / 2)
    corners = g.number(0, 1)
    least = 1 + corners  # of one row or column, everyone has the corners elsewhere
    size = g.constant(np.array([*x.shape[:2], g.number(least, 5), g.number(least, 5)], INT64))
    grid = g.add("AffineGrid", theta, size, align_corners=corners)
    g.add("GridSample", x, grid, mode="linear", padding_mode="zeros", align_corners=g.number(0, 1))


def boxes(g, count, height, width):
    """[x1, y1, x2, y2], at least one pixel wide."""
    corner = np.stack([g.random.uniform(0, width - 1, count), g.random.uniform(0, height - 1, count)], 1)
    size = np.stack([g.random.uniform(1, width, count), g.random.uniform(1, height, count)], 1)
    return np.concatenate([corner, corner + size], 1).astype(FLOAT)


@random_operator(2)
def regions(g):
    x = image(g, window_dims=2, least=2)
    if g.opset >= 22:
        raise Rejected  # ONNX Runtime has the older forms
    count = g.number(1, 4)
    batch = g.random.integers(0, x.shape[0], count)
    places = boxes(g, count, *x.shape[2:])
    if g.chance(0.3):
        rois = np.concatenate([batch[:, None], np.floor(places)], 1).astype(FLOAT)
        return g.add("MaxRoiPool", x, g.constant(rois), pooled_shape=g.numbers(2, 1, 3), exact=x.exact)
    # ONNX Runtime's largest value of a bin is right with one sample in it.
    samples, mode = g.choose([(0, "avg"), (1, "avg"), (2, "avg"), (1, "max")])
    g.add("RoiAlign", x, g.constant(places), g.constant(batch.astype(INT64)), output_height=g.number(1, 4),
          output_width=g.number(1, 4), sampling_ratio=samples, mode=mode,
          coordinate_transformation_mode=g.choose(["half_pixel", "output_half_pixel"]),
          spatial_scale=g.choose([1.0, 0.5]))  # fmt: skip


@random_operator(2)
def suppressed_boxes(g):
    """How many boxes are left over, and the sum of their positions."""
    batches, count, classes = g.number(1, 2), g.number(1, 12), g.number(1, 3)
    places = np.stack([boxes(g, count, 9, 9) for _ in range(batches)])
    scores = g.constant(g.random.permutation(batches * classes * count).reshape(batches, classes, count).astype(FLOAT))
    limits = [g.constant(np.array([g.number(0, 5)], INT64)), g.constant(FLOAT(g.choose([0.1, 0.4, 0.7])))]
    if g.chance(0.5):
        limits.append(g.constant(FLOAT(3.5)))
    found = g.name("found")
    g.add_hidden("NonMaxSuppression", [g.constant(places), scores, *limits], found)
    g.add_named("ReduceSum", [found, g.constant(np.array([0], INT64)).name], INT64, (3,), True, keepdims=0)


@random_operator()
def columns_to_image(g):
    size, kernel = g.numbers(2, 3, 6), g.numbers(2, 1, 3)
    strides, dilations, pads = g.numbers(2, 1, 2), g.numbers(2, 1, 2), g.numbers(4, 0, 1)
    room = [size[i] + pads[i] + pads[i + 2] - dilations[i] * (kernel[i] - 1) - 1 for i in range(2)]
    if min(room) < 0:
        raise Rejected
    positions = int(np.prod([r // s + 1 for r, s in zip(room, strides, strict=True)]))
    columns = g.constant(g.array([g.number(1, 2), g.number(1, 3) * int(np.prod(kernel)), positions]))
    shapes = [g.constant(np.array(x, INT64)) for x in (size, kernel)]
    g.add("Col2Im", columns, *shapes, strides=strides, dilations=dilations, pads=pads)


@random_operator()
def centred(g):
    a = g.pick([FLOAT, INT64])
    axes = sorted({axis % a.rank for axis in g.some_axes(a.rank)})
    shape = g.constant(np.array([g.number(1, a.shape[axis] + 3) for axis in axes], INT64))
    g.add("CenterCropPad", a, shape, axes=axes, exact=a.exact)


def is_rounded(extent, size):
    """Whether ONNX Runtime, which divides by the ratio of the extents in f32, misses one between others."""
    ratio, places = FLOAT(size) / FLOAT(extent), [Fraction(i, 2) for i in range(2 * size)]
    exact = [(FLOAT(float(place)) / ratio, place * extent / size) for place in places]
    return any((wanted * 2).denominator == 1 and float(got) != wanted for got, wanted in exact)


@random_operator(2)
def resized_to(g):
    """To sizes, of some axes, with cubic weights, antialiasing and ratios kept."""
    a = g.pick(low=3, high=4)
    axes = sorted(int(x) for x in g.random.permutation(range(1, a.rank))[: g.number(1, 2)])
    wanted = [g.number(1, 2 * a.shape[axis] + 1) for axis in axes]
    sizes = g.constant(np.array(wanted, INT64))
    mode = g.choose(["nearest", "linear", "cubic"] if a.rank == 4 and axes == [2, 3] else ["nearest", "linear"])
    attributes = {"mode": mode, "axes": axes}
    attributes["coordinate_transformation_mode"] = g.choose(["half_pixel", "asymmetric", "pytorch_half_pixel"])
    if mode == "nearest":
        attributes["nearest_mode"] = g.choose(["floor", "round_prefer_floor", "round_prefer_ceil", "ceil"])
    elif g.chance(0.4):
        attributes["antialias"] = 1
    if mode == "cubic":
        attributes |= {"cubic_coeff_a": g.choose([-0.5, -0.75]), "exclude_outside": g.number(0, 1)}
    if mode != "nearest" and g.chance(0.3):
        attributes["keep_aspect_ratio_policy"] = g.choose(["not_larger", "not_smaller"])
    if mode == "nearest" and any(is_rounded(a.shape[axis], size) for axis, size in zip(axes, wanted, strict=True)):
        raise Rejected
    g.add("Resize", a, None, None, sizes, exact=a.exact and mode == "nearest", **attributes)


@random_operator()
def cropped(g):
    """A region of interest, in normalised coordinates."""
    a = g.pick(low=3, high=4)
    starts = [0.0] * (a.rank - 1) + [g.choose([0.0, 0.1, 0.25])]
    ends = [1.0] * (a.rank - 1) + [g.choose([0.6, 0.9, 1.2])]
    roi = g.constant(np.array(starts + ends, FLOAT))
    width = g.number(2, 8)
    if width == a.shape[-1]:
        raise Rejected  # ONNX Runtime copies what keeps its size
    sizes = g.constant(np.array([*a.shape[:-1], width], INT64))
    g.add("Resize", a, roi, None, sizes, mode="linear", coordinate_transformation_mode="tf_crop_and_resize",
          extrapolation_value=0.5)  # fmt: skip


@random_operator()
def deformed(g):
    x = image(g, window_dims=2, least=2)
    kernel = [g.number(1, min(3, extent)) for extent in x.shape[2:]]
    size = [extent - k + 1 for extent, k in zip(x.shape[2:], kernel, strict=True)]
    weight = g.constant(g.array([g.number(1, 4), x.shape[1], *kernel]))
    offset = g.constant(g.array([x.shape[0], 2 * int(np.prod(kernel)), *size]))
    g.add("DeformConv", x, weight, offset, kernel_shape=kernel)


# Signals


@random_operator(2)
def fourier(g):
    """Of real signals and back; the lengths of the model are known."""
    a = g.pick(high=3)
    signal = g.add("Unsqueeze", a, g.constant(np.array([-1], INT64)), keep=False)
    axis = g.number(0, a.rank - 1)
    if a.shape[axis] > 64:
        raise Rejected  # ONNX Runtime loses four digits at lengths such as 899
    inverse = g.number(0, 1)
    onesided = 0 if inverse else g.number(0, 1)
    if g.opset >= 20:
        length = g.constant(INT64(g.number(1, 2 * a.shape[axis]))) if g.chance(0.4) else None
        return g.add("DFT", signal, length, g.constant(INT64(axis)), inverse=inverse, onesided=onesided)
    g.add("DFT", signal, axis=axis, inverse=inverse, onesided=onesided)


@random_operator()
def short_time_fourier(g):
    a = g.pick(high=2)
    if a.rank == 1:
        a = g.add("Unsqueeze", a, g.constant(np.array([0], INT64)), keep=False)
    frame = g.choose([4, 5, 8])
    if a.shape[1] < frame:
        raise Rejected
    signal = g.add("Unsqueeze", a, g.constant(np.array([-1], INT64)), keep=False)
    window = g.add(g.choose(["HannWindow", "HammingWindow", "BlackmanWindow"]), g.constant(INT64(frame)),
                   periodic=g.number(0, 1), keep=False)  # fmt: skip
    g.add("STFT", signal, g.constant(INT64(g.number(1, 3))), window, g.constant(INT64(frame)), onesided=g.number(0, 1))


@random_operator()
def mel_weights(g):
    numbers = [g.number(2, 8), g.choose([16, 32]), 8000]
    limits = [FLOAT(0), FLOAT(4000)]
    weights = g.add("MelWeightMatrix", *[g.constant(INT64(x)) for x in numbers], *[g.constant(x) for x in limits],
                    output_datatype=TensorProto.FLOAT, keep=False)  # fmt: skip
    g.add("Mul", weights, g.constant(FLOAT(0.5)))
