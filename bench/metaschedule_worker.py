"""The kernels of metaschedule.py in Apache TVM: tunes them with MetaSchedule, or runs a tuned one for turns.py.

usage: metaschedule_worker.py tune FOLDER [--kernels NAME,...] [--trials 1000] [--seed 1]
       metaschedule_worker.py time FOLDER KERNEL TRIALS ARGUMENTS.npz

It runs in the environment of Python that has TVM: apache-tvm with xgboost, psutil, cloudpickle, tornado, scipy and
NumPy, and clang to link. `tune` writes FOLDER/KERNEL.json: after each batch the trials, the seconds and the processor's
seconds spent, and the best time so far; and the best kernel after 64, 256 and 1000 trials, as a library. A kernel that
has its trials in FOLDER is left as it is. `time` is a worker of turns.py; the arguments are arr_0, arr_1, ….
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ["TVM_NUM_THREADS"] = "1"
import numpy as np
import psutil
import turns
import tvm
from tvm import te
from tvm.ir.utils import derived_object
from tvm.s_tir import meta_schedule as ms

CLANG = "clang-19"
BATCH = 64
POINTS = (64, 256, 1000)  # trials after which the best kernel is kept


# What TVM gets: activations with channels last, and operands in their plain layout


def product(m: int, k: int, n: int) -> Any:
    a, b = te.placeholder((m, k), name="a"), te.placeholder((k, n), name="b")
    d = te.reduce_axis((0, k), name="d")
    return te.create_prim_func([a, b, te.compute((m, n), lambda i, j: te.sum(a[i, d] * b[d, j], axis=d), name="c")])


def padded(x: Any) -> Any:
    _, h, w, c = (int(extent) for extent in x.shape)
    return te.compute(
        (1, h + 2, w + 2, c),
        lambda n, i, j, k: tvm.tirx.if_then_else(
            tvm.tirx.all(i >= 1, i <= h, j >= 1, j <= w), x[n, i - 1, j - 1, k], tvm.tirx.const(0, "float32")
        ),
        name="padded",
    )


def convolution(size: int, c: int, o: int) -> Any:
    x, w = te.placeholder((1, size, size, c), name="x"), te.placeholder((3, 3, c, o), name="w")
    p = padded(x)
    r, s, d = (te.reduce_axis((0, extent), name=name) for extent, name in ((3, "r"), (3, "s"), (c, "d")))
    y = te.compute(
        (1, size, size, o),
        lambda n, i, j, k: te.sum(p[n, i + r, j + s, d] * w[r, s, d, k], axis=[r, s, d]),
        name="y",
    )
    return te.create_prim_func([x, w, y])


def depthwise(size: int, c: int) -> Any:
    x, w = te.placeholder((1, size, size, c), name="x"), te.placeholder((3, 3, c), name="w")
    p = padded(x)
    r, s = te.reduce_axis((0, 3), name="r"), te.reduce_axis((0, 3), name="s")
    y = te.compute(
        (1, size, size, c), lambda n, i, j, k: te.sum(p[n, i + r, j + s, k] * w[r, s, k], axis=[r, s]), name="y"
    )
    return te.create_prim_func([x, w, y])


def softmax(rows: int, columns: int) -> Any:
    x = te.placeholder((rows, columns), name="x")
    d, e = te.reduce_axis((0, columns), name="d"), te.reduce_axis((0, columns), name="e")
    largest = te.compute((rows,), lambda i: te.max(x[i, d], axis=d), name="largest")
    power = te.compute((rows, columns), lambda i, j: te.exp(x[i, j] - largest[i]), name="power")
    total = te.compute((rows,), lambda i: te.sum(power[i, e], axis=e), name="total")
    return te.create_prim_func([x, te.compute((rows, columns), lambda i, j: power[i, j] / total[i], name="y")])


KERNELS: dict[str, Callable[[], Any]] = {
    "product-128x768x768": lambda: product(128, 768, 768),
    "softmax-512x1024": lambda: softmax(512, 1024),
    "depthwise-112x112x32": lambda: depthwise(112, 32),
    "convolution-56x56x64": lambda: convolution(56, 64, 64),
    "product-512x512x512": lambda: product(512, 512, 512),
    "convolution-14x14x256": lambda: convolution(14, 256, 256),
}


# Tuning


def host() -> Any:
    cpu = tvm.target.codegen.llvm_get_system_cpu()
    return tvm.target.Target({"kind": "llvm", "mcpu": cpu, "num-cores": 1})


def processor_seconds() -> float:
    """Of this process and all that it started."""
    total = 0.0
    for process in [(this := psutil.Process()), *this.children(recursive=True)]:
        try:
            total += sum(process.cpu_times()[:4])  # user and system, its own and those of children that ended
        except psutil.Error:
            continue  # has just ended
    return total


@derived_object
class Log(ms.measure_callback.PyMeasureCallback):  # type: ignore[misc]
    """Keeps the best so far after each batch, and the best kernel at some numbers of trials."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__()
        self.folder, self.name = folder, name
        self.start, self.start_processor = time.perf_counter(), processor_seconds()
        self.trials, self.best = 0, float("inf")
        self.kernel: Any = None
        self.rows: list[dict[str, float]] = []

    def apply(self, scheduler: Any, task: int, candidates: Any, builds: Any, runs: Any) -> None:
        seconds = time.perf_counter() - self.start
        processor = processor_seconds() - self.start_processor
        due = []

        def row() -> dict[str, float]:
            return {"trials": self.trials, "seconds": seconds, "processor_seconds": processor, "best": self.best}

        for candidate, run in zip(candidates, runs, strict=True):
            self.trials += 1
            times = [float(value) for value in run.run_secs or []]
            if times and np.mean(times) < self.best:
                self.best, self.kernel = float(np.mean(times)), candidate.sch.mod
            if self.trials in POINTS and self.kernel is not None:
                due.append((self.trials, self.kernel))
                self.rows.append(row())
        if not self.rows or self.rows[-1]["trials"] != self.trials:
            self.rows.append(row())
        for trials, kernel in due:
            self.keep(trials, kernel)
        self.write()
        # To keep kernels is not tuning.
        self.start = time.perf_counter() - seconds
        self.start_processor = processor_seconds() - processor

    def finish(self, trials: int) -> None:
        """A search that finds no more candidates has made its trials."""
        if self.rows and self.kernel is not None and self.trials < trials:
            self.keep(trials, self.kernel)
            self.rows.append({**self.rows[-1], "trials": trials})
            self.write()

    def keep(self, trials: int, kernel: Any) -> None:
        library = tvm.compile(kernel, target=host())
        path = str(self.folder / f"{self.name}-{trials}.so")
        library.export_library(path, cc=CLANG, options=["-lm"])  # without it, slow functions of old versions are bound

    def write(self) -> None:
        (self.folder / f"{self.name}.json").write_text(json.dumps(self.rows) + "\n")


