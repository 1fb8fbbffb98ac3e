"""Borders of images beside which a kernel lies as a whole."""

from __future__ import annotations

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


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ONE_ROW)
def test_kernels_of_one_row(name: str, target: str) -> None:
    for seed in (3, 4):
        ONE_ROW[name].check(target, seed)
