"""Runs the official ONNX suite: python test/conformance/onnx_suite.py [-k PATTERN] [--column NAME] [--list STATUS] ...

Prints the cases that do not pass with their reasons, then the totals. With --write, the outcomes of whole columns go to
docs/onnx-coverage.md. The exit status is 0 when every case that ran passed or was refused.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import sys
import time
from pathlib import Path

import onnx
import onnx_report
from onnx_cases import Case, collect
from onnx_columns import EMULATED, PREPARE, Settings
from onnx_runner import CASE_LIMIT_S, PASS, UNSUPPORTED, WRONG, Outcome, run_case, run_cases


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", dest="pattern", default="", help="only cases whose name matches this regular expression")
    columns = [*PREPARE, *EMULATED, "all"]
    parser.add_argument("--column", action="append", choices=columns, help="default: plain; repeatable")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--limit", type=float, default=CASE_LIMIT_S, help="seconds for a case")
    parser.add_argument("--opt-level", type=int, default=3, help="of the compiler, 0 to 3")
    parser.add_argument("--target", default="host", help="what to compile for; this machine must be able to run it")
    parser.add_argument("--list", choices=[PASS, UNSUPPORTED, WRONG], help="print only the cases with this outcome")
    parser.add_argument("--json", type=Path, help="write every outcome to this file")
    parser.add_argument("--write", action="store_true", help=f"write docs/{onnx_report.PAGE.name}; not with -k")
    parsed = parser.parse_args(arguments)
    if parsed.write and parsed.pattern:
        parser.error("--write: the page is about the whole suite, so -k cannot be given")
    if parsed.write and parsed.target != "host":
        parser.error("--write: the page is about the machine at hand, so --target cannot be given")
    if parsed.write and set(parsed.column or []) & set(EMULATED):
        parser.error("--write: the page is about the machine at hand, so no emulated column can be given")
    parsed.columns = list(PREPARE) if "all" in (parsed.column or []) else parsed.column or ["plain"]
    return parsed


def run_column(cases: list[Case], column: str, options: argparse.Namespace) -> list[Outcome]:
    start = time.monotonic()
    shows_progress = sys.stderr.isatty()
    done = 0

    def count(index: int, outcome: Outcome) -> None:
        nonlocal done
        done += 1
        if shows_progress:
            print(f"\r{column}: {done}/{len(cases)} ", end="", file=sys.stderr, flush=True)

    execute = functools.partial(run_case, column=column, settings=Settings(options.opt_level, options.target))
    outcomes = run_cases(cases, execute, options.jobs, options.limit, count)
    print(f"\r{column}: {len(cases)} cases in {time.monotonic() - start:.0f} s", file=sys.stderr)
    return outcomes


def print_column(cases: list[Case], column: str, outcomes: list[Outcome], wanted: str | None) -> None:
    for case, outcome in zip(cases, outcomes, strict=True):
        if outcome.status == wanted or (not wanted and outcome.status != PASS):
            print(f"{column}: {outcome.status}: {onnx_report.identity(case)}: {outcome.reason}")
    count = onnx_report.counts(outcomes)
    print(f"{column}: {count[PASS]} pass, {count[UNSUPPORTED]} unsupported, {count[WRONG]} wrong")


def write_page(cases: list[Case], results: dict[str, list[Outcome]], opt_level: int) -> None:
    outcomes, levels = onnx_report.read(cases)
    names = [onnx_report.identity(case) for case in cases]
    for column, column_outcomes in results.items():
        outcomes[column] = dict(zip(names, column_outcomes, strict=True))
        levels[column] = "" if column == "interpreter" else f"-O{opt_level}"
    onnx_report.PAGE.write_text(onnx_report.page(cases, outcomes, levels))


def write_json(path: Path, cases: list[Case], results: dict[str, list[Outcome]]) -> None:
    content = {
        "onnx": onnx.__version__,
        "columns": {
            column: {
                onnx_report.identity(case): {
                    "status": outcome.status,
                    "reason": outcome.reason,
                    "seconds": round(outcome.seconds, 3),
                }
                for case, outcome in zip(cases, outcomes, strict=True)
            }
            for column, outcomes in results.items()
        },
    }
    path.write_text(json.dumps(content, indent=1))


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)
    cases = [case for case in collect() if re.search(options.pattern, onnx_report.identity(case))]
    if not cases:
        print(f"error: no case matches '{options.pattern}'", file=sys.stderr)
        return 1
    results = {column: run_column(cases, column, options) for column in options.columns}
    for column, outcomes in results.items():
        print_column(cases, column, outcomes, options.list)
    if options.json:
        write_json(options.json, cases, results)
    if options.write:
        write_page(cases, results, options.opt_level)
    return int(any(outcome.status == WRONG for outcomes in results.values() for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
