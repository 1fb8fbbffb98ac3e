"""docs/onnx-runtime-operators.md against the registry of the ONNX Runtime that is installed, and against the table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from onnxruntime.capi import onnxruntime_pybind11_state

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs/onnx-runtime-operators.md"


def registered(domain: str) -> set[str]:
    schemas = onnxruntime_pybind11_state.get_all_operator_schema()
    return {schema.name for schema in schemas if schema.domain == domain}


def imported(domain: str) -> set[str]:
    rows = "".join(path.read_text() for path in (ROOT / "src/frontend/onnx").rglob("*.def"))
    return set(re.findall(rf'ONNX_\w+\("{re.escape(domain)}", "(\w+)"', rows))


def test_the_page_names_the_operators_that_are_missing() -> None:
    table = PAGE.read_text().split("| not supported |")[1].split("\n\n")[0]
    named = [name for row in table.splitlines()[2:] for name in row.split("|")[1].replace(" ", "").split(",")]
    missing = registered("com.microsoft") - imported("com.microsoft")
    assert sorted(named) == sorted(missing)
    counts = [int(number) for number in re.findall(r"\d+", PAGE.read_text().split("has ")[1])[:2]]
    assert counts == [len(registered("com.microsoft")), len(registered("com.microsoft") - missing)]


@pytest.mark.parametrize("domain", ["ai.onnx.ml"])
def test_nothing_is_missing(domain: str) -> None:
    assert registered(domain) <= imported(domain)


def test_the_status_page_counts_them() -> None:
    count = re.search(r"(\d+) of `com.microsoft`", (ROOT / "docs/status.md").read_text())
    assert count and int(count[1]) == len(imported("com.microsoft"))
