"""The closing line of `./dev test` cannot claim success for a run that failed or that ran nothing."""

from pathlib import Path

import pytest
import summary

PASS = "<testcase name='a'/>"
FAIL = "<testcase name='b'><failure/></testcase>"
SKIP = "<testcase name='c'><skipped/></testcase>"


@pytest.mark.parametrize(
    ("cases", "status", "expected"),
    [
        (PASS + PASS + SKIP, 0, "2 passed, 0 failed"),
        (PASS + FAIL, 1, "1 passed, 1 failed"),
        (PASS, 2, "1 passed, 1 failed"),
        (SKIP, 0, "0 passed, 1 failed"),
        ("", 0, "0 passed, 1 failed"),
        (None, 0, "0 passed, 1 failed"),
    ],
)
def test_closing_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cases: str | None, status: int, expected: str
) -> None:
    if cases is not None:
        (tmp_path / "lit.xml").write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    result = summary.main([str(tmp_path), f"lit={status}"])
    assert capsys.readouterr().out.splitlines()[-1] == expected
    assert (result == 0) == expected.endswith(" 0 failed")
