"""Writes the summary of docs/targets.md, between its markers, from docs/targets.json.

usage: generate_targets.py [--measure] [--suite TARGET OUTCOMES.json ...] [--perpend build/bin/perpend]

--measure compiles the digits example for each target and records its size and the types of its micro-kernels. --suite
records the counts of outcomes that test/conformance/onnx_suite.py --json has written for a target; of several files,
later ones replace the cases of earlier ones. How a target was tested is written by hand. test/docs/test_targets.py
compares the page with the file, and the types with the texts of intrinsics.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/targets.md"
DATA = ROOT / "docs/targets.json"
TEXTS = ROOT / "src/target/cpu/intrinsics"
DIGITS = ROOT / "examples/digits/digits.onnx"
BEGIN, END = "<!-- generated from targets.json by generate_targets.py -->", "<!-- end -->"
RANDOM, LATE = "random values", "hang: not done"  # how reasons of outcomes begin


class Text(NamedTuple):
    """An intrinsic of a text: what it multiplies, and what it needs of a machine."""

    name: str
    factors: str
    unit: str
    features: list[list[str]]  # one of these lists


def lists_of(text: str) -> list[list[str]]:
    """["a"] or [["a", "b"], ["c"]]; a name of an attribute stands for the list behind it."""
    value = json.loads(text)
    return [value] if value and isinstance(value[0], str) else value


def product_of(name: str, left: str, right: str) -> str:
    """Numbers in groups are words of a buffer, whose name says how many bits they have."""
    grouped = re.fullmatch(r"[iu](\d+)\.(?:bytes\.)?(?:\w+\.)*groups", name)
    left = {"ui8": "u8"}.get(left, left)
    return f"{left} x {grouped[1]} bits" if grouped else f"{left} x {right}"


def texts_of(source: str) -> list[Text]:
    aliases = dict(re.findall(r"^#(\w+) = (\[.*?\])$", source, re.M))
    found: dict[str, Text] = {}
    head = r"^func\.func private @(\S+?)\(([^{]*?)\)\s*attributes \{\s*tile\.intrinsic = \{(.*?)\}\s*\}"
    for name, parameters, entries in re.findall(head, source, re.M | re.S):
        types = re.findall(r"x (\w+)>", parameters)
        entries = re.sub(r"#(\w+)", lambda alias: aliases.get(alias[1], alias[0]), entries)
        like = re.search(r'like = "([^"]+)"', entries)
        unit = re.search(r'unit = "(\w+)"', entries)
        features = re.search(r"features = (\[\[.*?\]\]|\[.*?\])", entries, re.S)
        text = Text(name, "", unit[1] if unit else "", lists_of(features[1]) if features else [])
        if not like:
            found[name] = text._replace(factors=product_of(name, types[0], types[1]))
        elif like[1] in found:  # those of other files have the factors of others there, on other units
            other = found[like[1]]
            is_stored = "stored = " in entries  # the other entries are the other's then
            found[name] = Text(
                name,
                other.factors,
                text.unit or (other.unit if is_stored else ""),
                text.features or (other.features if is_stored else []),
            )
    return list(found.values())


class Machine(NamedTuple):
    units: set[str]
    features: set[str]


def machines(perpend: Path) -> dict[str, Machine]:
    """What `perpend targets` says of each target that is a processor."""
    text = subprocess.run([str(perpend), "targets"], capture_output=True, text=True, check=True).stdout
    lines = re.findall(r"^(?!host)([^:\n]+): (.*) isa ([^;\n]*)", text, re.M)
    return {
        name: Machine(set(re.findall(r"unit (\w+)", facts)), set(features.split())) for name, facts, features in lines
    }


def kernels_of(machine: Machine, base: str, texts: list[Text]) -> list[str]:
    """The products for which an intrinsic has code on the machine. `base`: what every machine of its kind has."""
    features = machine.features | {base}

    def fits(text: Text) -> bool:
        return text.unit in machine.units | {""} and (
            not text.features or any(set(needed) <= features for needed in text.features)
        )

    return sorted({text.factors for text in texts if text.factors and fits(text)})


def all_texts() -> list[Text]:
    return [text for path in sorted(TEXTS.glob("*.mlir")) for text in texts_of(path.read_text())]


def size_of(target: str, ending: str, perpend: Path) -> int:
    """Bytes of the digits example for two pictures."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"digits{ending}"
        command = [perpend, "compile", DIGITS, "-o", path, "--target", target, "--dim", "n=2"]
        subprocess.run([str(word) for word in command], check=True, capture_output=True)
        return path.stat().st_size


