"""Elements that are moved: pads in pieces, rotations, positions that are filled, products of three tensors."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from python.torch_functions import check

torch.manual_seed(0)
MODES = ["reflect", "circular", "replicate"]


@pytest.mark.parametrize("mode", MODES)
def test_long_lines_are_padded_in_pieces(mode: str) -> None:
    """On both sides, on one, by as much as a mode allows; rows as well, and of integers."""
    most = 39 if mode == "reflect" else 40
    image, line = torch.randn(2, 3, 7, 40), torch.randn(3, 40)
    pads: list[tuple[int, ...]] = [(3, 2, 1, 4), (0, 5, 2, 0), (6, 0, 0, 0), (most, most, 6, 6)]
    check(lambda x: [F.pad(x, pad, mode=mode) for pad in pads], image)
    check(lambda x: [F.pad(x, pad[:2], mode=mode) for pad in pads], line)
    if mode == "circular":
        check(lambda x: [F.pad(x, pad, mode=mode) for pad in ((-1, 2), (2, -1), (-3, -2), (38, -1))], line)
    check(lambda x: F.pad(x, (2, 3, 1, 1), mode=mode), torch.randint(0, 99, (1, 2, 7, 40)).double())


@pytest.mark.parametrize("mode", MODES)
def test_lines_of_dynamic_lengths_are_padded(mode: str) -> None:
    x = torch.randn(1, 5, 40)
    check(lambda x: F.pad(x, (3, 2), mode=mode), x, dynamic=[(1,)], more=[(x[:, :1],)])
    check(lambda x: F.pad(x, (3, 2), mode=mode), x, dynamic=[(2,)], more=[(x[..., :9],)])
    check(lambda x: F.pad(x, (3, 2, 1, 2), mode=mode), x[None], dynamic=[(2,)], more=[(x[None, :, :3],)])


def test_a_single_element_is_padded() -> None:
    x = torch.randn(1, 2, 1)
    check(lambda x: (F.pad(x, (4, 1), mode="replicate"), F.pad(x, (1, 1), mode="circular")), x)


@pytest.mark.parametrize("shape", [(24, 37), (64, 64), (1, 9), (3, 33, 16), (0, 5)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int8], ids=str)
def test_tensors_are_turned(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    """A transpose reads rows forwards or backwards."""
    x = (torch.randn(shape) * 9).to(dtype)
    check(lambda x: [torch.rot90(x, turns, (-2, -1)) for turns in (1, 2, 3)], x)
    check(lambda x: (x.mT.flip(-1), x.flip((-2, -1)).mT.contiguous(), x.flip(-1).mT + 1), x)


def test_large_tensors_are_turned() -> None:
    """Tiles that share cache lines are processed together."""
    x = torch.randn(1024, 512)
    check(lambda x: (torch.rot90(x), torch.rot90(x, 3), x.mT.contiguous()), x, is_interpreted=False)


@pytest.mark.parametrize("shape", [(6, 37), (1, 1), (0, 3), (5, 4, 33)], ids=str)
def test_tensors_are_rolled(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    check(lambda x: (x.roll(3), x.roll(-2, -1), x.roll((1, 5), (0, -1)), x.roll((40, 0), (-1, 0))), x)
    check(lambda x: (torch.fft.fftshift(x), x.roll((1, 2, -3), (-1, -1, 0))), x)


def test_tensors_of_dynamic_lengths_are_rolled() -> None:
    x = torch.randn(4, 37)
    check(lambda x: x.roll(5, -1), x, dynamic=[(0, 1)], more=[(x[:1, :3],), (x[:2, :5],)])


def test_positions_are_filled() -> None:
    """Repeated ones, negative ones, none, and a tensor's value."""
    x, at = torch.randn(5, 6, 7), torch.tensor([0, 3, -1, 3])
    check(lambda x, at: [x.index_fill(dim, at, 0.5) for dim in (0, 1, 2, -1)], x, at)
    check(lambda x, at: (x.index_fill(1, at[:0], 2), x.index_fill(0, at[1], 2)), x, at)
    check(lambda x, at: x.int().index_fill(1, at, x[0, 0, 0].int()), x, at)
    check(lambda x: x[0, 0, 0].index_fill(0, torch.tensor([0]), 3.0), x)


def test_bilinear_forms() -> None:
    x, y, z = torch.randn(9, 5), torch.randn(9, 7), torch.randn(4, 5, 7)
    check(lambda x, y, z: (F.bilinear(x, y, z), F.bilinear(x[0], y[0], z, torch.ones(4))), x, y, z)
    trilinear: Any = torch.ops.aten._trilinear
    check(lambda x, y, z: trilinear(x, z, y, [1, 3], [0], [1, 2], [2, 3]), x, y, z)
