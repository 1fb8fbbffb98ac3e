"""PyTorch operators that resample and pool: every mode, with extents that are numbers and symbols."""

from __future__ import annotations

import itertools
from typing import Any

import onnx
import perpend
import pytest
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper
from python.torch_functions import DYNAMIC, Function, agrees, check, tensors
from torch import nn

torch.manual_seed(0)
LINE, IMAGE, VOLUME = torch.randn(2, 3, 7), torch.randn(2, 3, 8, 9), torch.randn(1, 2, 5, 6, 7)
MODES = list(itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)))


def affine_grid(corners: bool) -> onnx.ModelProto:
    """ONNX's operator, of matrices [2, 2, 3], to one column."""
    size = helper.make_tensor("size", TensorProto.INT64, [4], [2, 3, 4, 1])
    node = helper.make_node("AffineGrid", ["theta", "size"], ["grid"], align_corners=int(corners))
    theta = helper.make_tensor_value_info("theta", TensorProto.FLOAT, [2, 2, 3])
    graph = helper.make_graph([node], "g", [theta], [onnx.ValueInfoProto(name="grid")], [size])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


@pytest.mark.parametrize(("mode", "padding", "corners"), MODES)
def test_samples_of_images(mode: str, padding: str, corners: bool) -> None:
    def function(x: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
        return F.grid_sample(x, grid, mode=mode, padding_mode=padding, align_corners=corners)

    grid = torch.rand(2, 5, 6, 2) * 2.6 - 1.3
    check(function, IMAGE, grid)
    far = torch.tensor([1e8, -1e8]) if padding != "reflection" else torch.tensor([3.5, -3.5])
    check(
        function,
        IMAGE,
        grid,
        dynamic=[[2, 3], [1, 2]],
        more=[[IMAGE[:, :, 1:4, :2].contiguous(), far.expand(2, 2, 3, 2).contiguous()]],
    )


def test_samples_of_volumes() -> None:
    grid = torch.rand(1, 4, 5, 6, 3) * 2.6 - 1.3
    for padding in ("zeros", "border"):
        check(lambda x, at, p=padding: F.grid_sample(x, at, padding_mode=p, align_corners=False), VOLUME, grid)
    check(
        lambda x, t: F.grid_sample(x, F.affine_grid(t, x.shape, align_corners=False), align_corners=False),
        IMAGE,
        torch.randn(2, 2, 3) / 2,
    )


def test_grids_of_one_column() -> None:
    for corners in (False, True):
        image = perpend.compile(affine_grid(corners))
        theta = torch.randn(2, 2, 3)
        torch.testing.assert_close(image(theta), F.affine_grid(theta, [2, 3, 4, 1], align_corners=corners))


def test_lines() -> None:
    check(
        lambda x: (
            F.interpolate(x, scale_factor=2),
            F.interpolate(x, size=11, mode="linear"),
            F.interpolate(x, scale_factor=1.6, mode="linear", align_corners=True),
            F.interpolate(x, scale_factor=1.6),
            F.interpolate(x, size=11, mode="nearest-exact"),
        ),
        LINE,
        dynamic=[[0, 2]],
        more=[[torch.randn(1, 3, 1)], [torch.randn(3, 3, 10)]],
    )


def test_images() -> None:
    check(
        lambda x: (
            F.interpolate(x, scale_factor=1.6, mode="bilinear"),
            F.interpolate(x, size=(7, 9), mode="bicubic"),
            F.interpolate(x, scale_factor=0.7, mode="nearest-exact"),
        ),
        IMAGE,
        dynamic=[[0, 2, 3]],
        more=[[torch.randn(1, 3, 5, 12)]],
    )


def test_small_weights_of_cubic_convolution_keep_their_digits() -> None:
    """Of images with a single one, at positions that are exact in f32, results are weights."""
    places = torch.linspace(-1, 1, 1025)
    grid = torch.stack([torch.zeros(1025), places], -1).expand(9, 1, 1025, 2)

    def function(x: torch.Tensor, grid: torch.Tensor) -> Any:
        resized = F.interpolate(x, size=(9 * 64, 1), mode="bicubic")
        return resized, F.grid_sample(x, grid, mode="bicubic", align_corners=True)

    x = torch.eye(9).reshape(9, 1, 9, 1)
    results = perpend.compile(Function(function), example_inputs=(x, grid))(x, grid)
    for result, exact in zip(tensors(results), function(x.double(), grid.double()), strict=True):
        torch.testing.assert_close(result, exact.float(), rtol=1e-6, atol=0)


@pytest.mark.parametrize("factor", [0.3, 0.7, 1.601, 2, (0.4, 1.3)], ids=str)
@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest", "nearest-exact", "area"])
def test_any_factor_of_any_image(mode: str, factor: Any) -> None:
    """PyTorch's own comparisons of the result's extents, floor(0.3 n), with 0, 1 and 2 made them the example's."""
    model = perpend.compile(
        Function(lambda x: F.interpolate(x, scale_factor=factor, mode=mode)),
        example_inputs=(torch.randn(2, 3, 20, 20),),
        dynamic_shapes=(({0: DYNAMIC, 2: DYNAMIC, 3: DYNAMIC},),),
    )
    for extents in ((2, 3, 20, 20), (1, 3, 19, 18), (3, 3, 33, 21), (1, 3, 64, 50)):
        x = torch.randn(extents)
        agrees(model(x), F.interpolate(x, scale_factor=factor, mode=mode), 1e-4)


def test_what_follows_an_image_of_any_factor() -> None:
    def function(x: torch.Tensor) -> Any:
        small = F.interpolate(x, scale_factor=0.3, mode="bilinear")
        back = F.interpolate(small, size=x.shape[2:], mode="bilinear") + x
        return F.avg_pool2d(torch.cat([small, small * 2], 1), 2), back, small.flatten(2).transpose(1, 2)

    free = {0: DYNAMIC, 2: DYNAMIC, 3: DYNAMIC}
    model = perpend.compile(Function(function), example_inputs=(torch.randn(2, 3, 20, 20),), dynamic_shapes=((free,),))
    for extents in ((2, 3, 20, 20), (1, 3, 33, 21)):
        x = torch.randn(extents)
        agrees(model(x), function(x), 1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_elements_as_pytorch_rounds(mode: str, dtype: torch.dtype) -> None:
    """It multiplies by one over the scale, which f32 rounds: which element is the nearest depends on it."""
    pairs = ((49, 7), (7, 49), (1, 41), (3, 123), (93, 31), (56, 2), (58, 29), (29, 58), (100, 61), (61, 100))
    for length, size in pairs:
        x = torch.arange(length).to(dtype).reshape(1, 1, length)
        check(lambda x, size=size: F.interpolate(x, size=size, mode=mode), x)
    for factor in (0.3, 0.7, 1.1, 3.3, 41.0):
        x = torch.arange(60).to(dtype).reshape(1, 1, 60)
        check(lambda x, factor=factor: F.interpolate(x, scale_factor=factor, mode=mode), x)


def test_symbolic_pools_of_a_given_size() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        x = torch.where(x > 2, float("inf"), x)
        return F.adaptive_avg_pool2d(x, (x.shape[2] // 3 + 1, x.shape[3] * 2 // 3 + 1))

    more = [[torch.randn(1, 3, 9, 4)], [torch.randn(1, 3, 20, 31)]]
    check(function, IMAGE, dynamic=[[0, 2, 3]], more=more)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_smaller_images_without_aliases(mode: str) -> None:
    for size in ((5, 4), (3, 3), (15, 24)):
        check(lambda x, size=size: F.interpolate(x, size=size, mode=mode, antialias=True), IMAGE)


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("aliases", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_numbers_that_are_not_finite_stay_in_their_windows(mode: str, aliases: bool, corners: bool) -> None:
    """And coordinates are rounded as in eager PyTorch, so f64 results agree to some units in the last place."""
    x = torch.randn(2, 3, 20, 21, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x[0, 0, 4, 5], x[1, 1, 9, 9], x[1, 2, 0, 0] = float("inf"), float("nan"), -float("inf")

    def function(x: torch.Tensor) -> Any:
        sizes: list[Any] = [(7, 33), (64, 3), (1, 1)]
        options: dict[str, Any] = {"mode": mode, "align_corners": corners, "antialias": not aliases}
        scaled = F.interpolate(x, scale_factor=(1.7, 0.45), **options)
        return *(F.interpolate(x, size, **options) for size in sizes), scaled

    for result, expected in zip(perpend.compile(Function(function), example_inputs=(x,))(x), function(x), strict=True):
        torch.testing.assert_close(result, expected, rtol=0, atol=2e-14, equal_nan=True)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("options", [{}, {"antialias": True}, {"align_corners": True}], ids=str)
def test_images_of_bytes(mode: str, options: dict[str, bool]) -> None:
    """PyTorch rounds each dimension to bytes, and its weights to 16 bits: a few elements differ by one."""
    x = torch.randint(0, 256, (2, 3, 9, 11), dtype=torch.uint8)
    for size in ((9, 20), (5, 4), (17, 23)):
        module = Function(lambda x, size=size: F.interpolate(x, size=size, mode=mode, **options))
        got, wanted = perpend.compile(module, example_inputs=(x,))(x), module(x)
        assert got.dtype == torch.uint8
        difference = (got.int() - wanted.int()).abs()
        assert difference.max() <= 1 and (difference > 0).float().mean() < 0.05, difference


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_smaller_images_with_aligned_corners(mode: str) -> None:
    """Corners say how wide the windows are. F.interpolate refuses them; the operator takes them."""
    resize = getattr(torch.ops.aten, f"_upsample_{mode}2d_aa")
    for size in ((3, 3), (5, 7), (1, 4), (1, 1), (10, 8)):
        check(lambda x, s=size: resize(x, s, True), IMAGE)
        check(lambda x, s=size: resize(x, s, True), IMAGE[:, :, :1])


def test_volumes() -> None:
    check(
        lambda x: (
            F.interpolate(x, scale_factor=2),
            F.interpolate(x, size=(4, 8, 11), mode="trilinear"),
            F.interpolate(x, scale_factor=1.6, mode="trilinear", align_corners=True),
            F.interpolate(x, size=(4, 8, 11), mode="nearest-exact"),
        ),
        VOLUME,
    )


def test_positions_of_maxima() -> None:
    check(lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), IMAGE)
    check(lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), IMAGE[0])
    check(lambda x: F.max_pool1d(x, 3, 2, 1, return_indices=True), LINE)
    check(lambda x: F.max_pool3d(x, 2, return_indices=True), VOLUME)
    check(
        lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
        torch.randn(2, 3, 8, 8),
        dynamic=[[0]],
        more=[[torch.randn(3, 3, 8, 8)]],
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_positions_of_the_last_nan(dtype: torch.dtype) -> None:
    """Of those of a window, for all pools of maxima."""
    nan = float("nan")
    image = torch.tensor([[1, nan, 2, nan, 0], [nan, 1, 2, 3, 4], [5, 5, nan, 1, nan]], dtype=dtype)[None, None]
    volume = torch.stack([image, image.flip(-1)], 2)
    places = torch.tensor([[[0.3, 0.7]]], dtype=dtype)

    def pools(x: torch.Tensor, y: torch.Tensor, places: torch.Tensor) -> Any:
        return [
            F.max_pool2d(x, 2, 1, return_indices=True),
            F.max_pool1d(x[0], 3, 1, return_indices=True),
            F.adaptive_max_pool1d(x[0], 2, return_indices=True),
            F.adaptive_max_pool2d(x, 2, return_indices=True),
            F.adaptive_max_pool2d(x, (1, 3), return_indices=True),
            F.adaptive_max_pool3d(y, (1, 2, 2), return_indices=True),
            F.fractional_max_pool2d(x, 2, output_size=(2, 3), return_indices=True, _random_samples=places),
        ]

    expected = pools(image, volume, places)
    results = perpend.compile(Function(pools), example_inputs=(image, volume, places))(image, volume, places)
    for got, wanted in zip(tensors(results), tensors(expected), strict=True):
        torch.testing.assert_close(got, wanted, rtol=0, atol=0, equal_nan=True)


def test_pools_of_a_given_size() -> None:
    check(lambda x: (F.adaptive_max_pool2d(x, (3, 1)), F.adaptive_max_pool1d(x[0], 4)), IMAGE)
    check(
        lambda x: (F.adaptive_avg_pool2d(x, (3, 2)), F.adaptive_max_pool2d(x, 3)),
        IMAGE,
        dynamic=[[0, 2, 3]],
        more=[[torch.randn(1, 3, 3, 14)]],
    )
    check(lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=5), IMAGE)


def test_pools_at_random_places() -> None:
    """Where given numbers choose the windows, the results are PyTorch's; drawn numbers are other ones."""

    def images(x: torch.Tensor, places: torch.Tensor) -> Any:
        one = F.fractional_max_pool2d(x, (2, 3), output_size=(4, 5), return_indices=True, _random_samples=places)
        return one, F.fractional_max_pool2d(x, 2, output_size=(1, 3), return_indices=True, _random_samples=places)

    check(images, torch.randn(2, 3, 9, 8), torch.rand(2, 3, 2), is_interpreted=False)
    check(images, torch.randn(3, 9, 8), torch.rand(1, 3, 2), is_interpreted=False)

    def volumes(x: torch.Tensor, places: torch.Tensor) -> Any:
        sizes = {"kernel_size": (2, 3, 2), "output_size": (3, 2, 5)}
        return F.fractional_max_pool3d(x, **sizes, return_indices=True, _random_samples=places)

    check(volumes, torch.randn(2, 2, 6, 7, 8), torch.rand(2, 2, 3), is_interpreted=False)
    model = perpend.compile(Function(nn.FractionalMaxPool2d(2, output_size=(5, 7))), example_inputs=(IMAGE,))
    result = model(IMAGE)
    assert result.shape == (2, 3, 5, 7) and bool(torch.isin(result, IMAGE).all())