def counts(paths: list[Path]) -> dict[str, Any]:
    outcomes: dict[str, dict[str, Any]] = {}
    for path in paths:
        for column in json.loads(path.read_text())["columns"].values():
            outcomes |= column
    late = [each for each in outcomes.values() if each["reason"].startswith(LATE)]
    statuses = [each["status"] for each in outcomes.values() if each not in late]
    return {
        "cases": len(outcomes),
        "pass": statuses.count("pass"),
        "refused": statuses.count("unsupported"),
        "late": len(late),
        "wrong": statuses.count("wrong"),
        "date": date.today().isoformat(),
    }


def suite_text(suite: dict[str, Any] | str | None) -> str:
    """A text is written by hand."""
    if not suite or isinstance(suite, str):
        return suite or "not run"
    parts = [f"{suite['pass']:,} of {suite['cases']:,} pass", f"{suite['refused']} refused"]
    parts += [f"{suite['late']} take too long"] if suite["late"] else []
    return ", ".join([*parts, f"{suite['wrong']} wrong" if suite["wrong"] else "none wrong"])


def kernels_text(kernels: list[str]) -> str:
    """f32 x (bf16, f32), i16 x i16"""
    rights: dict[str, list[str]] = {}
    for kernel in kernels:
        left, right = kernel.split(" x ")
        rights.setdefault(left, []).append(right)
    texts = [f"{left} x {each[0] if len(each) == 1 else '(' + ', '.join(each) + ')'}" for left, each in rights.items()]
    return ", ".join(texts) or "none: scalar code"


def summary(data: dict[str, Any]) -> str:
    lines = [
        "| target | official ONNX suite | micro-kernels of | digits, bytes | tested by |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in data["targets"]:
        size = f"{row['bytes']:,} (`{row['ending']}`)"
        kernels = kernels_text(row["kernels"])
        lines.append(f"| `{row['target']}` | {suite_text(row.get('suite'))} | {kernels} | {size} | {row['tested']} |")
    return "\n".join(lines)


def page(text: str, data: dict[str, Any]) -> str:
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"error: {PAGE.name} has no '{BEGIN}' with '{END}' behind it")
    return f"{before}{begin}\n{summary(data)}\n{end}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="record sizes and micro-kernels")
    parser.add_argument("--suite", nargs="+", action="append", default=[], metavar=("TARGET", "OUTCOMES.json"))
    parser.add_argument("--perpend", type=Path, default=ROOT / "build/bin/perpend")
    options = parser.parse_args()
    data = json.loads(DATA.read_text())
    rows = {row["target"]: row for row in data["targets"]}
    for target, *paths in options.suite:
        if target not in rows or not paths:
            parser.error(f"--suite: expected one of {', '.join(rows)} and files of outcomes")
        rows[target]["suite"] = counts([Path(path) for path in paths])
    if options.measure:
        known, texts = machines(options.perpend), all_texts()
        for target, row in rows.items():
            row["bytes"] = size_of(target, row["ending"], options.perpend)
            row["kernels"] = kernels_of(known[target], row["base"], texts)
    DATA.write_text(json.dumps(data, indent=1) + "\n")
    PAGE.write_text(page(PAGE.read_text(), data))


if __name__ == "__main__":
    main()
