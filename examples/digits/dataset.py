"""The digits of scikit-learn (1797 images of 8x8 pixels), scaled to 0..1, with a fixed held-back part of 360 images."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class Split(NamedTuple):
    train_images: NDArray[np.float32]  # [n, 1, 8, 8]
    train_labels: NDArray[np.int64]
    holdout_images: NDArray[np.float32]  # [360, 1, 8, 8]
    holdout_labels: NDArray[np.int64]


def load() -> Split:
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    train_x, holdout_x, train_y, holdout_y = train_test_split(
        images, labels.astype(np.int64), test_size=360, random_state=0, stratify=labels
    )
    return Split(train_x, train_y, holdout_x, holdout_y)
