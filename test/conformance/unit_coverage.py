"""What an accelerator's units compute of the official ONNX suite:
python test/conformance/unit_coverage.py [--column quoin] [--json FILE] [--from FILE ...] [--write]

Prints each reason for which a kernel fell back to the scalar core, the most frequent first. With --write, the outcomes
go to docs/quoin/coverage.md. The suite may be run in parts: -k takes a regular expression, and --from reads the parts.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import onnx
import onnx_columns
from onnx_cases import Case, collect
from onnx_runner import PASS, UNSUPPORTED, WRONG, Outcome, run_case, run_cases

PAGE = Path(__file__).resolve().parents[2] / "docs" / "quoin" / "coverage.md"
CLASSIC = 9  # the operator set whose operators are the classic ones
COUNTS = re.compile(r"the units run (\d+) of (\d+) kernels")
FALLBACK = re.compile(r"the scalar core runs [^:]*: (?:.*: )?(.*)")
CALL = re.compile(r"the scalar core runs \S+: a function of the library")
WHOLE = "the scalar core runs the whole model"
RANDOM = "random values cannot be compared"
CONSTANT = "sizes are constant"
SIZES = (
    "Where inputs decide sizes or steps, they are constants for the columns behind `right`: integers of at most one "
    "dimension;\nif that is not enough numbers, too, and then vectors behind the first input."
)


@dataclass
class Row:
    operator: str
    case: str
    status: str
    on_units: int = 0
    kernels: int = 0
    calls: int = 0
    is_dynamic: bool = False
    has_constant_sizes: bool = False
    reasons: Sequence[str] = ()

    @property
    def is_pure(self) -> bool:
        """Whether no kernel fell back."""
        return self.on_units == self.kernels and not self.calls and not self.is_dynamic


def is_size(value: Any, position: int, effort: int) -> bool:
    """Whether an input may be a size, an axis, a count or a condition: the more effort, the less likely ones."""
    rank, is_integer = getattr(value, "ndim", 2), getattr(value, "dtype", None) == "int64"
    return rank < 2 and (is_integer or (effort > 0 and rank == 0) or (effort > 1 and position > 0))


def with_sizes(case: Case, effort: int) -> Case:
    """The case with inputs that may be sizes as constants."""
    model = onnx.ModelProto.FromString(case.model)
    sets = [(list(inputs), outputs) for inputs, outputs in case.data_sets]
    free = onnx_columns.free_inputs(model.graph)
    if len(sets) != 1 or len(free) != len(sets[0][0]):
        return case
    kept = []
    for position, (declared, value) in enumerate(zip(free, sets[0][0], strict=True)):
        if is_size(value, position, effort):
            model.graph.initializer.append(onnx.numpy_helper.from_array(value, declared.name))
            model.graph.input.remove(declared)
        else:
            kept.append(value)
    onnx_columns.forget_extents(model.graph)
    return replace(case, model=model.SerializeToString(), data_sets=[(kept, sets[0][1])])


def execute(case: Case) -> Outcome:
    """Where data would decide sizes, the case with constant ones is reported, if it is right."""
    onnx_columns.units.clear()
    outcome = run_case(case, "quoin")
    lines = list(onnx_columns.units)
    for effort in range(3):
        if outcome.status != PASS or not any(line.startswith(WHOLE) for line in lines):
            break
        onnx_columns.units.clear()
        fixed = run_case(with_sizes(case, effort), "quoin")
        if fixed.status == PASS:
            lines = [CONSTANT, *onnx_columns.units]
        elif fixed.status == WRONG:
            return Outcome(WRONG, json.dumps([fixed.reason, *lines]))
    return Outcome(outcome.status, json.dumps([outcome.reason, *lines]))


def row_of(case: Case, outcome: Outcome) -> Row:
    try:
        reason, *lines = json.loads(outcome.reason)
    except json.JSONDecodeError:
        reason, lines = outcome.reason, []
    status = outcome.status if not reason.startswith(RANDOM) else "random"
    row = Row(case.operator, case.name, status)
    reasons = []
    for line in lines:
        if counts := COUNTS.match(line):
            row.on_units, row.kernels = int(counts[1]), int(counts[2])
        elif line.startswith(WHOLE):
            row.is_dynamic = True
        elif line == CONSTANT:
            row.has_constant_sizes = True
        elif CALL.match(line):
            row.calls += 1
        elif fallback := FALLBACK.match(line):
            reasons.append(fallback[1])
    row.reasons = reasons or ([reason] if status in (UNSUPPORTED, WRONG) else [])
    return row


def classic_operators() -> list[str]:
    first: dict[str, int] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.domain:
            first[schema.name] = min(first.get(schema.name, schema.since_version), schema.since_version)
    return sorted(name for name, version in first.items() if version <= CLASSIC)


def table(operators: Sequence[str], rows: dict[str, list[Row]]) -> list[str]:
    lines = [
        "| operator | cases | right | without fallback | kernels on units | otherwise |",
        "|---|---|---|---|---|---|",
    ]
    for operator in operators:
        own = rows.get(operator, [])
        right = [row for row in own if row.status in (PASS, "random")]
        pure = sum(row.is_pure for row in right)
        on_units, kernels = sum(row.on_units for row in right), sum(row.kernels for row in right)
        reasons = Counter(reason for row in own for reason in row.reasons)
        reasons.update("data decides sizes or steps" for row in right if row.is_dynamic)
        reasons.update("a function of the library" for row in right if row.calls)
        part = f"{on_units} of {kernels}" if kernels else "none needed" if pure else "0"
        otherwise = "; ".join(reason for reason, _ in reasons.most_common(2))
        lines.append(f"| {operator} | {len(own)} | {len(right)} | {pure} | {part} | {otherwise} |")
    return lines


def page(all_rows: Sequence[Row]) -> str:
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in all_rows:
        rows[row.operator].append(row)
    classic = classic_operators()
    others = sorted(set(rows) - set(classic))

    def count(operators: Sequence[str]) -> tuple[int, int]:
        own = [rows.get(operator, []) for operator in operators]
        right = sum(any(row.status in (PASS, "random") for row in each) for each in own)
        pure = sum(any(row.status in (PASS, "random") and row.is_pure for row in each) for each in own)
        return right, pure

    total = Counter(row.status for row in all_rows)
    slow = sum(row.status == WRONG and row.reasons[0].startswith("hang: ") for row in all_rows)
    right, pure = count(classic)
    lines = [
        "# What Quoin's units compute of the ONNX suite",
        "",
        "Written by `test/conformance/unit_coverage.py --write`, for `quoin:t1`, of the official suite of ONNX "
        f"{onnx.__version__}. A case is right if the simulator's",
        "results are those that the suite expects; without fallback if the units ran each of its kernels. Random draws "
        "cannot be compared, but run.",
        *([SIZES] if any(row.has_constant_sizes for row in all_rows) else []),
        "",
        f"Of {len(all_rows)} cases {total[PASS]} are right, {total['random']} draw random values, {total[UNSUPPORTED]} "
        f"are refused, {slow} took too long in the simulator, {total[WRONG] - slow} are wrong.",
        "",
        f"**Classic operators**, those of operator set {CLASSIC}: of {len(classic)}, {right} have a case that is "
        f"right, and {pure} one without fallback.",
        "",
        *table(classic, rows),
        "",
        "**Other operators**, with the suite's models.",
        "",
        *table(others, rows),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", dest="pattern", default="", help="only cases whose name matches this regular expression")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--limit", type=float, default=60, help="seconds for a case")
    parser.add_argument("--json", type=Path, help="write every row to this file")
    parser.add_argument("--from", dest="parts", type=Path, nargs="*", help="rows that --json wrote, in place of a run")
    parser.add_argument("--write", action="store_true", help=f"write docs/quoin/{PAGE.name}")
    options = parser.parse_args()
    if options.parts:
        rows = [Row(**row) for part in options.parts for row in json.loads(part.read_text())]
    else:
        cases = [case for case in collect() if re.search(options.pattern, case.name)]
        outcomes = run_cases(cases, execute, options.jobs, options.limit)
        rows = [row_of(case, outcome) for case, outcome in zip(cases, outcomes, strict=True)]
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    if options.write:
        PAGE.write_text(page(rows))
    for reason, number in Counter(reason for row in rows for reason in row.reasons).most_common():
        print(f"{number:5} {reason}")
    print(
        Counter(row.status for row in rows),
        "without fallback:",
        sum(row.status == PASS and row.is_pure for row in rows),
    )
    return 0 if all(row.status != WRONG for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
