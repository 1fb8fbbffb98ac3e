"""The comparison of answers says how often and how far they differ."""

import json
from pathlib import Path

import language_answers
import numpy as np
import pytest
from language_checkpoints import write_checkpoint


def test_answers() -> None:
    reference = np.array([[0, 1, 3, 0], [4, 0, 0, 0]], np.float32)
    same = language_answers.Answers.of(reference + 5, reference)  # a shift of all logits decides nothing
    assert same.differing == 0 and same.tokens == 2 and same.deviation == pytest.approx(0, abs=1e-6)
    other = language_answers.Answers.of(np.array([[0, 4, 3, 0], [4, 0, 0, 0]], np.float32), reference)
    assert other.differing == 1 and other.largest_margin == pytest.approx(2 / reference[0].std())
    assert other.deviation > 0.5


def test_page(tmp_path: Path) -> None:
    checkpoint = write_checkpoint("tiny-q4_0", tmp_path)
    assert language_answers.main([f"tiny={checkpoint}", "--tokens", "4", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "llm-answers.md").read_text()
    assert "| tiny | perpend int8 | " in page and " of 40 |" in page and str(tmp_path) not in page
    answers = json.loads((tmp_path / "llm-answers.json").read_text())["models"]["tiny"]["perpend int8"]
    assert 0 < answers["deviation"] < 0.2


def test_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        language_answers.main(["model.gguf"])
    assert "expected NAME=FILE.gguf" in capsys.readouterr().err
