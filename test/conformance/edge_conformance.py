"""Operators at the edges of their types: python test/conformance/edge_conformance.py --operator Log ...

Every operator of both front ends, in every type, with special values and odd options, against PyTorch, ONNX Runtime and
the reference of ONNX. Prints what is not right, grouped by operator and reason, then the counts. --part 0/4 runs each
fourth group, --forms 3 takes at most three forms of each; --lines FILE keeps every outcome as it comes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from edge_cases import BATCH, DISPUTED, Call, FrontEnd, Group, Make, Record, run_groups
from edge_report import counts, groups_text, read_entries, stale, table_text, unexplained


def front_ends(names: Sequence[str]) -> Iterator[FrontEnd]:
    """In this order PyTorch's allocator and ONNX's schemas are loaded only where they are wanted."""
    if "onnx" in names:
        sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("frontend/onnx", "fuzz")]
        from edge_onnx import OnnxFrontEnd

        yield OnnxFrontEnd()
    if "torch" in names:
        from edge_torch import TorchFrontEnd

        yield TorchFrontEnd()


def chosen(front: FrontEnd, operator: str, types: str) -> list[Group]:
    """Those whose operator has this name, or matches it as a regular expression."""
    groups = [group for group in front.groups() if re.fullmatch(types, group.types)]
    return [group for group in groups if group.operator == operator] or [
        group for group in groups if re.fullmatch(operator, group.operator)
    ]


def run(front: FrontEnd, groups: Sequence[Group], count: int = 1) -> Iterator[Record]:
    """count: how many groups are compiled together."""
    for number, (group, records) in enumerate(run_groups(front, groups, count=count)):
        yield from records
        if sys.stderr.isatty():
            print(
                f"\r{front.name}: {number + 1}/{len(groups)} {group.name[:60]:60}", end="", file=sys.stderr, flush=True
            )


FORMS_OF_SAMPLE = 10
IS_WHOLE = bool(os.environ.get("PERPEND_LONG"))
SEED = os.environ.get("PERPEND_SEED", "1")


def sample(groups: Sequence[Group], parts: int) -> Sequence[Group]:
    """One part of them, and some forms of each; PERPEND_SEED chooses others, PERPEND_LONG all."""
    return groups if IS_WHOLE else with_forms(groups[int(SEED) % parts :: parts], FORMS_OF_SAMPLE)


def with_forms(groups: Sequence[Group], count: int) -> list[Group]:
    """Groups with at most so many calls each, of forms that PERPEND_SEED draws, others for each choice of types."""
    return [replace(each, calls=partial(some, each, count)) for each in groups]


def some(group: Group, count: int) -> dict[str, Make]:
    """As many that make a call, as long as they run in one process."""
    forms, found = group.calls(), []

    def make(form: str) -> Call | None:
        call = forms[form]() if len(found) < count else None
        if call:
            found.append(form)
        return call

    drawn = sorted(forms, key=lambda form: zlib.crc32(f"{SEED} {group.types} {form}".encode()))
    return {form: partial(make, form) for form in drawn}


def complaints(front: FrontEnd, groups: Sequence[Group]) -> list[str]:
    """What no entry explains, and, where all has run, entries that explain nothing."""
    records, entries = list(run(front, groups)), read_entries()
    found = groups_text(unexplained(records, entries)).splitlines()
    if len(records) <= len(groups):
        found.append(f"only {len(records)} cases")
    return found + [f"no longer differs: {entry}" for entry in stale(records, entries) if IS_WHOLE]


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--front", choices=["onnx", "torch", "all"], default="all", help="the front end")
    parser.add_argument("--operator", default=".*", help="its name, or a regular expression for names")
    parser.add_argument("--types", default=".*", help="a regular expression for the types, such as float32")
    parser.add_argument("--part", default="0/1", help="i/n: every n-th group, from the i-th on")
    parser.add_argument("--forms", type=int, metavar="N", help="at most N forms of each group, drawn by PERPEND_SEED")
    parser.add_argument("--sample", type=int, metavar="N", help="as tests do: each N-th group, some forms of it")
    parser.add_argument("--disputed", action="store_true", help="also print where witnesses disagree with each other")
    parser.add_argument("--table", action="store_true", help="also print the counts of each operator")
    parser.add_argument("--lines", type=Path, help="append every outcome to this file, as JSON lines")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)
    first, step = map(int, options.part.split("/"))
    entries, is_right = read_entries(), True
    for front in front_ends(["onnx", "torch"] if options.front == "all" else [options.front]):
        groups = chosen(front, options.operator, options.types)[first::step]
        groups = sample(groups, options.sample) if options.sample else groups
        groups = with_forms(groups, options.forms) if options.forms else groups
        records, start = [], time.monotonic()
        for record in run(front, groups, max(1, BATCH // options.forms) if options.forms else 1):
            records.append(record)
            if options.lines:
                with options.lines.open("a") as file:
                    file.write(json.dumps({"front": front.name, **asdict(record)}) + "\n")
        new, old = unexplained(records, entries), stale(records, entries)
        is_right &= not new
        shown = new + [record for record in records if options.disputed and record.status == DISPUTED]
        print(groups_text(shown))
        print("".join(f"differs nowhere here: {entry}\n" for entry in old), end="")
        if options.table:
            print(table_text(records))
        seconds = time.monotonic() - start
        print(f"{front.name}: {len(groups)} groups, {len(records)} cases in {seconds:.0f} s", end=": ")
        print(f"{counts(records)}; {len(new)} unexplained")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
