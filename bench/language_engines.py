"""Times language models in Perpend and llama.cpp, one worker process each, in turns; writes JSON and a page.

usage: language_engines.py MODEL ... [--peer PYTHON] [--precisions f32,int8]
       [--work prefill:128,decode:16] [--threads 1]

MODEL: NAME=FILE.gguf, or the name of a random checkpoint (language_checkpoints.py), such as 1.1B-q4_0.
PYTHON: the interpreter of an environment that has llama-cpp-python; without it, Perpend's precisions are compared.
A deviation is that of the last token's logits from Perpend's in f32, relative to the largest of these. llama.cpp rounds
rows to bytes for weights of bytes and less, and to bf16 for those of bf16, so it has one, too. All have the same type
of cache. GB/s: the bytes of the file that a token reads over its time, unless the file has experts; beside it, the
part of what a thread gets that only reads as many bytes, in turns with the others. Files of weights
are out of the system's cache before the engines load them, as after a start of the machine: how they come there, in
small pages or large ones, decides how fast they are read.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import perpend.llm
import turns
from kernels import CLANG, measured_peaks
from language_checkpoints import bytes_of_token, write_checkpoint
from turns import Arrays, Candidate, Timing

WORKER = Path(__file__).with_name("language_worker.py")
PEER = "llama.cpp"
MEMORY = "memory alone"


class Task(NamedTuple):
    kind: str  # prefill or decode
    tokens: int  # of a run
    threads: int

    def __str__(self) -> str:
        return f"{self.kind} {self.tokens}, {self.threads} thread{'s' if self.threads != 1 else ''}"


class Row(NamedTuple):
    task: Task
    timings: dict[str, Timing]

    def tokens_per_second(self, engine: str) -> float:
        return self.task.tokens / self.timings[engine].median_s

    def part_of_memory(self, engine: str) -> str:
        """The time of reading alone over that of a token."""
        memory = self.timings.get(MEMORY)
        token = self.timings[engine].median_s / self.task.tokens
        return f"{memory.median_s / token:.2f}" if memory and not memory.error else ""

    def against_peer(self, engine: str) -> str:
        peer = self.timings.get(PEER)
        return str(turns.ratio(peer, self.timings[engine])) if peer and not peer.error else ""


def parse_work(text: str) -> tuple[str, int]:
    kind, _, count = text.partition(":")
    if kind not in ("prefill", "decode") or not count.isdigit() or count == "0":
        raise argparse.ArgumentTypeError(f"expected prefill:COUNT or decode:COUNT, got '{text}'")
    return kind, int(count)


def compiled(checkpoint: Path, precision: str, options: argparse.Namespace) -> Path:
    """What an earlier call has made, if neither the checkpoint nor the compiler is newer."""
    path: Path = options.out / f"{checkpoint.stem}-{precision}-{options.cache_type}.so"
    newest = max(Path(source).stat().st_mtime for source in (checkpoint, perpend._perpend.__file__))
    if path.exists() and path.stat().st_mtime > newest:
        return path
    turns.print_progress(f"compiling {path.name}")
    perpend.llm.compile(checkpoint, path, context=options.context, cache_type=options.cache_type, precision=precision)
    return path


def candidates(models: dict[str, Path], checkpoint: Path, task: Task, options: argparse.Namespace) -> list[Candidate]:
    def command(python: str, engine: str, model: Path) -> list[str]:
        numbers = [str(number) for number in (task.tokens, options.before, task.threads)]
        return [python, str(WORKER), engine, str(model), task.kind, *numbers, options.cache_type]

    found = [Candidate(name, command(sys.executable, "perpend", path)) for name, path in models.items()]
    if options.peer:
        found.append(Candidate(PEER, command(options.peer, PEER, checkpoint)))
    size = bytes_of_token(checkpoint)
    if task.kind == "decode" and size and task.threads == 1:
        reader = [sys.executable, str(WORKER), "memory", str(memory_library(options.out)), str(size)]
        found.append(Candidate(MEMORY, reader))
    return found


def forget(path: Path) -> None:
    """Takes a file out of the system's cache. Nothing, if a process has mapped it."""
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


def memory_library(folder: Path) -> Path:
    library = folder.resolve() / "read_memory.so"
    source = WORKER.with_name("read_memory.c")
    subprocess.run([CLANG, "-O2", "-march=native", "-shared", "-fPIC", source, "-o", library], check=True)
    return library


def measure(checkpoint: Path, options: argparse.Namespace) -> list[Row]:
    default = ["f32", "bf16" if checkpoint.stem.endswith("bf16") else "int8"]
    models = {f"perpend {each}": compiled(checkpoint, each, options) for each in options.precisions or default}
    rows: list[Row] = []
    if options.prepare:
        return rows
    for threads in options.threads:
        for kind, count in options.work:
            task = Task(kind, count, threads)
            reference: list[Arrays] = []

            def deviation(outputs: Arrays, reference: list[Arrays] = reference) -> turns.Deviation:
                if outputs[0].dtype == np.uint64:  # what memory holds
                    return turns.Deviation()
                reference = reference or reference.__iadd__([outputs])  # the first candidate's
                return turns.largest_deviation(outputs, reference[0])

            for path in [checkpoint, *models.values()]:
                for file in (path, path.with_suffix(".weights")):
                    if file.exists():
                        forget(file)
            timings = turns.measure(
                candidates(models, checkpoint, task, options), deviation, options.turns, options.fill,
                progress=lambda text, task=task: turns.print_progress(f"{checkpoint.stem}: {task}: {text}"),  # type: ignore[misc]
            )  # fmt: skip
            rows.append(Row(task, timings))
    return rows


