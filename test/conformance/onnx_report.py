"""Writes docs/onnx-coverage.md: what the official suite shows, operator by operator, and every case that does not pass.

The file holds the outcomes of all columns, also of those that the latest run left out, so it is read back first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import onnx
from onnx_cases import Case
from onnx_columns import PREPARE
from onnx_runner import PASS, UNSUPPORTED, WRONG, Outcome

PAGE = Path(__file__).resolve().parents[2] / "docs" / "onnx-coverage.md"
COLUMNS = tuple(PREPARE)
STATUSES = (PASS, UNSUPPORTED, WRONG)

Outcomes = Mapping[str, Mapping[str, Outcome]]
"""By column, then by the name of the case."""

PEERS = """\
| system | rate | known from |
| --- | --- | --- |
| ONNX Runtime 1.31.1 | 1,499 pass, 412 refused, 21 wrong, 95 types its interface cannot pass, of 2,027 | a run |
| tract | 68 % | others |
| IREE | 72 % | others |
| onnx-mlir | 36 % | others |
| TVM | 23 % of the operators it lists | others |

*A run*: the cases of this package that have inputs, through ONNX Runtime's Python interface. *Others*: rates on this
suite that others made public, of versions that are not known here; not measured again, so no ground for a claim.
"""

ROW = re.compile(r"^\| `(?P<name>[^`]+)` \| (?P<status>\w+) \| (?P<columns>[\w ,]+) \| (?P<reason>.*) \|$")
RAN = re.compile(r"^\| (?P<column>\w+) \| \d+ \| \d+ \| \d+ \| (?P<level>.*) \|$")


def identity(case: Case) -> str:
    return case.name if case.kind == "node" else f"{case.kind}/{case.name}"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def counts(outcomes: Iterable[Outcome]) -> Counter[str]:
    return Counter(outcome.status for outcome in outcomes)


def totals(outcomes: Outcomes, levels: Mapping[str, str]) -> list[str]:
    lines = ["| column | pass | unsupported | wrong | compiled with |", "| --- | --- | --- | --- | --- |"]
    for column in COLUMNS:
        if column in outcomes:
            count = counts(outcomes[column].values())
            numbers = " | ".join(str(count[status]) for status in STATUSES)
            lines.append(f"| {column} | {numbers} | {levels[column]} |")
    return lines


def operator_rows(cases: Sequence[Case], outcomes: Outcomes) -> list[str]:
    columns = [column for column in COLUMNS if column in outcomes]
    lines = [
        f"| operator | since | type | {' | '.join(columns)} |",
        f"| --- | --- | --- |{' --- |' * len(columns)}",
    ]
    groups: dict[tuple[str, int, str], list[str]] = {}
    for case in cases:
        groups.setdefault((case.operator, case.since, case.type), []).append(identity(case))
    for (operator, since, type_name), names in sorted(groups.items()):
        cells = []
        for column in columns:
            count = counts(outcomes[column][name] for name in names)
            cells.append(" / ".join(str(count[status]) for status in STATUSES))
        lines.append(f"| {operator} | {since or ''} | {type_name} | {' | '.join(cells)} |")
    return lines


def failure_rows(outcomes: Outcomes) -> list[str]:
    """One line for each case and reason, with the columns that have it."""
    columns_of: dict[tuple[str, str, str], list[str]] = {}
    for column in COLUMNS:
        for name, outcome in outcomes.get(column, {}).items():
            if outcome.status != PASS:
                columns_of.setdefault((name, outcome.status, outcome.reason), []).append(column)
    lines = ["| case | outcome | columns | reason |", "| --- | --- | --- | --- |"]
    for (name, status, reason), columns in sorted(columns_of.items()):
        lines.append(f"| `{name}` | {status} | {', '.join(columns)} | {cell(reason)} |")
    return lines


def page(cases: Sequence[Case], outcomes: Outcomes, levels: Mapping[str, str]) -> str:
    parts = [
        "# The official ONNX suite",
        "<!-- Written by test/conformance/onnx_suite.py: run `./dev test --onnx`, not an editor. -->",
        f"The {len(cases)} cases of the `onnx` package {onnx.__version__}: compiled for the processor at hand, run,\n"
        "and compared with the suite's tolerances. *Unsupported* is a refusal before anything runs; *wrong* is\n"
        "everything else that is no pass: values, shapes, types, a crash, a hang, a failure while it runs. Columns:\n"
        "*plain*, the model as it is; *dynamic*, every dimension of every input a free symbol, and of what the model\n"
        "says about results only the ranks, not the extents; *resizable*, the same but for lengths of vectors, which\n"
        "decide ranks, and extents of 1, which broadcast; *constant*, every input an initializer; *interpreter*, the\n"
        "reference interpreter in place of compiled code. Where a case declares a sequence or an optional value\n"
        "without a rank, every column is told the rank of its value.",
        "## Totals",
        "\n".join(totals(outcomes, levels)),
        "Others, for comparison:",
        PEERS.rstrip(),
        "## Operators",
        "pass / unsupported / wrong, by operator, the operator set that introduced its form, and the type of the\n"
        "first input. The expansion of an operator into others counts for that operator.",
        "\n".join(operator_rows(cases, outcomes)),
        "## Cases that do not pass",
        "\n".join(failure_rows(outcomes)),
    ]
    return "\n\n".join(parts) + "\n"


def read(cases: Sequence[Case], path: Path = PAGE) -> tuple[dict[str, dict[str, Outcome]], dict[str, str]]:
    """The outcomes and the options of each column that the page holds."""
    outcomes: dict[str, dict[str, Outcome]] = {}
    levels: dict[str, str] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        if (ran := RAN.match(line)) and ran["column"] in COLUMNS:
            levels[ran["column"]] = ran["level"]
            outcomes[ran["column"]] = {identity(case): Outcome(PASS) for case in cases}
        elif row := ROW.match(line):
            for column in row["columns"].split(", "):
                if row["name"] in outcomes.get(column, {}):
                    outcomes[column][row["name"]] = Outcome(row["status"], row["reason"].replace("\\|", "|"))
    return outcomes, levels
