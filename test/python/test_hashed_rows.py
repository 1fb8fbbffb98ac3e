"""Sums of rows at computed indices: what an index depends on is found in linear time."""

import numpy as np
import perpend
import torch
from torch import Tensor, nn


class Hashed(nn.Module):
    """Each of the 40 rounds uses the index twice, so that there are 2^40 paths to its source."""

    def forward(self, rows: Tensor, numbers: Tensor) -> Tensor:
        for _ in range(40):
            numbers = (numbers * numbers + numbers) & 127
        return rows[numbers].sum(-1)


def test_hashed_rows() -> None:
    rows, numbers = torch.randn(128, 32), torch.arange(512)
    found = perpend.compile(Hashed(), example_inputs=(rows, numbers))(rows, numbers)
    np.testing.assert_allclose(found, Hashed()(rows, numbers).numpy(), rtol=0, atol=1e-5)
