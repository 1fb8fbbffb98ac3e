"""Times of language models are fitted as they grow, and the page says what was measured. No times are asserted."""

from pathlib import Path

import language_models
import pytest
from frontend.checkpoint.tiny_models import CASES, make, save


def test_fits() -> None:
    lengths = [16, 64, 256, 512]
    with_cache = language_models.fit(lengths, [3e-3 + 2e-6 * length for length in lengths], 0)
    assert with_cache == pytest.approx((3e-3, 2e-6, 0), abs=1e-12)
    without = language_models.fit(lengths, [1e-4 * length + 5e-8 * length**2 for length in lengths], 1)
    assert without == pytest.approx((1e-4, 5e-8, 0), abs=1e-12)
    jump = language_models.fit(lengths, [1, 1, 1, 2], 0)
    assert jump.distance > 0.1


def test_page(tmp_path: Path) -> None:
    path = save(make(CASES["llama"]), tmp_path / "model")
    arguments = [f"tiny={path}", "--lengths", "4,8,16", "--turns", "1", "--out", str(tmp_path), "--note", "Loaded."]
    assert language_models.main(arguments) == 0
    page = (tmp_path / "llm.md").read_text()
    assert "`bench/language_models.py tiny=model`" in page and "Processor: " in page and "Loaded." in page
    assert "## tiny, 1 thread" in page and "| 16 | " in page and "N^3 us without" in page
    assert "](llm.svg)" in page and "<!-- tiny -->" in (tmp_path / "llm.svg").read_text()
    assert str(tmp_path) not in page and '"lengths"' in (tmp_path / "llm.json").read_text()


def test_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["model.gguf"], ["a=b.gguf", "--lengths", "1,2"], ["a=b.gguf", "--lengths", "0,2,4"]):
        with pytest.raises(SystemExit):
            language_models.main(arguments)
        assert "at least three lengths above 0" in capsys.readouterr().err
