"""Resize: nearest elements as the standard's formulas say, exactly; doubles in their own precision; any factor of
images whose extents are symbols."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import onnx
import perpend
import pytest
from onnx import TensorProto, helper, numpy_helper

COORDINATES = [
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
HALF = Fraction(1, 2)


def model_of(
    extents: list[Any],
    scales: list[float] | None = None,
    sizes: list[int] | None = None,
    dtype: type = np.float32,
    rank: int = 1,
    **attributes: Any,
) -> onnx.ModelProto:
    constants = [
        numpy_helper.from_array(np.array(value, kind), name)
        for name, value, kind in (("scales", scales, np.float32), ("sizes", sizes, np.int64))
        if value is not None
    ]
    names = ["x", "", "scales" if scales else "", *(["sizes"] if sizes else [])]
    node = helper.make_node("Resize", names, ["y"], "node", **attributes)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    x = helper.make_tensor_value_info("x", kind, extents)
    y = helper.make_tensor_value_info("y", kind, [f"y{i}" for i in range(rank)])
    graph = helper.make_graph([node], "g", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def coordinate(mode: str, i: int, length: int, size: int, scale: Fraction) -> Fraction:
    """The standard's formulas, in rational numbers."""
    resized = length * scale
    if mode == "asymmetric":
        return i / scale
    if mode == "tf_half_pixel_for_nn":
        return (i + HALF) / scale
    if mode == "align_corners":
        return Fraction(0) if resized == 1 else i * (length - 1) / (resized - 1)
    if mode == "pytorch_half_pixel" and size <= 1:
        return Fraction(0)
    offset = Fraction(length, 2) * (1 - size / resized) if mode == "half_pixel_symmetric" else 0
    return offset + (i + HALF) / scale - HALF


def nearest(rounding: str, x: Fraction) -> int:
    rounded = {
        "floor": math.floor(x),
        "ceil": math.ceil(x),
        "round_prefer_floor": math.ceil(x - HALF),
        "round_prefer_ceil": math.floor(x + HALF),
    }
    return rounded[rounding]


def expected(mode: str, rounding: str, length: int, size: int, scale: Fraction) -> list[int]:
    places = (nearest(rounding, coordinate(mode, i, length, size, scale)) for i in range(size))
    return [min(max(place, 0), length - 1) for place in places]


@pytest.mark.parametrize(("mode", "rounding"), list(itertools.product(COORDINATES, ROUNDINGS)))
def test_nearest_elements_by_sizes(mode: str, rounding: str) -> None:
    """Also where a division in f32 or f64 rounds the other way: 56 elements to 2 takes the 28th, not the one before."""
    for length, size in ((56, 2), (7, 49), (49, 7), (10, 3), (3, 10), (1, 5), (5, 1), (29, 58), (41, 205), (93, 31)):
        x = np.arange(length, dtype=np.float32)
        attributes: dict[str, Any] = {"coordinate_transformation_mode": mode, "nearest_mode": rounding}
        wanted = expected(mode, rounding, length, size, Fraction(size, length))
        fixed = perpend.import_model(model_of([length], sizes=[size], **attributes))
        np.testing.assert_array_equal(fixed.evaluate(x)[0], wanted, f"{length} to {size}")
        if size in (2, 10):
            free = perpend.compile(model_of(["n"], sizes=[size], **attributes))
            np.testing.assert_array_equal(free(x), wanted, f"{length} to {size}")


@pytest.mark.parametrize(("mode", "rounding"), list(itertools.product(COORDINATES, ROUNDINGS)))
def test_nearest_elements_by_scales(mode: str, rounding: str) -> None:
    """The scale is the number that f32 has, which 0.6 is not."""
    for length, factor in ((10, 0.6), (56, 0.25), (7, 2.5), (5, 3.0), (4, 1.601), (30, 0.3), (8, 0.125), (3, 41.0)):
        scale = np.float32(factor)
        size, x = int(np.float32(length) * scale), np.arange(length, dtype=np.float64)
        attributes: dict[str, Any] = {"coordinate_transformation_mode": mode, "nearest_mode": rounding}
        module = perpend.import_model(model_of([length], scales=[factor], dtype=np.float64, **attributes))
        wanted = expected(mode, rounding, length, size, Fraction(float(scale)))
        np.testing.assert_array_equal(module.evaluate(x)[0], wanted, f"{length} by {factor}")


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_nearest_elements_in_proportion(policy: str) -> None:
    choose = min if policy == "not_larger" else max
    for extents, sizes in (((56, 7), (2, 3)), ((49, 3), (7, 9)), ((10, 30), (3, 31)), ((6, 4), (6, 9))):
        scale = choose(Fraction(size, extent) for size, extent in zip(sizes, extents, strict=True))
        found = [math.floor(scale * extent + HALF) for extent in extents]
        rows, columns = (
            expected("asymmetric", "floor", extent, size, scale) for extent, size in zip(extents, found, strict=True)
        )
        x = np.arange(math.prod(extents), dtype=np.float32).reshape(extents)
        attributes: dict[str, Any] = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        for shape in (list(extents), ["h", "w"]):
            model = model_of(shape, sizes=list(sizes), rank=2, keep_aspect_ratio_policy=policy, **attributes)
            np.testing.assert_array_equal(perpend.compile(model)(x), x[np.ix_(rows, columns)])


