"""Logits of checkpoints of each architecture, compared with those of transformers."""

from pathlib import Path

import numpy as np
import perpend
import pytest
from frontend.checkpoint.tiny_models import CASES, logits, make, prompt, save


@pytest.mark.parametrize("name", CASES)
def test_folder(name: str, tmp_path: Path) -> None:
    model = make(CASES[name])
    compiled = perpend.compile(save(model, tmp_path))
    for length in (1, 7, 128):
        tokens = prompt(length, batch=2 if length == 7 else 1)
        expected = logits(model, tokens)
        np.testing.assert_allclose(compiled(tokens), expected, rtol=0, atol=1e-4 * max(1, np.abs(expected).max()))
