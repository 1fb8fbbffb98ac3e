"""What operators at the edges of their types gave: counts by operator, and what is not right, grouped by its reason.

edge_differences.txt lists what is known to differ, a line for each: "operator | types | form | fill | kinds | reason",
where * stands for any text within one of the first four. Kinds are those of edge_judge.py by which results differ, or
"refused" or "failed". An entry explains a difference by none but these; one that meets outcomes of a run and explains
none of them is stale.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from edge_cases import DIFFERENT, FAILED, REFUSED, STATUSES, Record

LIST = Path(__file__).with_name("edge_differences.txt")
NUMBERS = re.compile(r"-?\b\d[\d.e+-]*|\[[^]]*\]")


@dataclass(frozen=True)
class Entry:
    operator: str
    types: str
    form: str
    fill: str
    kinds: str
    reason: str

    def meets(self, record: Record) -> bool:
        fields = ("operator", "types", "form", "fill")
        return all(fnmatchcase(getattr(record, each), getattr(self, each).replace("[", "[[]")) for each in fields)

    def explains(self, record: Record) -> bool:
        found = record.kinds if record.status == DIFFERENT else record.status
        return is_wrong(record) and set(found.split()) <= set(self.kinds.split()) and self.meets(record)


def read_entries(path: Path = LIST) -> list[Entry]:
    lines = [line.strip() for line in path.read_text().splitlines()]
    return [Entry(*(field.strip() for field in line.split("|", 5))) for line in lines if line and line[0] != "#"]


def is_wrong(record: Record) -> bool:
    return record.status in (DIFFERENT, REFUSED, FAILED)


def unexplained(records: Iterable[Record], entries: Sequence[Entry]) -> list[Record]:
    return [each for each in records if is_wrong(each) and not any(entry.explains(each) for entry in entries)]


def stale(records: Sequence[Record], entries: Sequence[Entry]) -> list[Entry]:
    """Entries that no longer explain anything, of those whose cases have run."""
    return [entry for entry in entries if any(map(entry.meets, records)) and not any(map(entry.explains, records))]


def counts(records: Iterable[Record]) -> str:
    by_status = Counter(record.status for record in records)
    return ", ".join(f"{by_status[status]} {status}" for status in STATUSES)


def groups_text(records: Iterable[Record]) -> str:
    """Outcomes of one operator with reasons that are alike, each with one example."""
    groups: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    for record in records:
        groups[record.operator, record.status, NUMBERS.sub("#", record.reason)[:100]].append(record)
    lines = []
    for (operator, status, _), alike in sorted(groups.items()):
        types, first = "; ".join(sorted({record.types for record in alike})), alike[0]
        kinds = f" ({first.kinds})" if first.kinds else ""
        example = f"{first.form} | {first.fill} | {first.reason}"
        lines.append(f"{operator}: {len(alike)} {status}{kinds}, {types[:120]}: {example}")
    return "\n".join(lines)


def table_text(records: Iterable[Record]) -> str:
    by_operator: dict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        by_operator[record.operator][record.status] += 1
    lines = [f"| operator | {' | '.join(STATUSES)} |", "| --- |" + " --- |" * len(STATUSES)]
    for operator, found in sorted(by_operator.items()):
        lines.append(f"| {operator} | {' | '.join(str(found[status]) for status in STATUSES)} |")
    return "\n".join(lines)
