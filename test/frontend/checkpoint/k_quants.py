"""Random blocks of 256 elements as GGUF has them, and the numbers that they stand for."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from frontend.checkpoint.gguf_file import Stored
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.float32]
ELEMENTS = 256
ELEMENT = np.arange(ELEMENTS)


def halves(blocks: Bytes, first: int) -> Numbers:
    """A number of f16 in each block, as a column."""
    numbers: Numbers = np.ascontiguousarray(blocks[:, first : first + 2]).view(np.float16).astype(np.float32)
    return numbers


def planes(data: Bytes) -> NDArray[Any]:
    """Two bits of each element: of 128, four planes in the bits of 32 bytes."""
    return data[:, ELEMENT // 128 * 32 + ELEMENT % 32] >> (ELEMENT % 128 // 32 * 2) & 3


def small_scales(data: Bytes) -> tuple[NDArray[Any], NDArray[Any]]:
    """Scales and offsets of six bits for eight groups, in 12 bytes."""
    scales = np.concatenate([data[:, :4] & 63, (data[:, 8:] & 15) | data[:, :4] >> 6 << 4], 1)
    offsets = np.concatenate([data[:, 4:8] & 63, data[:, 8:] >> 4 | data[:, 4:8] >> 6 << 4], 1)
    return scales, offsets


def q2_k(b: Bytes) -> Numbers:
    scales = b[:, ELEMENT // 16]
    return halves(b, 80) * (scales & 15) * planes(b[:, 16:80]) - halves(b, 82) * (scales >> 4)


def q3_k(b: Bytes) -> Numbers:
    j = ELEMENT // 16
    scales = (b[:, 96 + j % 8] >> (j // 8 * 4) & 15) | (b[:, 104 + j % 4] >> (j // 4 * 2) & 3) << 4
    high = b[:, ELEMENT % 32] >> (ELEMENT // 32) & 1
    return halves(b, 108) * (scales.astype(np.float32) - 32) * (planes(b[:, 32:96]) - 4.0 * (1 - high))


def in_groups(b: Bytes, numbers: NDArray[Any]) -> Numbers:
    scales, offsets = (each[:, ELEMENT // 32].astype(np.float32) for each in small_scales(b[:, 4:16]))
    return halves(b, 0) * scales * numbers - halves(b, 2) * offsets


def four_bits(data: Bytes, width: int) -> NDArray[Any]:
    """Of twice `width` elements, the first half in the low bits of so many bytes."""
    return data[:, ELEMENT // (2 * width) * width + ELEMENT % width] >> (ELEMENT // width % 2 * 4) & 15


def q4_k(b: Bytes) -> Numbers:
    return in_groups(b, four_bits(b[:, 16:], 32))


def q5_k(b: Bytes) -> Numbers:
    return in_groups(b, four_bits(b[:, 48:], 32) | (b[:, 16 + ELEMENT % 32] >> (ELEMENT // 32) & 1) << 4)


def q6_k(b: Bytes) -> Numbers:
    numbers = (four_bits(b[:, :128], 64) | planes(b[:, 128:192]) << 4).astype(np.float32) - 32
    return halves(b, 208) * b[:, 192:208].view(np.int8)[:, ELEMENT // 16] * numbers


class Kind(NamedTuple):
    size: int  # of a block in bytes
    scales: tuple[int, ...]  # where it has numbers of f16
    read: Callable[[Bytes], Numbers]


KINDS = {
    "Q2_K": Kind(84, (80, 82), q2_k),
    "Q3_K": Kind(110, (108,), q3_k),
    "Q4_K": Kind(144, (0, 2), q4_k),
    "Q5_K": Kind(176, (0, 2), q5_k),
    "Q6_K": Kind(210, (208,), q6_k),
}


def random_blocks(name: str, shape: tuple[int, ...], deviation: float) -> tuple[Stored, Numbers]:
    """A matrix of random bytes, whose numbers have about this standard deviation."""
    kind = KINDS[name]
    random = np.random.default_rng(shape[0])
    blocks = random.integers(0, 256, (int(np.prod(shape)) // ELEMENTS, kind.size), np.uint8)

    def set_scales(size: float) -> None:
        for first in kind.scales:
            scales = random.uniform(0.5, 1.5, (len(blocks), 1)) * size
            blocks[:, first : first + 2] = scales.astype(np.float16).view(np.uint8)

    set_scales(1)
    set_scales(deviation / kind.read(blocks).std())
    return Stored(name, shape, blocks.tobytes()), kind.read(blocks).astype(np.float32).reshape(shape)
