"""Rows of an image run in bands, so that near memory holds what lies between kernels for some of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import perpend
import pytest
from conformance.onnx_foreign import missing
from python.test_accelerator_batches import bytes_of_ddr
from python.test_accelerators import expect, floats, model_of, node

pytestmark = pytest.mark.skipif(bool(missing("quoin")), reason=missing("quoin") or "it is there")

SAME = {"pads": [1, 1, 1, 1]}
FIRST = [node("Conv", "x w", "f", **SAME), node("Relu", "f", "a")]
CHAINS: dict[str, tuple[list[Any], tuple[int, ...]]] = {
    "windows": ([node("Conv", "a v", "b", **SAME), node("Relu", "b", "c"), node("Conv", "c w", **SAME)], (1, 128, 48)),
    "odd rows, strides and pools": (
        [
            node("Conv", "a w", "b", pads=[2, 1, 0, 1]),
            node("MaxPool", "b", "c", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
            node("Conv", "c v", "d", pads=[1, 1, 1, 1], strides=[2, 1]),
            node("Relu", "d"),
        ],
        (1, 83, 47),
    ),
    "several images": (
        [
            node("Conv", "a w", "b", **SAME),
            node("Conv", "b v", "c", **SAME),
            node("AveragePool", "c", kernel_shape=[2, 2], strides=[2, 2]),
        ],
        (3, 61, 48),
    ),
    "dilations": (
        [
            node("Conv", "a w", "b", pads=[3, 3, 3, 3], dilations=[3, 3]),
            node("Sigmoid", "b", "c"),
            node("Conv", "c v", pads=[4, 2, 4, 2], dilations=[4, 2]),
        ],
        (1, 97, 48),
    ),
    "sums with what windows read": (
        [
            node("Conv", "a v", "b", **SAME),
            node("Add", "a b", "c"),
            node("Relu", "c", "d"),
            node("Conv", "d w", "e", **SAME),
            node("Add", "d e"),
        ],
        (1, 59, 48),
    ),
    "columns side by side": (
        [
            node("Conv", "a v", "b", **SAME),
            node("Concat", "a b", "c", axis=1),
            node("Conv", "c u", **SAME),
        ],
        (1, 53, 40),
    ),
    "down and up": (
        [
            node("Conv", "a w", "s", **SAME),
            node("MaxPool", "s", "b", kernel_shape=[2, 2], strides=[2, 2]),
            node("Conv", "b v", "c", **SAME),
            node("ConvTranspose", "c t", "d", strides=[2, 2]),
            node("Add", "s d", "e"),
            node("Conv", "e w", **SAME),
        ],
        (1, 128, 48),
    ),
}


def weights() -> dict[str, np.ndarray]:
    return {
        "w": floats(16, 16, 3, 3) / 12,
        "v": floats(16, 16, 3, 3) / 12,
        "u": floats(16, 32, 3, 3) / 16,
        "t": floats(16, 16, 2, 2) / 4,
    }


def bands_of(model: Any, target: str = "quoin:t1") -> list[int]:
    """Of how many bands, of all images together, each value is assembled. Their rows are a dimension with the batch."""
    module = perpend.import_model(model)
    module.lower("fuse", {"target": target})
    assembled = re.findall(
        r"graph\.concat .* axis 0 {graph\.assembled} : \((.*)\) -> tensor<\d+x\d+x\d+x[a-z]\w*>", str(module)
    )
    return [len(types.split(",")) for types in assembled]


@pytest.mark.parametrize("name", CHAINS)
def test_results_are_those_of_whole_images(name: str) -> None:
    chain, (images, rows, columns) = CHAINS[name]
    nodes = [*FIRST, *chain]
    used = {word for each in nodes for word in each.input}
    x = floats(images, 16, rows, columns)
    model = model_of(nodes, {"x": x}, {key: value for key, value in weights().items() if key in used})
    assert expect(model, {"x": x}) == []
    counts = bands_of(model)
    assert counts and all(count > images and count % images == 0 for count in counts)


def test_values_stay_near(tmp_path: Path) -> None:
    """A value has 196 KB, and LLB 262 KB."""
    nodes = [*FIRST, node("Conv", "a v", "b", **SAME), node("Conv", "b w", **SAME)]
    x = floats(1, 16, 64, 48)
    model = model_of(nodes, {"x": x}, {key: weights()[key] for key in "wv"})
    _, written = bytes_of_ddr(model, tmp_path)
    moved = 2 * x.nbytes  # the input and the result in another order, between kernels and the model
    assert written <= 2 * moved


def test_a_large_machine_has_bands_too() -> None:
    nodes = [
        node("Conv", "x w", "a", pads=[1, 1, 1, 1]),
        node("Relu", "a", "b"),
        node("MaxPool", "b", "c", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Conv", "c v", pads=[1, 1, 1, 1], strides=[2, 2]),
    ]
    x = floats(1, 4, 301, 288)
    model = model_of(nodes, {"x": x}, {"w": floats(32, 4, 3, 3) / 6, "v": floats(8, 32, 3, 3) / 17})
    assert expect(model, {"x": x}, "quoin:c8") == []
    assert bands_of(model, "quoin:c8")
