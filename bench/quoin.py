"""Cycles of networks and kernels on the simulated accelerator Quoin: python bench/quoin.py [--networks NAMES]

Writes docs/quoin/performance.md, and the same numbers as JSON beside it. With --keep, what is not measured now
stays as that file has it, so that parts can be measured one by one. With --answers, the networks run with data, and
nothing else is measured. Networks have random weights of f16. All cycles
come from the simulator's own model, without data (quoin-sim --mode=time); no hardware has them.

The bound of a network, in cycles of eight cores:

    max(bytes / 32, d, v, (2048 d + 256 v + w) / (2048 + 256))
    d = products / 16384    without those of depthwise convolutions
    v = passes / 512        elements times passes of what only the vector unit computes (VECTOR_PASSES)
    w                       products of depthwise convolutions

bytes: weights, inputs and outputs in f16, each once; of tables, rows that are looked up. A depthwise convolution makes
2048 products in a cycle on the matrix units (dwconv) and 256 on the vector units (fma with sums in f32), and is divided
among both so that they end together. Not in it, because another unit can do it: biases, scales, sums of two values
(accumulators begin with one), means, and whatever only moves.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import perpend
import quoin_networks
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
PAGE = ROOT / "docs" / "quoin" / "performance.md"
PRODUCTS, DDR_BYTES = 16_384, 32  # of eight cores and of a cluster, in each cycle
DEPTHWISE_PRODUCTS, VECTOR_PRODUCTS, VECTOR_ELEMENTS = 2_048, 256, 512  # of eight cores; of f16, or sums of f32
VECTOR_PASSES = {  # of an element of the result, at the rate of the instruction; of max_pool2d: of the input
    "relu": 1,
    "hardtanh": 1,
    "clamp": 1,
    "gelu": 4,
    "silu": 4,
    "sigmoid": 4,
    "tanh": 4,
    "_softmax": 4,
    "native_layer_norm": 1,
    "max_pool2d_with_indices": 1,
}
WHOLE, FUSED = "quoin:c8", "quoin:c8,-ahead,-parts,-pieces"  # everything; neither splitting nor reordering
HAND = {  # cycles of test/quoin/kernels, which KernelsTest.cpp checks; on how many cores
    "product8": 51_593,
    "product": 86_920,
    "convolution": 33_129,
    "depthwise": 19_000,
    "softmax": 67_126,
    "layernorm": 26_533,
    "attention": 25_163,
    "pooling": 18_557,
    "transpose": 67_490,
}


def simulate(program: Path, *options: str, limit: float = 1200) -> dict[str, Any]:
    report = program.with_suffix(".json")
    command = [
        str(BUILD / "bin" / "quoin-sim"),
        str(program),
        "--mode=time",
        "--scalar-cycles=0",
        f"--json={report}",
        *options,
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=limit)
    return dict(json.loads(report.read_text()))


def cycles_of(program: Path, limit: float, *options: str) -> int | None:
    """None: simulating it takes too long."""
    try:
        return int(simulate(program, *options, limit=limit)["cycles"])
    except subprocess.TimeoutExpired:
        return None


def compiled(
    net: torch.nn.Module, inputs: tuple[torch.Tensor, ...], target: str, path: Path, opt_level: int = 3
) -> list[str]:
    options: dict[str, bool | int | str] = {"target": target, "opt_level": opt_level}
    return list(perpend.import_model(net, example_inputs=inputs).compile(str(path), options).units)


class Counts(TorchDispatchMode):  # type: ignore[misc]
    """Products of depthwise convolutions, and passes of the vector unit."""

    depthwise = 0
    passes = 0

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: tuple[Any, ...] = (), keywords: dict[str, Any] | None = None
    ) -> Any:
        result = function(*arguments, **(keywords or {}))
        name = function.overloadpacket.__name__.rstrip("_")
        value = result[0] if isinstance(result, tuple) else result
        if name == "convolution" and arguments[8] > 1 and arguments[1].shape[1] == 1:
            self.depthwise += value.numel() * math.prod(arguments[1].shape[2:])
        elements = arguments[0].numel() if name == "max_pool2d_with_indices" else 0
        self.passes += VECTOR_PASSES.get(name, 0) * (elements or getattr(value, "numel", int)())
        return result


def bound_of(net: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> float:
    """The formula above, for a network of f32 that runs in f16."""
    looked_up: dict[int, int] = {}

    def count(table: torch.nn.Module, _: Any, rows: torch.Tensor) -> None:
        weight = table.weight
        known = looked_up.get(id(weight), 0)
        looked_up[id(weight)] = min(weight.numel(), known + rows.numel())

    hooks = [each.register_forward_hook(count) for each in net.modules() if isinstance(each, torch.nn.Embedding)]
    counts = Counts()
    with torch.no_grad(), FlopCounterMode(display=False) as counter, counts:
        output = net(*inputs)
    for hook in hooks:
        hook.remove()
    moved = sum(looked_up.get(id(value), value.numel()) * value.element_size() for value in net.parameters())
    moved += sum(value.numel() * value.element_size() for value in [*inputs, output])
    dense = (counter.get_total_flops() // 2 - counts.depthwise) / PRODUCTS
    vector = counts.passes / VECTOR_ELEMENTS
    both = DEPTHWISE_PRODUCTS * dense + VECTOR_PRODUCTS * vector + counts.depthwise
    return float(max(moved / 2 / DDR_BYTES, dense, vector, both / (DEPTHWISE_PRODUCTS + VECTOR_PRODUCTS)))


def network(name: str, batch: int) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    net, inputs = quoin_networks.NETWORKS[name](batch)
    quoin_networks.randomise_normalisations(net)
    return net.half(), tuple(value.half() if value.is_floating_point() else value for value in inputs)


def compiled_network(
    name: str, batch: int, path: Path, opt_level: int, limit: float, target: str = WHOLE
) -> str | None:
    """What the units run. None: compiling takes longer than so many seconds."""
    command = [sys.executable, __file__, "--compile", name, str(batch), str(opt_level), str(path), target]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=limit).stdout.splitlines()[0]
    except subprocess.TimeoutExpired:
        return None


def measure_network(
    name: str, batch: int, limit: float, known: dict[str, Any] | None, folder: Path
) -> dict[str, Any] | None:
    """`known`: a row whose column (a) stays. None: compiling or simulating it takes too long."""
    net, inputs = quoin_networks.NETWORKS[name](batch)
    bound = bound_of(net, inputs)
    start = time.monotonic()
    path = folder / "program.qn"
    units = compiled_network(name, batch, path, 3, limit)
    if units is None:
        return None
    seconds = time.monotonic() - start
    start = time.monotonic()
    try:
        whole = simulate(path, limit=limit)
    except subprocess.TimeoutExpired:
        return None
    simulated = time.monotonic() - start
    single = folder / "single.qn"
    operators = known["operators"] if known is not None else compiled_network(name, batch, single, 0, limit)
    ddr = known["ddr"] if known is not None else None
    if known is None and operators:
        ddr = cycles_of(single, limit, "--serial", "--no-llb")
    fused = folder / "fused.qn"
    has_fused = compiled_network(name, batch, fused, 3, limit, FUSED)
    return {
        "name": name,
        "batch": batch,
        "ddr": ddr,
        "serial": cycles_of(fused, limit, "--serial") if has_fused else None,
        "cycles": whole["cycles"],
        "bound": bound,
        "matrix": max(core["units"]["MX"]["busy"] for core in whole["cores"]) / whole["cycles"],
        "units": units,
        "operators": operators or "not compiled in time",
        "compile_s": round(seconds, 1),
        "simulate_s": round(simulated, 1),
    }


def differences(output: torch.Tensor, expected: torch.Tensor) -> tuple[float, float]:
    """The largest one, and their mean, relative to the largest magnitude of what is expected."""
    all_of_them = (output.float() - expected).abs() / expected.abs().max()
    return float(all_of_them.max()), float(all_of_them.mean())


def measure_answers(name: str, batch: int, limit: float, folder: Path) -> dict[str, Any] | None:
    """What a network computes on the simulator. None: compiling or running it takes too long."""
    path = folder / "program.qn"
    if compiled_network(name, batch, path, 3, limit) is None:
        return None
    net, inputs = network(name, batch)
    words = [str(BUILD / "bin" / "perpend"), "run", str(path), "--output-dir", str(folder / "outputs")]
    for i, value in enumerate(inputs):
        np.save(folder / f"{i}.npy", value.numpy())
        words += ["--input", str(folder / f"{i}.npy")]
    start = time.monotonic()
    try:
        subprocess.run(words, check=True, capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None
    seconds = time.monotonic() - start
    (output,) = (np.load(each) for each in (folder / "outputs").iterdir())
    with torch.no_grad():
        half = net(*inputs)
        expected = net.float()(*(value.float() if value.is_floating_point() else value for value in inputs))
    return {
        "name": name,
        "batch": batch,
        "differences": differences(torch.from_numpy(output), expected),
        "torch": differences(half, expected),
        "seconds": round(seconds, 1),
    }


def answers_section(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "",
        "## Answers of whole networks",
        "",
        "Compiled for `qn-c8` with everything and run by the simulator with data. Differences are from torch in f32,",
        "with the same weights and inputs (of f16), relative to the largest number of the output: the largest one, and",
        "their mean; beside them, those of torch in f16. The last column: seconds on a host that does other work, too.",
        "",
        "| network | batch | largest | torch's largest | mean | torch's mean | simulated |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        pairs = zip(row["differences"], row["torch"], strict=True)
        cells = [f"{ours:.1e} | {theirs:.1e}" for ours, theirs in pairs]
        lines.append(f"| {row['name']} | {row['batch']:,} | {' | '.join(cells)} | {row['seconds']} s |")
    return lines if rows else []


def measure_kernel(name: str, folder: Path) -> dict[str, Any]:
    net, inputs = quoin_networks.KERNELS[name]()
    path = folder / "program.qn"
    compiled(
        net.half(), tuple(value.half() for value in inputs), "quoin:c8" if name == "product8" else "quoin:c1", path
    )
    return {"name": name, "hand": HAND[name], "cycles": simulate(path)["cycles"]}


def mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 0


def correlations() -> list[dict[str, Any]]:
    """Of the estimates of schedules and of their simulated cycles, nest by nest (test/quoin/CostTest.cpp)."""
    report = BUILD / "bench" / "quoin_cost.json"
    subprocess.run(
        [BUILD / "bin" / "quoin-cost-test", f"--gtest_output=json:{report}"], capture_output=True, timeout=600
    )
    (suite,) = json.loads(report.read_text())["testsuites"]
    rows = []
    for name, value in suite["testsuite"][0].items():
        if isinstance(value, str) and re.fullmatch(r"\d+ -?[\d.]+ [\d.]+", value):
            count, correlation, error = value.split()
            rows.append({"name": name, "count": int(count), "rank": float(correlation), "error": float(error)})
    return rows


def cost_section(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "",
        "## What the compiler estimates",
        "",
        "Schedules of a nest on one core, from which the compiler chooses, without those that take four times as long",
        "as the best one: Spearman's rank correlation of estimated and simulated cycles, and the mean error. The",
        "estimate runs a schedule's instructions without flags: a unit starts when what it reads is there and where it",
        "writes is free, the sequencer is ahead of a unit by what its queue holds, a load and a store that move at the",
        "same time share DDR, and a loop runs until its iterations take equally long. Not in it: instructions that set",
        "up addresses and flags, and other cores that do something else.",
        "",
        "| nest | schedules | rank correlation | error |",
        "|---|---|---|---|",
    ]
    for row in rows:
        lines.append(f"| {row['name']} | {row['count']} | {row['rank']:.2f} | {100 * row['error']:.0f} % |")
    average = sum(row["rank"] for row in rows) / max(1, len(rows))
    return [*lines, "", f"Mean of the correlations: {average:.2f}.", ""]


def page_of(
    networks: list[dict[str, Any]],
    answers: list[dict[str, Any]],
    kernels: list[dict[str, Any]],
    costs: list[dict[str, Any]],
    limit: float,
) -> str:
    names = list(quoin_networks.NETWORKS)
    networks, answers = (
        sorted(rows, key=lambda row: (names.index(row["name"]), row["batch"])) for rows in (networks, answers)
    )
    lines = [
        "# Cycles of programs for Quoin",
        "",
        "Written by `bench/quoin.py`. All cycles come from the simulator's own model (`quoin-sim --mode=time`), which",
        "no hardware has: they compare programs with one another, and with bounds of the same model.",
        "",
        "## Networks on `qn-c8`",
        "",
        "Random weights, f16. Columns (a) and (b) are re-creations, not other compilers. (a): one kernel for each",
        "operator of the model (`-O0`, which also leaves tensors in the model's layout), all values go through DDR and",
        "a core's units work one at a time. (b): fused kernels, no splitting and no reordering (`--target",
        f"{FUSED}`): values lie in LLB if all of a batch fits, units work one at a time. (c):",
        "everything, and units overlap. The last columns: seconds on a host that does other work, too, for",
        f"compiling and simulating (c). -: compiling or simulating took more than {limit:.0f} s.",
        "",
        "Bound: weights, inputs and outputs at the speed of DDR; products at the peak of the matrix units; or what",
        "only vector units compute, at 64 elements of f16 in a cycle of a core, whichever takes longest: one pass for",
        "relu, clip, a normalisation, and each input of a maximum pool; four for exp, gelu, sigmoid, tanh. Products of",
        "depthwise convolutions (256 in a cycle of a core's matrix unit, 32 of its vector unit) are divided among both",
        "so that they end together. Biases, scales, residual sums and means count as nothing.",
        "",
        "The bound lets everything overlap, which no order of steps can. VGG-16's last three layers need the result of",
        "all convolutions (7.5 M cycles at the peak) and read 247 MB of weights (7.7 M), of which LLB and L1 can hold",
        "0.5 M cycles: 14.7 M is the least. Sums leave a matrix unit at 32 numbers in a cycle, where the bound counts",
        "64 or nothing: MobileNetV2's expansion to 112x112x96 takes 75,264 cycles for that, 18,816 for its products.",
        "",
        "| network | batch | (a) | (b) | (c) | bound | (a)/(c) | (b)/(c) | bound/(c) | MX | compiled | simulated |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in networks:
        ratios = [row[key] and row[key] / row["cycles"] for key in ("ddr", "serial", "bound")]
        counts = [f"{row[key]:,.0f}" if row[key] else "-" for key in ("batch", "ddr", "serial", "cycles", "bound")]
        times = [f"{row[key]} s" for key in ("compile_s", "simulate_s")]
        shares = [*(f"{ratio:.2f}" if ratio else "-" for ratio in ratios), f"{100 * row['matrix']:.0f} %", *times]
        lines.append(f"| {row['name']} | {' | '.join(counts + shares)} |")
    largest = {row["name"]: row for row in networks}.values()  # of each network, the row with the largest batch
    means = [mean([row[key] / row["cycles"] for row in networks if row["ddr"]]) for key in ("ddr",)]
    means += [mean([row[key] / row["cycles"] for row in largest if row[key]]) for key in ("serial", "bound")]
    lines += [
        "",
        "Weights are random, and so are scales, shifts and statistics of normalisations, one for each channel.",
        "",
        f"Geometric means: (a)/(c) {means[0]:.2f} of the rows that have (a); of each network's largest batch, (b)/(c)",
        f"{means[1]:.2f} and bound/(c) {means[2]:.2f}.",
        "Calls of scalar code count as no time: "
        + "; ".join(f"{row['name']} ({row['batch']}): {row['units']}, in (a) {row['operators']}" for row in networks)
        + ".",
        "Not measured: "
        + (", ".join(name for name in names if name not in [row["name"] for row in networks]) or "none")
        + ".",
        *answers_section(answers),
        "",
        "## Kernels against programs by hand",
        "",
        "The same shapes as `test/quoin/kernels`, on one core (`qn-c1`); `product8` on eight.",
        "",
        "| kernel | by hand | generated | hand/generated |",
        "|---|---|---|---|",
    ]
    for row in kernels:
        lines.append(f"| {row['name']} | {row['hand']:,} | {row['cycles']:,} | {row['hand'] / row['cycles']:.2f} |")
    lines += ["", f"Geometric mean: {mean([row['hand'] / row['cycles'] for row in kernels]):.2f}."]
    return "\n".join(lines + cost_section(costs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="*", default=list(quoin_networks.NETWORKS))
    parser.add_argument("--kernels", nargs="*", default=list(quoin_networks.KERNELS))
    parser.add_argument("--answers", action="store_true", help="run networks with data, and measure nothing else")
    parser.add_argument("--no-costs", action="store_true", help="do not rank schedules")
    parser.add_argument("--keep", action="store_true", help="what is not measured stays as it is")
    parser.add_argument("--keep-operators", action="store_true", help="column (a) stays as it is, or empty")
    parser.add_argument("--batch", type=int, help="in place of each network's own")
    parser.add_argument("--limit", type=float, default=1200, help="seconds for each step of a network")
    parser.add_argument("--compile", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.compile:
        name, batch, level, path, target = options.compile
        print(compiled(*network(name, int(batch)), target, Path(path), int(level))[0])
        return
    report = PAGE.with_suffix(".json")
    keeps = options.keep or options.answers
    kept = json.loads(report.read_text()) if keeps and report.exists() else {}
    costs: list[dict[str, Any]] = kept.get("costs", []) if options.no_costs or options.answers else correlations()
    answers: list[dict[str, Any]] = kept.get("answers", [])
    networks: list[dict[str, Any]] = kept.get("networks", [])
    kernels: list[dict[str, Any]] = kept.get("kernels", [])
    measurements: list[tuple[list[dict[str, Any]], Callable[[Path], dict[str, Any] | None]]] = []
    for name in options.kernels if not options.answers else ():
        measurements.append((kernels, partial(measure_kernel, name)))
    for name in options.networks:
        batch = options.batch or quoin_networks.BATCHES[name]
        if options.answers:
            measurements.append((answers, partial(measure_answers, name, batch, options.limit)))
            continue
        none = {"ddr": None, "operators": "not measured"}
        same = (row for row in networks if (row["name"], row["batch"]) == (name, batch))
        known = next(same, none) if options.keep_operators else None
        measurements.append((networks, partial(measure_network, name, batch, options.limit, known)))
    for rows, measure in measurements:
        with tempfile.TemporaryDirectory() as folder:
            row = measure(Path(folder))
        print(row, flush=True)
        if row:
            case = itemgetter("name") if rows is kernels else itemgetter("name", "batch")
            rows[:] = [*(other for other in rows if case(other) != case(row)), row]
        parts = {"networks": networks, "answers": answers, "kernels": kernels, "costs": costs}
        report.write_text(json.dumps(parts, indent=1))
        PAGE.write_text(page_of(networks, answers, kernels, costs, options.limit))


if __name__ == "__main__":
    main()
