"""The table of upper and lower case is Unicode's, as Python knows it."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

TABLE = Path(__file__).resolve().parents[2] / "runtime/library/CaseRanges.def"
ROW = re.compile(r"^TO_(UPPER|LOWER)\((\w+), (\w+), (\d+), (-?\d+)\)$", re.MULTILINE)


def test_case_ranges() -> None:
    for kind, change in (("UPPER", str.upper), ("LOWER", str.lower)):
        table, previous = {}, -1
        for row in ROW.findall(TABLE.read_text()):
            if row[0] != kind:
                continue
            first, last, step, distance = int(row[1], 16), int(row[2], 16), int(row[3]), int(row[4])
            assert previous < first <= last and (last - first) % step == 0
            previous = last
            table.update({code: code + distance for code in range(first, last + 1, step)})
        expected = {code: ord(text) for code in range(0x110000) if len(text := change(chr(code))) == 1}
        changed = {code: other for code, other in expected.items() if code != other}
        if unicodedata.unidata_version == "14.0.0":
            assert table == changed
        else:  # a later version has more
            assert table.items() <= changed.items()