def weights(mode: str, fraction: Fraction) -> list[Fraction]:
    """Of the neighbours from the one before the coordinate on (cubic: from two before)."""
    if mode == "linear":
        return [1 - fraction, fraction]
    a = Fraction(-3, 4)

    def weight(t: Fraction) -> Fraction:
        return ((a + 2) * t - (a + 3)) * t * t + 1 if t <= 1 else ((a * t - 5 * a) * t + 8 * a) * t - 4 * a

    return [weight(abs(fraction - offset)) for offset in (-1, 0, 1, 2)]


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners", "asymmetric"])
def test_doubles_keep_their_precision(mode: str, coordinates: str) -> None:
    """Coordinates and weights were computed in f32."""
    for length, size in ((7, 11), (11, 7), (3, 100)):
        x = np.random.default_rng(0).standard_normal(length)
        wanted = []
        for i in range(size):
            at = coordinate(coordinates, i, length, size, Fraction(size, length))
            first = math.floor(at) - (mode == "cubic")
            taps = (Fraction(x[min(max(first + k, 0), length - 1)]) for k in range(4))
            wanted.append(float(sum(w * tap for w, tap in zip(weights(mode, at - math.floor(at)), taps, strict=False))))
        for extents in ([length], ["n"]):
            model = model_of(
                extents, sizes=[size], dtype=np.float64, mode=mode, coordinate_transformation_mode=coordinates
            )
            np.testing.assert_allclose(perpend.compile(model)(x), wanted, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_doubles_without_aliases(mode: str) -> None:
    """A constant stays one, to the last bits; with weights in f32 it does not."""
    x = np.full(23, 1 / 3)
    model = model_of([23], sizes=[7], dtype=np.float64, mode=mode, antialias=1)
    np.testing.assert_allclose(perpend.compile(model)(x), np.full(7, 1 / 3), rtol=1e-15)
    ramp = np.arange(24, dtype=np.float64) ** 2 / 7
    single, double = (
        perpend.compile(model_of([24], sizes=[7], dtype=dtype, mode=mode, antialias=1))(ramp.astype(dtype))
        for dtype in (np.float32, np.float64)
    )
    np.testing.assert_allclose(single, double, rtol=1e-5)


@pytest.mark.parametrize("factor", [1.601, 0.3, 0.777, 1 / 3, 2.0, 0.99])
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_any_factor_of_symbolic_extents(factor: float, mode: str) -> None:
    """As of the same images with extents that are numbers."""
    attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": "half_pixel"}
    free = perpend.compile(model_of([1, 1, "h", "w"], scales=[1, 1, factor, factor], rank=4, **attributes))
    for height, width in ((4, 5), (9, 17), (10, 3), (100, 33)):
        x = np.random.default_rng(height).standard_normal((1, 1, height, width), np.float32)
        fixed = perpend.compile(model_of(list(x.shape), scales=[1, 1, factor, factor], rank=4, **attributes))(x)
        assert fixed.shape[2:] == tuple(int(np.float32(n) * np.float32(factor)) for n in (height, width))
        np.testing.assert_allclose(free(x), fixed, rtol=1e-5, atol=1e-5)


def test_any_factor_of_symbolic_extents_on_both_sides_of_a_sum() -> None:
    """The extents of two images that are resized alike are equal."""
    text = """<ir_version: 8, opset_import: ["" : 18]> f (float[h] x) => (float[n] y) {
      by = Constant <value_floats = [1.601]> () a = Resize (x, , by)
      z = Neg (x) b = Resize (z, , by) y = Add (a, b) }"""
    model = perpend.compile(onnx.parser.parse_model(text))
    for length in (0, 1, 7, 50):
        assert model(np.arange(length, dtype=np.float32)).tolist() == [0] * int(np.float32(length) * np.float32(1.601))


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan])
def test_factors_that_are_none(scale: float) -> None:
    with pytest.raises(perpend.CompileError, match=r"node 'node' \(Resize\): cannot scale the extent n by"):
        perpend.import_model(model_of(["n"], scales=[scale]))


def test_elements_outside_of_a_region() -> None:
    """The last coordinate of a region that ends with the image lies inside, whatever the extents."""
    for length, size in ((7, 5), (50, 49), (33, 3), (29, 24)):
        roi = numpy_helper.from_array(np.array([0, 1], np.float32), "roi")
        node = helper.make_node(
            "Resize", ["x", "roi", "", "sizes"], ["y"], mode="linear", extrapolation_value=-5.0,
            coordinate_transformation_mode="tf_crop_and_resize",
        )  # fmt: skip
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in ("x", "y")]
        sizes = numpy_helper.from_array(np.array([size]), "sizes")
        graph = helper.make_graph([node], "g", infos[:1], infos[1:], [roi, sizes])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
        got = perpend.compile(model)(np.arange(length, dtype=np.float32))
        np.testing.assert_allclose(got, np.linspace(0, length - 1, size), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32])