def trials_in(folder: Path, name: str) -> int:
    path = folder / f"{name}.json"
    return int(json.loads(path.read_text())[-1]["trials"]) if path.exists() else 0


def tune(folder: Path, names: Sequence[str], trials: int, seed: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    known = ms.measure_callback
    for name in names:
        if trials_in(folder, name) >= trials:
            continue
        log = Log(folder, name)
        callbacks = [known.AddToDatabase(), known.UpdateCostModel(), log, known.RemoveBuildArtifact()]
        ms.tune_tir(
            KERNELS[name](), host(), str(folder / name), trials, num_trials_per_iter=BATCH, seed=seed,
            measure_callbacks=callbacks, num_tuning_cores=1, database=ms.database.MemoryDatabase(),
        )  # fmt: skip
        log.finish(trials)


# Timing


def load(library: Path, kernel: str, path: Path) -> Callable[[], turns.Arrays]:
    function = tvm.runtime.load_module(str(library))["main"]
    shape = [int(extent) for extent in KERNELS[kernel]().params[-1].shape]
    with np.load(path) as arrays:
        arguments = [tvm.runtime.tensor(arrays[f"arr_{i}"]) for i in range(len(arrays.files))]

    def run() -> turns.Arrays:
        output = tvm.runtime.empty(shape, "float32")  # a new one for each call, as Perpend makes it
        function(*arguments, output)
        return [np.from_dlpack(output)]

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    actions = parser.add_subparsers(dest="action", required=True)
    tuning = actions.add_parser("tune")
    tuning.add_argument("folder", type=Path)
    tuning.add_argument("--kernels", default=",".join(KERNELS), help="comma-separated (default: all)")
    tuning.add_argument("--trials", type=int, default=POINTS[-1])
    tuning.add_argument("--seed", type=int, default=1)
    timing = actions.add_parser("time")
    timing.add_argument("folder", type=Path)
    timing.add_argument("kernel", choices=list(KERNELS))
    timing.add_argument("trials", type=int)
    timing.add_argument("arguments", type=Path)
    options = parser.parse_args()
    if options.action == "tune":
        names = options.kernels.split(",")
        if wrong := [name for name in names if name not in KERNELS]:
            parser.error(f"--kernels: no '{wrong[0]}'; there are {', '.join(KERNELS)}")
        tune(options.folder, names, options.trials, options.seed)
    else:
        library = options.folder / f"{options.kernel}-{options.trials}.so"
        turns.serve(lambda: load(library, options.kernel, options.arguments))


if __name__ == "__main__":
    main()
