"""Windows that overlap, and bags of rows: values of eager PyTorch, without scatters where sums of shifts do."""

from __future__ import annotations

import itertools
from typing import Any

import perpend
import pytest
import torch
from perpend.torch import decompositions, patches
from python.test_torch_costs import text_of
from python.torch_functions import Function, check
from torch.nn import functional as F

torch.manual_seed(0)
WINDOWS = list(
    itertools.product(((3, 3), (1, 2), (4, 2)), ((1, 1), (2, 3)), ((0, 0), (1, 2)), ((1, 1), (2, 3), (5, 4)))
)
TABLE = torch.randn(9, 5)


@pytest.mark.parametrize(("size", "spacing", "pads", "steps"), WINDOWS)
def test_formulas(size: Any, spacing: Any, pads: Any, steps: Any) -> None:
    x = torch.randn(2, 3, 13, 17)
    columns = F.unfold(x, size, spacing, pads, steps)
    torch.testing.assert_close(patches.unfold(x, size, spacing, pads, steps), columns, rtol=0, atol=0)
    folded = patches.fold(columns, (13, 17), size, spacing, pads, steps)
    torch.testing.assert_close(folded, F.fold(columns, (13, 17), size, spacing, pads, steps))


@pytest.mark.parametrize(("size", "step"), [(3, 1), (4, 4), (2, 5), (7, 3), (1, 1), (200, 1)])
def test_windows_are_added(size: int, step: int) -> None:
    x = torch.randn(2, 201, 3, requires_grad=True)
    windows = x.unfold(1, size, step)
    gradient = torch.randn_like(windows)
    windows.backward(gradient)
    torch.testing.assert_close(patches.windows_added(gradient, x.shape, 1, size, step), x.grad)


def test_compiled_patches() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        columns = F.unfold(x, 3, padding=1, dilation=2)
        folded = F.fold(y, (9, 10), (3, 2), stride=2, padding=1)
        return columns, folded, F.fold(y.bfloat16(), (9, 10), (3, 2), stride=2, padding=1), F.unfold(x[0] > 0, 2)

    inputs = (torch.randn(2, 3, 8, 9), torch.randn(2, 12, 30))
    check(function, *inputs)
    assert "graph.scatter" not in text_of(function, *inputs)
    check(lambda y: F.fold(y, (4, 5), 2), torch.randn(2, 12, 12), dynamic=[[0]])


def test_spectra_return_without_scatters() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.istft(torch.view_as_complex(x), 16, 4, window=torch.hann_window(16))

    spectra = torch.view_as_real(
        torch.stft(torch.randn(2, 100), 16, 4, window=torch.hann_window(16), return_complex=True)
    )
    check(function, spectra.contiguous())
    assert "graph.scatter" not in text_of(function, spectra.contiguous())


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_one_length_are_sums_of_rows(mode: str) -> None:
    indices = torch.randint(0, 9, (4, 6))

    def function(places: torch.Tensor) -> torch.Tensor:
        return F.embedding_bag(places, TABLE, mode=mode, padding_idx=2)

    check(function, indices)
    assert "graph.scatter" not in text_of(function, indices)
    check(function, indices, dynamic=[[0]])
    check(lambda i, at: F.embedding_bag(i, TABLE, at, mode=mode), indices.flatten(), torch.tensor([0, 0, 7, 24]))
    check(lambda i: F.embedding_bag(i, TABLE, torch.arange(0, 18, 6), mode=mode), indices.flatten())
    check(function, indices[:, :1])


def test_counts_of_numbers() -> None:
    check(lambda x: (torch.bincount(x), torch.bincount(x, minlength=12)), torch.tensor([3, 0, 3, 7]))
    check(lambda x: (torch.bincount(x[:0]), torch.bincount(x[:0], minlength=2)), torch.tensor([3, 0]))


def test_exponentials_of_matrices() -> None:
    x = torch.randn(3, 5, 5, dtype=torch.float64)
    for scale in (0.01, 0.4, 1.0, 2.5, 20.0):
        for dtype in (torch.float64, torch.float32):
            check(torch.linalg.matrix_exp, (x * scale / torch.linalg.matrix_norm(x, 1)[:, None, None]).to(dtype))
    infinite = torch.full((1, 2, 2), torch.inf)
    model = perpend.compile(Function(torch.linalg.matrix_exp), example_inputs=(infinite,))
    assert model(infinite).isnan().all()


def test_tensors_are_made_where_the_operands_are() -> None:
    x, at = torch.empty(3, 4, device="meta"), torch.empty(2, dtype=torch.long, device="meta")
    results = (
        decompositions.roll(x, [1], [0]),
        decompositions.index_fill(x, 1, at, 0.5),
        decompositions.diagonal_scatter(x, torch.empty(3, device="meta")),
        decompositions.multi_margin(x, torch.empty(3, dtype=torch.long, device="meta")),
        decompositions.distances_of_pairs(x),
    )
    assert {result.device.type for result in results} == {"meta"}
