"""The table of language models against others says what was measured. No times are asserted."""

import json
from pathlib import Path

import language_engines
import pytest
from language_checkpoints import bytes_of_token, write_checkpoint


def test_page(tmp_path: Path) -> None:
    arguments = ["tiny-q4_0", "--work", "prefill:8,decode:4", "--before", "4", "--context", "32"]
    assert language_engines.main([*arguments, "--turns", "1", "--fill", "0.01", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "llm-engines.md").read_text()
    assert "## tiny-q4_0" in page and "| prefill 8, 1 thread | perpend int8 |" in page and str(tmp_path) not in page
    rows = json.loads((tmp_path / "llm-engines.json").read_text())["models"][0]["rows"]
    deviations = {(row["kind"], row["engine"]): row["deviation"] for row in rows if not row["error"]}
    assert "| decode 4, 1 thread | memory alone | |" in page
    assert deviations.pop(("decode", "memory alone")) == 0
    assert len(deviations) == 4 and deviations["decode", "perpend f32"] == 0
    assert 0 < deviations["prefill", "perpend int8"] < 0.1


def test_what_a_token_reads(tmp_path: Path) -> None:
    path = write_checkpoint("tiny-q8_0", tmp_path)
    assert path.stat().st_size - bytes_of_token(path) == 512 * 64 * 34 // 32
    assert bytes_of_token(write_checkpoint("tiny-experts-q8_0", tmp_path)) is None
    other = path.rename(tmp_path / "other.gguf")
    assert bytes_of_token(other) == other.stat().st_size


def test_arguments(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for work in ("prefill", "prefill:0", "guess:3"):
        with pytest.raises(SystemExit):
            language_engines.main(["tiny-q4_0", "--work", work])
        assert "expected prefill:COUNT or decode:COUNT" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"expected SHAPE-TYPE, of tiny, .*, got '7B-q9'"):
        write_checkpoint("7B-q9", tmp_path)