def test_whole_numbers_are_rounded_once(dtype: type) -> None:
    """Towards zero, after all axes: rounded after each of them, corners of a ramp are too small by one. Bytes above 127
    are not negative."""
    rows, columns = np.meshgrid(np.arange(5), np.arange(7), indexing="ij")
    x = (13 * rows + 11 * columns + (120 if dtype is np.uint8 else -50)).astype(dtype)
    wanted = np.empty((10, 14), dtype)
    for i, j in np.ndindex(10, 14):
        total = Fraction(0)
        (row, a), (column, b) = (
            (math.floor(at), at - math.floor(at))
            for at in (
                coordinate("half_pixel", i, 5, 10, Fraction(2)), coordinate("half_pixel", j, 7, 14, Fraction(2))
            )
        )  # fmt: skip
        for k, m in itertools.product((0, 1), (0, 1)):
            element = int(x[min(max(row + k, 0), 4), min(max(column + m, 0), 6)])
            total += (a if k else 1 - a) * (b if m else 1 - b) * element
        wanted[i, j] = math.trunc(total)
    for shape in ([5, 7], ["h", "w"]):
        model = model_of(shape, scales=[2.0, 2.0], dtype=dtype, rank=2, mode="linear")
        np.testing.assert_array_equal(perpend.compile(model)(x), wanted)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16])
@pytest.mark.parametrize(("mode", "antialias", "size"), [("linear", 1, 5), ("cubic", 1, 5), ("cubic", 0, 13)])
def test_whole_numbers_stay_in_their_range(dtype: type, mode: str, antialias: int, size: int) -> None:
    """Antialiased ones are rounded to the nearest. Bytes above 127 were negative, and cubic ones beyond 255 wrapped."""
    limits = np.iinfo(dtype)
    x = np.where(np.arange(56).reshape(7, 8) // 3 % 2, limits.max, limits.min).astype(dtype)
    single, whole = (
        perpend.compile(model_of([7, 8], sizes=[size, size], dtype=kind, rank=2, mode=mode, antialias=antialias))(
            x.astype(kind)
        )
        for kind in (np.float32, dtype)
    )
    wanted = np.floor(single + np.float32(0.5)) if antialias else np.trunc(single)
    np.testing.assert_allclose(whole.astype(np.float64), np.clip(wanted, limits.min, limits.max), atol=0)


@pytest.mark.parametrize("extents", [[1, 64, 6, 5], [2, 64, 1, 1], [0, 64, 4, 4], ["n", 64, "h", "w"]])
@pytest.mark.parametrize("mode", ["linear", "cubic", "nearest"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners"])
def test_heads_of_decoders(extents: list[Any], mode: str, coordinates: str) -> None:
    """Features are resized, put beside others, multiplied, and resized once more: what passes move keeps its value."""
    generator = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(value.astype(kind), name)
        for name, kind, value in (
            ("w", np.float32, generator.standard_normal((48, 160, 1, 1)) / 12), ("b", np.float32, np.arange(48) / 48),
            ("v", np.float32, generator.standard_normal((64, 64, 1, 1)) / 8),
            ("four", np.float32, np.array([1, 1, 4, 4])), ("three", np.float32, np.array([1, 1, 3, 3])),
        )
    ]  # fmt: skip
    text = f"""<ir_version: 9, opset_import: ["" : 19]>
    head (float[n, 64, h, w] x, float[n, 32, H, W] y) => (float[n, 48, a, b] z) {{
      r = Resize <mode = "{mode}", coordinate_transformation_mode = "{coordinates}"> (x, , four)
      c = Conv (x, v)
      q = Resize <mode = "{mode}", coordinate_transformation_mode = "{coordinates}"> (c, , four)
      all = Concat <axis = 1> (r, y, q)
      s = Conv (all, w, b)
      t = Relu (s)
      z = Resize <mode = "{mode}", coordinate_transformation_mode = "{coordinates}"> (t, , three)
    }}"""
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(weights)
    sizes = dict(zip(("n", "h", "w"), (2, 3, 4), strict=True))
    known = [sizes.get(extent, extent) for extent in extents]
    if "n" not in extents:
        larger = [extents[0], 32, 4 * extents[2], 4 * extents[3]]
        for value, shape in zip(model.graph.input, (extents, larger), strict=True):
            for dimension, extent in zip(value.type.tensor_type.shape.dim, shape, strict=True):
                dimension.dim_value = extent
    x = generator.standard_normal(known, np.float32)
    y = generator.standard_normal((known[0], 32, 4 * known[2], 4 * known[3]), np.float32)
    wanted = perpend.import_model(model).evaluate(x, y)[0]
    np.testing.assert_allclose(perpend.compile(model)(x, y), wanted, rtol=2e-4, atol=2e-5)
