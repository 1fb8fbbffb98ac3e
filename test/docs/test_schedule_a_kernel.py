"""What docs/howto/schedule-a-kernel.md shows runs, in its order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs/howto/schedule-a-kernel.md"


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(compile(code, str(PAGE), "exec"), names)
    said = capsys.readouterr().out
    assert 'tile.block "contract" spatial(' in said
    assert said.endswith("line 2, column 6: there is no primitive 'get_lops'\nhint: did you mean get_loops?\n")
