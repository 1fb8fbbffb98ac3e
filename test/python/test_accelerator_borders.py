"""Borders of images that are narrow, of one row, or padded on one side: windows that have more border than image."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from python.test_accelerators import expect, model_of, node

TARGETS = ["quoin:t1", "quoin:c8"]


@dataclass
class Window:
    """An operator on an image; of a convolution, with its kernel."""

    image: tuple[int, ...]
    kernel: tuple[int, ...]
    attributes: dict[str, Any]
    operator: str = "Conv"
    filters: int = 8

    def check(self, target: str, seed: int = 3) -> None:
        data = np.random.default_rng(seed)
        inputs = {"x": data.standard_normal(self.image).astype(np.float32)}
        weights: dict[str, np.ndarray] = {}
        if self.operator == "Conv":
            shape = (self.filters, self.image[1] // self.attributes.get("group", 1), *self.kernel)
            weights["w"] = (data.standard_normal(shape) / 12).astype(np.float32)
            made = node("Conv", "x w", **self.attributes)
        else:
            made = node(self.operator, "x", kernel_shape=list(self.kernel), **self.attributes)
        expect(model_of([made], inputs, weights), inputs, target)


def conv(image: tuple[int, ...], kernel: tuple[int, ...], pads: list[int], **attributes: Any) -> Window:
    return Window(image, kernel, {"pads": pads, **attributes})


# Lines of one pixel are no further from one another than pixels are.
NARROW = {
    "strides": conv((1, 16, 12, 1), (3, 3), [0, 1, 0, 2], strides=[2, 1]),
    "two rows": conv((1, 16, 12, 1), (2, 3), [0, 2, 0, 2]),
    "wide kernel": conv((1, 16, 12, 1), (3, 4), [0, 2, 0, 2]),
    "dilations": conv((1, 16, 12, 1), (3, 3), [0, 2, 0, 2], dilations=[2, 1]),
    "one row": conv((1, 64, 5, 1), (1, 5), [0, 1, 0, 4]),
    "border of lines": conv((1, 16, 12, 1), (2, 3), [1, 2, 1, 2]),
    "border at the top": conv((1, 16, 9, 1), (2, 3), [0, 2, 1, 1]),
    "batches": conv((2, 16, 9, 1), (3, 3), [1, 2, 0, 2]),
    "columns go on by lines": conv((1, 16, 12, 3), (3, 3), [0, 3, 0, 3], strides=[1, 3]),
    "columns are lines apart": conv((1, 16, 12, 3), (3, 4), [0, 6, 0, 6], dilations=[1, 3]),
}

# Rows have a border, but the kernel has one row: sums that begin with 0 continue in several products, of which one
# holds its image while it loads weights ahead.
ONE_ROW = {
    "top": conv((1, 64, 28, 28), (1, 3), [1, 0, 0, 2]),
    "bottom": conv((1, 64, 28, 28), (1, 3), [0, 0, 1, 2]),
    "both": conv((1, 64, 28, 28), (1, 3), [1, 0, 1, 2]),
    "left": conv((1, 64, 9, 7), (1, 5), [1, 4, 0, 1]),
    "right": conv((1, 64, 17, 14), (1, 5), [1, 0, 0, 4]),
    "strides": conv((2, 64, 5, 3), (1, 2), [1, 1, 0, 0], strides=[2, 2]),
}


# A core, or a tile, has results all of whose windows lie in the border: nothing is read for them.
ALL_BORDER = {
    "columns": conv((2, 16, 17, 5), (1, 2), [0, 2, 0, 0], group=16),
    "one image": conv((1, 16, 17, 5), (1, 2), [0, 2, 0, 0], group=16),
    "more columns": conv((2, 16, 17, 5), (1, 3), [0, 4, 0, 0], group=16),
    "two rows": conv((2, 16, 17, 5), (2, 2), [0, 2, 0, 0], group=16),
    "lines": conv((1, 64, 14, 14), (3, 3), [4, 1, 1, 1], group=64),
    "lines below": conv((1, 64, 14, 14), (3, 3), [1, 1, 5, 1], group=64),
    "lines and columns": conv((1, 64, 9, 9), (3, 3), [4, 4, 4, 4], group=64),
    "products": conv((1, 64, 9, 9), (3, 3), [4, 4, 4, 4]),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", NARROW)
def test_narrow_images(name: str, target: str) -> None:
    NARROW[name].check(target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ONE_ROW)
def test_kernels_of_one_row(name: str, target: str) -> None:
    for seed in (3, 4):
        ONE_ROW[name].check(target, seed)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ALL_BORDER)
def test_windows_that_are_all_border(name: str, target: str) -> None:
    window = ALL_BORDER[name]
    Window(window.image, window.kernel, window.attributes, filters=window.image[1]).check(target)


def any_window(choose: random.Random) -> Window:
    """Of images that are narrow, or low, with pads of up to a whole kernel on each side."""
    while True:
        rows = choose.choice([1, 5, 9, 12, 17, 28])
        columns = choose.choice([1, 1, 1, 2, 2, 3, 3, 5, 7, 14, 28])
        kernel = choose.choice([1, 1, 2, 3, 5]), choose.choice([1, 2, 3, 3, 5, 9])
        dilations = [choose.choice([1, 1, 2, 3]), choose.choice([1, 1, 2, 3])]
        strides = [choose.choice([1, 1, 2]), choose.choice([1, 1, 2, 3])]
        reach = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)]
        pads = [choose.choice([0, axis, axis, 1, 2, reach[axis] - 1, reach[axis]]) for axis in (0, 1, 0, 1)]
        if rows + pads[0] + pads[2] < reach[0] or columns + pads[1] + pads[3] < reach[1]:
            continue
        image = choose.choice([1, 2]), choose.choice([3, 16, 16, 64]), rows, columns
        attributes: dict[str, Any] = {"pads": pads, "strides": strides}
        operator = choose.choice(["Conv"] * 8 + ["MaxPool", "AveragePool"])
        if operator == "Conv":
            groups = choose.choice([1, 1, 1, 1, image[1], 4 if image[1] > 4 else 1])
            attributes |= {"dilations": dilations, "group": groups}
            return Window(image, kernel, attributes, filters=image[1] if groups > 1 else 8)
        is_in_image = all(pad < kernel[axis] for axis, pad in zip((0, 1, 0, 1), pads, strict=True))
        if is_in_image and dilations == [1, 1]:  # those of pools are of operator set 19
            return Window(image, kernel, attributes, operator)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", range(6))
def test_any_windows(seed: int, target: str) -> None:
    choose = random.Random(seed)
    for number in range(16):
        window = any_window(choose)
        try:
            window.check(target, number)
        except Exception as error:
            raise AssertionError(f"{target}: {window}") from error