def page_of(checkpoint: Path, rows: Sequence[Row]) -> list[str]:
    lines = [f"## {checkpoint.stem}, {checkpoint.stat().st_size / 1e6:.0f} MB", ""]
    size = bytes_of_token(checkpoint)
    lines += [
        "| work | engine | tokens/s | GB/s | of memory's | llama.cpp's time over this | deviation |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        for engine, timing in row.timings.items():
            if timing.error:
                lines.append(f"| {row.task} | {engine} | {timing.error} | | | | |")
                continue
            if engine == MEMORY:
                lines.append(f"| {row.task} | {engine} | | {(size or 0) / timing.median_s / 1e9:.1f} | | | |")
                continue
            speed = row.tokens_per_second(engine)
            read = f"{speed * size / 1e9:.1f}" if row.task.kind == "decode" and size else ""
            part = row.part_of_memory(engine) if read else ""
            versus = row.against_peer(engine) if engine != PEER else ""
            lines.append(
                f"| {row.task} | {engine} | {speed:.1f} | {read} | {part} | {versus} | {timing.deviation:.1e} |"
            )
    return [*lines, ""]


def json_of(checkpoint: Path, rows: Sequence[Row]) -> dict[str, Any]:
    measured = []
    for row in rows:
        for engine, timing in row.timings.items():
            numbers = {"turns_s": timing.turns_s, "deviation": timing.deviation, "error": timing.error}
            measured.append(row.task._asdict() | {"engine": engine} | numbers)
    return {"model": checkpoint.stem, "bytes": checkpoint.stat().st_size, "rows": measured}


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--peer", default="", metavar="PYTHON")
    parser.add_argument("--precisions", default="", help="default: f32, and that of the other engine's rows")
    parser.add_argument("--work", default="prefill:128,prefill:1024,decode:16")
    parser.add_argument("--before", type=int, default=128, help="tokens in the cache before decoding (default 128)")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--cache-type", default="f32")
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--fill", type=float, default=0.5, help="seconds of a turn, at least one run")
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    parser.add_argument("--json", type=Path, help="where the numbers go (default: llm-engines.json in --out)")
    parser.add_argument("--prepare", action="store_true", help="only compile the models, for a later call")
    parser.add_argument("--note", default="", help="what else the page says of the machine")
    options = parser.parse_args(arguments)
    try:
        options.work = [parse_work(text) for text in options.work.split(",")]
        options.threads = [int(count) for count in options.threads.split(",")]
    except (ValueError, argparse.ArgumentTypeError) as error:
        parser.error(str(error))
    options.precisions = [each for each in options.precisions.split(",") if each]
    return options


def checkpoint_of(model: str, folder: Path) -> Path:
    name, is_file, path = model.partition("=")
    if not is_file:
        return write_checkpoint(name, folder)
    link = folder / f"{name}.gguf"
    folder.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(Path(path).resolve())
    return link


def version_of_peer(python: str) -> str:
    code = "import importlib.metadata as m; print(m.version('llama_cpp_python'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    load, peaks = os.getloadavg()[0], measured_peaks(options.out)
    checkpoints = [checkpoint_of(model, options.out / "checkpoints") for model in options.models]
    facts: dict[str, Any] = {
        "command": f"bench/{Path(__file__).name} " + " ".join(path.stem for path in checkpoints),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": turns.processor(),
        "load": load,
        "note": options.note,
        "bytes_per_second": peaks["bytes"],
        "peer": f"llama-cpp-python {version_of_peer(options.peer)}" if options.peer else "",
    }
    results = [(path, measure(path, options)) for path in checkpoints]
    turns.print_progress("")
    lines = [
        "# Language models against llama.cpp",
        "",
        f"Written by `{facts['command']}`, {facts['date']}. {facts['peer']}, caches of {options.cache_type}.",
        f"Processor: {facts['processor']}, which reads {peaks['bytes'] / 1e9:.1f} GB/s with one thread. Load of the",
        f"machine before the run: {load:.1f}. {facts['note']}".rstrip(),
        "",
        "Files of weights were out of the system's cache before the engines loaded them. "
        "Medians of turns; behind the ratio, the lowest and highest of single turns. Decoding is behind "
        f"{options.before} others.",
        "",
    ]
    for path, rows in results:
        lines += page_of(path, rows)
    page = "\n".join(lines)
    (options.out / "llm-engines.md").write_text(page)
    written = json.dumps(facts | {"models": [json_of(path, rows) for path, rows in results]}, indent=1)
    (options.json or options.out / "llm-engines.json").write_text(written + "\n")
    print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
