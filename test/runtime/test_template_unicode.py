"""The tables of characters for chat templates are Unicode's, as Python knows it."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "runtime/template"
IS_SAME_VERSION = unicodedata.unidata_version == "14.0.0"
CHARACTERS = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]


def test_special_cases() -> None:
    rows = re.findall(r'^SPECIAL\((\w+), (\w+), "([^"]*)"\)$', (FOLDER / "SpecialCases.def").read_text(), re.MULTILINE)
    table = {(kind, int(code, 16)): bytes.fromhex(text.replace("\\x", "")).decode() for kind, code, text in rows}
    expected = {("UPPER", ord(c)): c.upper() for c in CHARACTERS if len(c.upper()) > 1}
    expected |= {("LOWER", ord(c)): c.lower() for c in CHARACTERS if len(c.lower()) > 1}
    expected |= {("TITLE", ord(c)): c.title() for c in CHARACTERS if c.title() != c.upper()}
    assert table == expected if IS_SAME_VERSION else table.items() <= expected.items()


def test_unprintable() -> None:
    ranges = re.findall(r"UNPRINTABLE\((0x\w+), (0x\w+)\)", (FOLDER / "Unprintable.def").read_text())
    bounds = [(int(first, 16), int(last, 16)) for first, last in ranges]
    assert all(a[1] < b[0] for a, b in pairwise(bounds))
    table = {code for first, last in bounds for code in range(first, last + 1)}
    expected = {code for code in range(0x110000) if not chr(code).isprintable()}
    assert table == expected if IS_SAME_VERSION else table >= expected
