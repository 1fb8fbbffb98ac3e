"""Times single operators against eager PyTorch and ONNX Runtime, in turns, and writes JSON and a Markdown table.

usage: operators.py [--only TEXT] [--family NAME] [--resume] [--out FOLDER]

The rows are in operator_rows.py, operator_relatives.py and operator_products.py, the reasons of slow ones in
operator_reasons.py. Each engine is one process with one thread. For each row the engines take turns; the
time of an engine is the shortest of its runs, since other programs on the machine only add to it. The results of the
first turn are compared with eager PyTorch's. Rows in which Perpend seems slower get more turns. The JSON file is
written after each row: --resume keeps the rows that it has, but measures those again that --only or --family names.
"""

import argparse
import datetime
import importlib.metadata
import json
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import models
import numpy as np
import turns
from operator_products import ROWS
from operator_reasons import REASONS
from operator_rows import Row

WORKER = Path(__file__).with_name("operator_worker.py")
PEERS = ("torch", "onnxruntime")
TURNS, AGAIN = 4, 12  # of a row, and of one that is doubtful
FILL_S, PAUSE_S = 0.025, 0.002
LIMIT_S = 60.0  # of one answer
DOUBTFUL, SLOW = 1.1, 1.2  # times of Perpend over a peer's
FEW = " °"  # marks rows of fewer turns
TOLERANCES = {"bf16": 0.03, "f16": 4e-3, "f64": 1e-7}
Result = dict[str, Any]


class Engine:
    """One worker process, which is started again after it died."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.outputs, self.log = name, folder / f"{name}.npz", folder / f"{name}.log"
        self.process: subprocess.Popen[str] | None = None

    def ask(self, **request: Any) -> Result:
        if self.process is None:
            with self.log.open("w") as log:
                self.process = subprocess.Popen(
                    [sys.executable, WORKER, self.name],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], LIMIT_S)[0]:
            self.close()
            return {"error": f"no answer within {LIMIT_S:.0f} s"}
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            self.close()
            return {"error": f"ended with status {status}"}
        answer: Result = json.loads(line)
        return answer

    def results(self) -> turns.Arrays:
        with np.load(self.outputs) as arrays:
            return [arrays[name] for name in arrays.files]

    def close(self) -> None:
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        self.process = None


def tolerance_of(row: Row) -> float:
    return row.tolerance or TOLERANCES.get(row.operands[0].type, 1e-4)


def problem(row: Row, found: turns.Arrays, expected: turns.Arrays) -> str | None:
    """How results differ from eager PyTorch's."""
    places = range(len(found)) if row.compared is None else row.compared
    deviation = turns.largest_deviation([found[i] for i in places], [expected[i] for i in places])
    return f"wrong ({deviation.largest:.0e})" if deviation.excess > tolerance_of(row) else None


class Measurement:
    """One row in all engines."""

    def __init__(self, number: int, engines: Sequence[Engine]) -> None:
        self.row = ROWS[number]
        self.engines = [engine for engine in engines if engine.name != "onnxruntime" or self.row.node]
        self.result: Result = {"family": self.row.family, "name": self.row.name, "key": self.row.key}
        self.result |= {"least_s": {}, "errors": {}, "turns": 0, "date": datetime.date.today().isoformat()}
        for engine in self.engines:
            self.note(engine, engine.ask(load=number), "ready")

    def note(self, engine: Engine, answer: Result, what: str) -> None:
        if "error" in answer:
            self.result["errors"][engine.name] = answer["error"]
            self.result["least_s"].pop(engine.name, None)
        elif what == "ready":
            self.result.setdefault("load_s", {})[engine.name] = answer["ready"]
        elif what == "least":
            least = self.result["least_s"]
            least[engine.name] = min(answer["least"], least.get(engine.name, answer["least"]))

    def running(self) -> list[Engine]:
        return [engine for engine in self.engines if engine.name not in self.result["errors"]]

    def take_turns(self, count: int, fill_s: float) -> None:
        for _ in range(count):
            self.result["turns"] += 1
            for engine in self.running():
                time.sleep(PAUSE_S)
                self.note(engine, engine.ask(fill=fill_s), "least")

    def compare(self) -> None:
        for engine in self.running():
            self.note(engine, engine.ask(outputs=str(engine.outputs)), "results")
        if not (running := self.running()) or running[0].name != PEERS[0]:
            return
        expected = running[0].results()
        for engine in running[1:]:
            if wrong := problem(self.row, engine.results(), expected):
                self.note(engine, {"error": wrong}, "results")

    def leave_reference(self) -> None:
        """Without an operator of PyTorch, its function says what is right, and nothing about times."""
        if self.row.is_imported:
            self.engines = [engine for engine in self.engines if engine.name != PEERS[0]]
            self.result["least_s"].pop(PEERS[0], None)


