"""Adds up the JUnit reports of all test suites into the closing line "N passed, N failed".

usage: summary.py REPORTS_FOLDER SUITE=EXIT_STATUS...

A suite without a report, or one that exited with an error although its report shows none, counts as one failure, and so
does a suite that ran nothing: a run that tested nothing must not look like success.
"""

import sys
from pathlib import Path
from xml.etree import ElementTree


def count(report: Path) -> tuple[int, int, int]:
    """(passed, failed, skipped) of one JUnit file."""
    passed = failed = skipped = 0
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            failed += 1
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def judge(folder: Path, name: str, status: int) -> tuple[int, int, str]:
    """(passed, failed, one line of text) of one suite."""
    try:
        passed, failed, skipped = count(folder / f"{name}.xml")
    except (OSError, ElementTree.ParseError):
        return 0, 1, f"{name}: left no report (exit status {status})"
    text = f"{name}: {passed} passed, {failed} failed, {skipped} skipped"
    if failed == 0 and passed == 0:
        return 0, 1, text + " — nothing ran, which counts as a failure"
    if failed == 0 and status != 0:
        return passed, 1, text + f" — but it exited with status {status}, which counts as a failure"
    return passed, failed, text


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0])
    passed = failed = 0
    for suite in arguments[1:]:
        name, status = suite.split("=")
        suite_passed, suite_failed, text = judge(folder, name, int(status))
        print(text)
        passed += suite_passed
        failed += suite_failed
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
