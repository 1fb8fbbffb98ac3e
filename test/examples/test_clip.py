"""The example that compares pictures with texts: its probabilities are PyTorch's, for every size and length."""

from __future__ import annotations

import os

import pytest
import torch
from examples.demos import load

os.environ["HF_HUB_OFFLINE"] = "1"
pytest.importorskip("transformers")


def test_probabilities_as_in_torch() -> None:
    demo = load("clip")
    similarity = demo.Similarity(demo.clip()).eval()
    model = demo.compiled(similarity)
    texts = [[498, 17, 230, 499], [498, 71, 499], [498, 8, 9, 10, 11, 12, 499]]
    for count, height, width, words in ((1, 32, 32, 2), (3, 96, 70, 3), (2, 33, 201, 1), (2, 16, 20, 3)):
        pictures = torch.randint(0, 256, (count, 3, height, width), dtype=torch.uint8)
        inputs = demo.padded(texts[:words], 499)
        with torch.no_grad():
            expected = similarity(pictures, **inputs)
        found = model(pictures=pictures, **inputs)
        assert found.shape == (count, words)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
