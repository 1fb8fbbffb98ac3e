"""Times tokens of language models over the number of tokens before them, fits both, and writes JSON, a page and a plot.

usage: language_models.py NAME=CHECKPOINT ... [--lengths 16,64,256] [--threads 1] [--turns 5] [--out FOLDER]

With a cache a token costs a + b L after L others: the model's own work, and attention's. Without one each token
computes the whole text anew, c L + d L^2, so that a text of N tokens costs c N^2 / 2 + d N^3 / 3. Lengths take turns,
so that a slowdown of the machine affects all of them; each time is the shortest of the turns.
"""

import argparse
import datetime
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import perpend
import turns
from numpy.typing import NDArray

Result = dict[str, Any]


class Fit(NamedTuple):
    """first * L^p + second * L^(p + 1) seconds; and the largest distance of a time from that, as a share."""

    first: float
    second: float
    distance: float


def fit(lengths: Sequence[int], seconds: Sequence[float], power: int) -> Fit:
    """Least squares of relative distances."""
    extents, times = np.asarray(lengths, np.float64), np.asarray(seconds, np.float64)
    terms = np.stack([extents**power, extents ** (power + 1)], 1)
    (first, second), *_ = np.linalg.lstsq(terms / times[:, None], np.ones(len(times)), rcond=None)
    distance = np.abs(terms @ np.array([first, second]) / times - 1).max()
    return Fit(float(first), float(second), float(distance))


def seconds_of(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


class Models:
    """A checkpoint, compiled with a cache for one token a run, and without one for whole texts."""

    def __init__(self, checkpoint: Path, longest: int, threads: int) -> None:
        options: dict[str, Any] = {"cache": longest + 1, "batch_invariant": True, "threads": threads}
        self.single = perpend.compile(checkpoint, dims={"n": 1}, **options)
        self.whole = perpend.compile(checkpoint, dims={"batch": 1}, threads=threads)
        self.tokens: NDArray[np.int64] = np.random.default_rng(0).integers(3, 64, longest + 1)
        chunks = perpend.compile(checkpoint, **options)
        chunks(self.tokens[:longest])
        self.saved = chunks.save_states()

    def with_cache(self, length: int) -> float:
        """The shortest of three: the first one finds its rows, which were just written, elsewhere."""
        self.single.load_states(self.saved)
        times = []
        for _ in range(3):
            self.single.truncate(length)
            times.append(seconds_of(lambda: self.single(self.tokens[length : length + 1])))
        return min(times)

    def without(self, length: int) -> float:
        return seconds_of(lambda: self.whole(self.tokens[None, :length]))


def measure(name: str, checkpoint: Path, options: argparse.Namespace) -> Result:
    models = Models(checkpoint, max(options.lengths), options.threads)
    ways = {"with": models.with_cache, "without": models.without}
    least = {way: dict.fromkeys(options.lengths, float("inf")) for way in ways}
    for turn in range(options.turns):
        for length in options.lengths:
            turns.print_progress(f"{name}: turn {turn + 1} of {options.turns}, {length} tokens")
            for way, run in ways.items():
                least[way][length] = min(least[way][length], run(length))
    turns.print_progress("")
    result: Result = {"name": name, "threads": options.threads, "lengths": options.lengths}
    for power, way in enumerate(ways):
        times = [least[way][length] for length in options.lengths]
        result[way] = {"seconds": times} | fit(options.lengths, times, power)._asdict()
    return result


def rows(result: Result) -> list[str]:
    with_cache, without = result["with"], result["without"]
    lines = ["", f"## {result['name']}, {result['threads']} thread{'s' if result['threads'] != 1 else ''}", ""]
    lines += ["| tokens before | with the cache, ms | fitted | without, ms | fitted |", "|---|---|---|---|---|"]
    for number, length in enumerate(result["lengths"]):
        fitted = with_cache["first"] + with_cache["second"] * length
        other = without["first"] * length + without["second"] * length**2
        times = (with_cache["seconds"][number], fitted, without["seconds"][number], other)
        lines.append(f"| {length} | " + " | ".join(f"{1000 * each:.4g}" for each in times) + " |")
    lines += [
        "",
        f"With: {1e6 * with_cache['first']:.4g} us + {1e6 * with_cache['second']:.4g} us for each token before; times "
        f"are within {100 * with_cache['distance']:.0f} % of that. Without: {1e6 * without['first']:.4g} us L + "
        f"{1e6 * without['second']:.4g} us L^2; within {100 * without['distance']:.0f} %. A text of N tokens costs "
        f"{1e6 * with_cache['first']:.4g} N + {1e6 * with_cache['second'] / 2:.4g} N^2 us with the cache, and "
        f"{1e6 * without['first'] / 2:.4g} N^2 + {1e6 * without['second'] / 3:.4g} N^3 us without.",
    ]
    return lines


def markdown(results: Sequence[Result], facts: Result) -> str:
    lines = [
        "# Tokens of language models over the tokens before them",
        "",
        f"Written by `{facts['command']}`, {facts['date']}.",
        f"Processor: {facts['processor']}. Load of the machine before the run: {facts['load']:.1f}."
        + (f" {facts['note']}" if facts["note"] else ""),
        "",
        "Time of one token, the shortest of some turns: after so many others in the cache, and where the whole text is",
        "computed anew. Fitted by least squares of relative distances.",
    ]
    lines += ["", "![Time of a token over the tokens before it, both ways](llm.svg)"]
    for result in results:
        lines += rows(result)
    return "\n".join(lines) + "\n"


def plot(results: Sequence[Result], path: Path) -> None:
    """One panel per model: seconds of a token over the tokens before it, as measured (points) and as fitted (lines)."""
    from matplotlib import pyplot

    pyplot.rcParams["svg.hashsalt"] = "llm"  # the same file for the same numbers
    figure, panels = pyplot.subplots(1, len(results), figsize=(5 * len(results), 3.6), squeeze=False)
    for panel, result in zip(panels[0], results, strict=True):
        lengths = np.linspace(result["lengths"][0], result["lengths"][-1], 200)
        for power, (way, label) in enumerate({"with": "with the cache", "without": "without"}.items()):
            fitted = result[way]["first"] * lengths**power + result[way]["second"] * lengths ** (power + 1)
            (line,) = panel.plot(lengths, 1000 * fitted, label=label)
            panel.plot(result["lengths"], 1000 * np.asarray(result[way]["seconds"]), "o", color=line.get_color())
        panel.set(title=result["name"], xlabel="tokens before", ylabel="ms per token", yscale="log")
        panel.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="NAME=CHECKPOINT")
    parser.add_argument("--lengths", default="16,64,128,256,384,512")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    parser.add_argument("--note", default="", help="what else the page says of the machine")
    options = parser.parse_args(arguments)
    options.models = [model.partition("=")[::2] for model in options.models]
    options.lengths = sorted({int(length) for length in options.lengths.split(",")})
    if len(options.lengths) < 3 or options.lengths[0] < 1 or not all(path for _, path in options.models):
        parser.error("expected NAME=CHECKPOINT, and at least three lengths above 0")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    facts: Result = {
        "command": f"bench/{Path(__file__).name} " + " ".join(f"{n}={Path(path).name}" for n, path in options.models),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": turns.processor(),
        "load": os.getloadavg()[0],
        "note": options.note,
    }
    results = [measure(name, Path(path), options) for name, path in options.models]
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "llm.json").write_text(json.dumps(facts | {"models": results}, indent=1) + "\n")
    (options.out / "llm.md").write_text(markdown(results, facts))
    plot(results, options.out / "llm.svg")
    print(markdown(results, facts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