def quotient(result: Result, peer: str) -> float | None:
    """Perpend's time over a peer's."""
    times = result["least_s"]
    return times["perpend"] / times[peer] if "perpend" in times and peer in times else None


def worst(result: Result) -> float | None:
    found = [value for peer in PEERS if (value := quotient(result, peer))]
    return max(found) if found else None


def cell(result: Result, engine: str) -> str:
    if engine in result["least_s"]:
        return f"{result['least_s'][engine] * 1e3:.4g}"
    error = result["errors"].get(engine)
    return "—" if not error else error if error.startswith("wrong") else "fails"


def marked(value: float | None) -> str:
    if value is None:
        return "—"
    return f"**{value:.2f}**" if value > SLOW else f"{value:.2f}"


def lines_of(result: Result) -> str:
    note = REASONS.get((result["family"], result["key"]), "") if (worst(result) or 0) > SLOW else ""
    key = result["key"] + (FEW if result.get("turns", TURNS) < TURNS else "")
    cells = [key, *(cell(result, engine) for engine in ("perpend", *PEERS))]
    return "| " + " | ".join([*cells, *(marked(quotient(result, peer)) for peer in PEERS), note]) + " |"


def summary(results: list[Result]) -> list[str]:
    lines = []
    for peer, title in zip(PEERS, ("PyTorch", "ONNX Runtime"), strict=True):
        values = [value for result in results if (value := quotient(result, peer))]
        if values:
            slow, mean = sum(value > SLOW for value in values), statistics.geometric_mean(values)
            lines.append(
                f"- Against {title}: {mean:.2f} of its time in geometric mean over {len(values)} rows; "
                f"{slow} above {SLOW}."
            )
    failed = [result for result in results if "perpend" in result["errors"]]
    lines += [f"- {result['key']}: {result['errors']['perpend'].splitlines()[0]}" for result in failed]
    return lines


def others(results: list[Result]) -> list[str]:
    """What differs between rows, and what is missing."""
    lines = []
    if any(result.get("turns", TURNS) < TURNS for result in results):
        lines.append(f"Rows with{FEW} were measured in fewer than {TURNS} turns.")
    days = sorted({result["date"] for result in results if "date" in result})
    if len(days) > 1:
        lines.append(f"Rows are of {', '.join(days)}: see the JSON file.")
    if len(results) < len(ROWS):
        lines.append(f"{len(ROWS) - len(results)} of {len(ROWS)} rows are not measured.")
    return lines


def markdown(results: list[Result], machine: Result) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    lines = [
        "# Single operators",
        "",
        f"Written by `{machine['command']}`, {machine['date']}.",
        f"Processor: {machine['processor']}. Versions: {versions}. One thread.",
        "Times in ms, the shortest run of each engine, measured in turns. Ratios: Perpend's time over the peer's;",
        f"below 1 is faster, above {SLOW} is bold. PyTorch runs eagerly; ONNX Runtime where it has the operator.",
        *others(results),
        "",
        *summary(results),
        "",
    ]
    for family in dict.fromkeys(result["family"] for result in results):
        lines += [f"## {family}", "", "| operator | Perpend | PyTorch | ONNX Runtime | / PyTorch | / ONNX Runtime | |"]
        lines += ["|---|---|---|---|---|---|---|"]
        lines += [lines_of(result) for result in results if result["family"] == family] + [""]
    return "\n".join(lines)


