"""What each decision of the compiler for Quoin is worth, and how cycles grow with the batch:
python bench/quoin_ablation.py

Writes docs/quoin/decisions.md, and the same numbers as JSON beside it. Each network is compiled once with everything
and once without each decision (`--target quoin:c8,-parts`). What is in the JSON is not measured again, so that a run
that was ended goes on; with another compiler than it had, everything is. All cycles come from the simulator's own
model (quoin-sim --mode=time).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import quoin
import quoin_networks

PAGE = quoin.ROOT / "docs" / "quoin" / "decisions.md"
REPORT = PAGE.with_suffix(".json")
DECISIONS = {
    "parts": "chains of kernels run for a part of the batch, so that values between them fit LLB",
    "residency": "values lie in LLB where they fit",
    "sharing": "results lie in LLB where operands did that are read no later",
    "ahead": "what later steps read comes to LLB while cores compute",
    "staging": "operands that all cores read come to LLB once",
    "pieces": "steps with large constants run piece by piece along them",
    "chains": "rows of a chain of nests (softmax, normalisation) stay in L1 from nest to nest",
    "epilogues": "a nest that only reads a reduction's results is part of that",
    "prologues": "what is computed of a product's left factor is part of the product",
    "windows": "units skip what is outside of an image, instead of a copy with a border",
    "cores": "nests are divided among the eight cores",
}
OVERLAP = "overlap"  # not the compiler's: the simulator lets units of a core work one at a time
BATCHES = (1, 2, 4, 8, 16, 32, 64)
SWEPT = ("ResNet-50", "BERT-base")
GRAPH = ("ahead", "parts", "residency")  # decisions about the graph, not about a kernel

BATCHES_TEXT = (
    "## Batches",
    "",
    "The cycles of a whole batch are the latency of each of its results.",
    f"Decisions about the graph are {', '.join(f'`{name}`' for name in GRAPH)}.",
    "",
)


class Measurements:
    """Cycles by network, batch and what is left out; kept in a file."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.compiler = hashlib.sha256((quoin.BUILD / "bin" / "perpend").read_bytes()).hexdigest()
        earlier = json.loads(REPORT.read_text()) if REPORT.exists() else {}
        same = earlier.get("compiler") == self.compiler
        self.known: dict[str, int | None] = earlier["cycles"] if same else {}

    def cycles(self, name: str, batch: int, *left_out: str) -> int | None:
        """None: compiling or simulating takes too long."""
        key = "/".join([name, str(batch), *sorted(left_out)])
        if key not in self.known:
            self.known[key] = self._measure(name, batch, left_out)
            REPORT.write_text(json.dumps({"compiler": self.compiler, "cycles": self.known}, indent=1))
            print(key, self.known[key], flush=True)
        return self.known[key]

    def _measure(self, name: str, batch: int, left_out: tuple[str, ...]) -> int | None:
        decisions = [f",-{each}" for each in sorted(left_out) if each != OVERLAP]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "program.qn"
            command = [sys.executable, __file__, "--compile", name, str(batch), "quoin:c8" + "".join(decisions)]
            try:
                subprocess.run([*command, str(path)], check=True, capture_output=True, timeout=self.limit)
            except subprocess.TimeoutExpired:
                return None
            return quoin.cycles_of(path, self.limit, *(["--serial"] if OVERLAP in left_out else []))


def ratio(cycles: int | None, whole: int | None) -> str:
    return f"{cycles / whole:.2f}" if cycles and whole else "-"


def ablation(measured: Measurements, networks: list[str]) -> list[str]:
    names = [*DECISIONS, OVERLAP]
    lines = [
        f"| network | batch | cycles | {' | '.join(names)} |",
        "|---|---|---|" + "---|" * len(names),
    ]
    ratios: dict[str, list[float]] = {name: [] for name in names}
    for network in networks:
        batch = quoin_networks.BATCHES[network]
        whole = measured.cycles(network, batch)
        cells = []
        for name in names:
            without = measured.cycles(network, batch, name)
            cells.append(ratio(without, whole))
            if without and whole:
                ratios[name].append(without / whole)
        lines.append(f"| {network} | {batch:,} | {f'{whole:,}' if whole else '-'} | {' | '.join(cells)} |")
    means = [f"{quoin.mean(ratios[name]):.2f}" if ratios[name] else "-" for name in names]
    return [*lines, f"| geometric mean |  |  | {' | '.join(means)} |"]


def sweep(measured: Measurements, networks: list[str]) -> list[str]:
    lines = [
        "| network | batch | cycles | cycles for each | without decisions about the graph | ratio |",
        "|---|---|---|---|---|---|",
    ]
    for network in networks:
        for batch in BATCHES:
            whole, without = measured.cycles(network, batch), measured.cycles(network, batch, *GRAPH)
            cells = [f"{cycles:,}" if cycles else "-" for cycles in (whole, whole and whole // batch, without)]
            lines.append(f"| {network} | {batch} | {' | '.join(cells)} | {ratio(without, whole)} |")
    return lines


def page(measured: Measurements, networks: list[str], swept: list[str]) -> str:
    return "\n".join(
        [
            "# What decisions for Quoin are worth",
            "",
            "Written by `bench/quoin_ablation.py`. All cycles come from the simulator's own model,",
            "which no hardware has.",
            "",
            "## Without one decision",
            "",
            "Cycles on `qn-c8` with all decisions, and how many times as many there are without one of them",
            f"(`--target quoin:c8,-parts`; `{OVERLAP}`: the same program, whose units work one at a time).",
            f"-: compiling or simulating took more than {measured.limit:.0f} s.",
            "",
            *(f"* `{name}`: {text}" for name, text in DECISIONS.items()),
            "",
            *ablation(measured, networks),
            "",
            *([*BATCHES_TEXT, *sweep(measured, swept), ""] if swept else []),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="*", default=list(quoin_networks.NETWORKS))
    parser.add_argument("--swept", nargs="*", default=list(SWEPT))
    parser.add_argument("--limit", type=float, default=600, help="seconds for each step of a network")
    parser.add_argument("--compile", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.compile:
        name, batch, target, path = options.compile
        quoin.compiled(*quoin.network(name, int(batch)), target, Path(path))
        return
    PAGE.write_text(page(Measurements(options.limit), options.networks, options.swept))


if __name__ == "__main__":
    main()