def write(results: list[Result], options: argparse.Namespace) -> None:
    order = {(row.family, row.key): number for number, row in enumerate(ROWS)}
    results.sort(key=lambda result: order[result["family"], result["key"]])
    machine = {
        "processor": turns.processor(),
        "versions": {name: importlib.metadata.version(name) for name in PEERS},
        "command": turns.command_line(),
        "date": datetime.date.today().isoformat(),
    }
    options.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"machine": machine, "rows": results}, indent=1)
    (options.out / f"{options.name}.json").write_text(text + "\n")
    (options.out / f"{options.name}.md").write_text(markdown(results, machine))


def known(options: argparse.Namespace) -> list[Result]:
    """Results of an earlier run, of rows that still exist."""
    file = options.out / f"{options.name}.json"
    if not options.resume or not file.exists():
        return []
    keys = {(row.family, row.key) for row in ROWS}
    found: list[Result] = json.loads(file.read_text())["rows"]
    return [result for result in found if (result["family"], result["key"]) in keys]


def measure(numbers: Sequence[int], results: list[Result], options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        engines = [Engine(name, Path(folder)) for name in (PEERS[0], "perpend", *PEERS[1:])]
        try:
            for done, number in enumerate(numbers, 1):
                row = ROWS[number]
                measurement = Measurement(number, engines)
                measurement.take_turns(1, options.fill)
                measurement.compare()
                measurement.leave_reference()
                measurement.take_turns(TURNS - 1, options.fill)
                if (worst(measurement.result) or 0) > DOUBTFUL:
                    measurement.take_turns(AGAIN, options.fill)
                results[:] = [r for r in results if (r["family"], r["key"]) != (row.family, row.key)]
                results.append(measurement.result)
                write(results, options)
                ratio = marked(worst(measurement.result))
                errors = "; ".join(f"{name}: {text}" for name, text in measurement.result["errors"].items())
                print(f"[{done}/{len(numbers)}] {row.key}: {ratio} {errors}".rstrip(), file=sys.stderr, flush=True)
        finally:
            for engine in engines:
                engine.close()


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    families = list(dict.fromkeys(row.family for row in ROWS))
    parser = argparse.ArgumentParser(prog="operators.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name, types and shapes have TEXT")
    parser.add_argument("--family", default="", help=f"one of {', '.join(families)}")
    parser.add_argument("--slow", action="store_true", help=f"rows of the earlier run above {SLOW}, or that failed")
    parser.add_argument("--resume", action="store_true", help="keep the rows of NAME.json, and measure the others")
    parser.add_argument("--fill", type=float, default=FILL_S, metavar="SECONDS", help="of one turn")
    parser.add_argument("--out", type=Path, default=models.ROOT / "build" / "bench", help="for NAME.json and NAME.md")
    parser.add_argument("--name", default="operators", help="of the two files")
    options = parser.parse_args(arguments)
    if options.family and options.family not in families:
        parser.error(f"--family: no '{options.family}'; there are {', '.join(families)}")
    options.resume |= options.slow
    return options


def chosen(options: argparse.Namespace, results: Sequence[Result]) -> list[int]:
    """Numbers of the rows to measure."""
    isolated = bool(options.only or options.family)
    have = {(result["family"], result["key"]): result for result in results}

    def wants(row: Row) -> bool:
        if options.only not in row.key or options.family not in ("", row.family):
            return False
        result = have.get((row.family, row.key))
        if options.slow:
            return result is not None and ((worst(result) or 0) > SLOW or "perpend" in result["errors"])
        return isolated or result is None

    return [number for number, row in enumerate(ROWS) if wants(row)]


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    models.require_perpend()
    results = known(options)
    measure(chosen(options, results), results, options)
    write(results, options)
    print("\n".join(summary(results)))
    return 1 if any("perpend" in result["errors"] for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
