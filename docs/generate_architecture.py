"""Writes docs/architecture.md from the sources: run it after a change of phases, passes, primitives or layers.

usage: generate_architecture.py [--perpend build/bin/perpend]
Everything but the dumps is read from the lists that the compiler itself is made of; the dumps are what
`perpend compile docs/small_model.mlir --dump-phases` writes, shortened. test/docs/test_architecture.py compares.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
MODEL = ROOT / "docs" / "small_model.mlir"
TARGET = "x86-64-v3"  # the dumps must not depend on the machine that writes them
DUMPS_TITLE = "## One model after every phase"
LONGEST_LINE = 140
STRING = r'"((?:[^"\\]|\\.)*)"'


class Phase(NamedTuple):
    name: str
    guarantee: str
    passes: list[str]


class Pass(NamedTuple):
    argument: str
    summary: str


def read(path: str) -> str:
    return (ROOT / path).read_text()


def phases() -> list[Phase]:
    """The table of src/Pipeline.cpp, with the passes that each build function adds."""
    source = read("src/Pipeline.cpp")
    table = source[source.index("Phase table[]") :]
    table = table[: table.index("};")]
    result = []
    for name, guarantee, build in re.findall(rf'\{{{STRING},\s*((?:"[^"]*"\s*)+),\s*(\w+)', table):
        body = re.search(rf"^static void {build}\(.*?}}\n(?=\n)", source, re.M | re.S)
        if not body:
            raise SystemExit(f"error: no function {build} in src/Pipeline.cpp for the phase '{name}'")
        created = re.findall(r"create(\w+?)(?:Pass)?\(", body.group())
        result.append(Phase(name, "".join(re.findall(STRING, guarantee)), created))
    if len(result) != table.count('{"'):
        raise SystemExit("error: the table of phases in src/Pipeline.cpp was not understood")
    return result


def passes() -> dict[str, Pass]:
    """Every pass of a Passes.td, by the name of its record."""
    result: dict[str, Pass] = {}
    for path in sorted((ROOT / "src").glob("**/Passes.td")):
        text = path.read_text()
        for name, argument, summary in re.findall(rf"def (\w+) : Pass<{STRING}.*?let summary = {STRING}", text, re.S):
            result[name] = Pass(argument, summary)
        if len(re.findall(r"^def \w+ : Pass<", text, re.M)) != sum(f"def {name} :" in text for name in result):
            raise SystemExit(f"error: a pass of {path.relative_to(ROOT)} was not understood")
    return result


def operators(path: str, dialect: str) -> list[tuple[str, str]]:
    """Name and summary of every operator that a .td file defines, in its order."""
    text = read(path)
    records = re.split(r"^def (?=\w+ : \w+Op<)", text, flags=re.M)[1:]
    result = []
    for record in records:
        name, summary = re.search(rf"Op<{STRING}", record), re.search(rf"let summary = {STRING}", record)
        if not name or not summary:
            raise SystemExit(f"error: {path}: an operator without a name or a summary: {record.splitlines()[0]}")
        result.append((f"{dialect}.{name.group(1)}", summary.group(1)))
    return result


def layers() -> list[list[str]]:
    sys.path.insert(0, str(ROOT / "test"))
    import lint

    return [[folder or "Pipeline, Compiler" for folder in layer] for layer in lint.LAYERS]


def table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [titles, tuple("---" for _ in titles), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def pass_names(records: list[str], known: dict[str, Pass]) -> str:
    """Perpend's passes by their argument. MLIR's change often and say little here, so only that there are some."""
    others = ["and MLIR's"] if any(record not in known for record in records) else []
    return ", ".join([f"`{known[record].argument}`" for record in records if record in known] + others)


# What a folder holds, for the folders of src/ in which most of the compiler's decisions are made.
ROOMS = {
    "src/graph": "the graph dialect: shapes, element rules, symbols",
    "src/graph/primitives": "one file per group of primitive operators: errors, shapes, element rules",
    "src/graph/composites": "model operators, made of primitives",
    "src/graph/gradients": "derivatives of primitives",
    "src/graph/builder": "`graph::Builder`, which all front ends use",
    "src/graph/passes": "rewrites of the graph: folding, layout, fusion",
    "src/tile/ir": "the tile dialect, index expressions, levels of execution, the verifier of kernels",
    "src/tile/kernel": "what a kernel is to its callers: arguments, scratch memory, work, partition, variants",
    "src/tile/packing": "layouts of the operands of products and convolutions",
    "src/tile/schedule": "schedule primitives, traces as text",
    "src/tile/rules": "the schedules that kernels get without tuning",
    "src/tile/intrinsics": "descriptions of tensor intrinsics, matched and checked",
    "src/tile/flatten": "blocks become loops on memory",
    "src/tile/cost": "estimates of a kernel's time",
    "src/tile/passes": "passes from operators to blocks to loops, expansions of arithmetic",
    "src/host": "main as a program on places in memory; memory plans and their verifier",
    "src/interp": "executes modules of the three levels; the definition of what they mean",
    "src/frontend/onnx": "ONNX files",
    "src/frontend/checkpoint": "checkpoints of language models: GGUF, safetensors, descriptions of architectures",
    "src/llm": "a checkpoint with its tokenizer, chat template and settings as one module",
    "src/templates": "chat templates, which become tables for the runtime",
    "src/tokenizer": "tokenizer files, which become tables for the runtime",
    "src/arrays": "arrays and files of them: comparison, random values, .npy",
    "src/target": "machines as data, objects, linking",
    "src/target/vector": "code for vector units of any processor",
    "src/target/cpu": "LLVM for processors; a folder for each architecture, intrinsics as text in `intrinsics/`",
    "src/tune": "search: candidates, cost model, database, processes that measure",
    "src/compiler": "from a module to an artifact: options, phases, several machines, descriptions",
    "src/tuning": "tuning of a model's kernels with the compiler and `src/tune`",
    "src/cli": "the tool `perpend`",
    "src/python": "the Python module",
    "src/support": "symbolic integers, files, texts; knows nothing of the compiler",
}


def rooms() -> list[tuple[str, str]]:
    """ROOMS as rows; an error if one is gone, or if a folder at the top of src/ is missing."""
    folders = {f"src/{path.name}" for path in (ROOT / "src").iterdir() if any(path.glob("*.cpp"))}
    wrong = [name for name in ROOMS if not (ROOT / name).is_dir()] + sorted(folders - set(ROOMS))
    if wrong:
        raise SystemExit(f"error: ROOMS and the folders of src/ differ: {', '.join(wrong)}")
    return [(f"`{name}`", content) for name, content in ROOMS.items()]


def structure() -> str:
    known = passes()
    phase_rows = [
        (str(number), f"`{phase.name}`", phase.guarantee, pass_names(phase.passes, known))
        for number, phase in enumerate(phases(), 1)
    ]
    graph = [(f"`{name}`", summary) for name, summary in operators("src/graph/Ops.td", "graph")]
    tile = [(f"`{name}`", summary) for name, summary in operators("src/tile/ir/Tile.td", "tile")]
    host = [(f"`{name}`", summary) for name, summary in operators("src/host/Host.td", "host")]
    order = " < ".join(", ".join(f"`{folder}`" for folder in layer) for layer in layers())
    return f"""\
# Architecture

<!-- Written by docs/generate_architecture.py from the sources. Change those, then run it. -->

A model goes through four levels of program in one module, and comes out as a native library:

| level | what a program is | page |
| --- | --- | --- |
| graph | operators on tensors with symbolic shapes; no memory, no loops | [graph](levels/graph.md) |
| tile | one function per kernel: scheduled loops around blocks on buffers, and intrinsics | [tile](levels/tile.md) |
| host | what is launched, in which order, on which places in memory | [host](levels/host.md) |
| target | LLVM: one object with `bind`, `sizes`, `run` and an entry per kernel | [target](levels/target.md) |

Front ends (`src/frontend/onnx` in C++, `python/perpend` for PyTorch) build the graph level through `graph::Builder`,
which deduces every shape. The phases below lower the module; then `src/compiler/WriteArtifact.cpp` makes LLVM IR,
objects and, with lld, the artifact. `src/interp` executes modules at the graph, the tile and the host level and so
defines their meaning; tests and `perpend check` compare with it. `runtime/` is linked into every artifact and shares
its memory planner with the compiler.

## Phases

The table in `src/Pipeline.cpp`. A function checks each guarantee after its phase. `-O0` skips the first three phases
and all fusion.

{table(("", "phase", "what holds afterwards", "passes, in order"), phase_rows)}

The same table drives `--stop-after`, `--start-from`, `--dump-phases`, `--override-phase` and `--times` of
`perpend compile`, and the options `--perpend-PHASE` of `perpend-opt`.

## Perpend's passes

{table(("pass", "what it does"), [(f"`{entry.argument}`", entry.summary) for entry in known.values()])}

## Graph primitives

`src/graph/Ops.td` is the list; shapes, formulas and errors are there. A model operator is nearly always a composite of
these (`src/graph/composites/Composites.def`).

{table(("primitive", "what it is"), graph)}

## Tile operators

`src/tile/ir/Tile.td`. Inside blocks, scalars are computed by MLIR's `arith`, `math` and `scf`. The phase `tile`
replaces loops, blocks and buffers by `scf`, `memref` and `vector`, and leaves calls of intrinsics.

{table(("operator", "what it is"), tile)}

## Host operations

`src/host/Host.td`. Integers are symbols, so sizes and offsets are expressions over them.

{table(("operation", "what it does"), host)}

## Folders

{table(("folder", "what it holds"), rooms())}

An include points from a folder to one that comes earlier, or stays inside (`test/lint.py` checks):

{order}

`runtime/` includes nothing of `src/`; the compiler uses its headers, its planner and the archives built from it.
"""


def dump(perpend: Path) -> list[tuple[str, str]]:
    """What the compiler writes after every phase: (phase, text of the module)."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--target", TARGET, "--dump-phases", folder]
        command = [str(perpend), "compile", str(MODEL), "-o", f"{folder}/small.so", *options]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"error: {' '.join(command)}\n{done.stderr}")
        names = [(phase.name, f"{number}-{phase.name}.mlir") for number, phase in enumerate(phases(), 1)]
        return [(name, (Path(folder) / file).read_text()) for name, file in names]


def functions(module: str) -> list[str]:
    """The functions of a printed module, without their indentation of two spaces."""
    found = re.findall(r"^  (?:llvm\.func|func\.func|host\.entry) .*?^  }$", module, re.M | re.S)
    return [re.sub(r"^  ", "", text, flags=re.M) for text in found]


def shorten(text: str, most_lines: int = 80, with_bodies: bool = True) -> str:
    text = re.sub(r"dense<\[.*?\]> : tensor<\S+?>( \{.*?\})? :", r"dense<…>\1 :", text)
    text = re.sub(r"#graph\.shape<\[(.*?)\]>", lambda found: "[" + found.group(1).replace('"', "") + "]", text)
    if not with_bodies:
        text = re.sub(r"{\n  \^bb0.*?\n  }", "{ … }", text, flags=re.S)
    lines = [line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…" for line in text.splitlines()]
    if len(lines) > most_lines:
        lines = [*lines[:most_lines], f"  … ({len(lines) - most_lines} more lines)"]
    return "\n".join(lines)


def excerpt(phase: str, module: str) -> str:
    """What to show after a phase: main until it is fused, then a kernel or two."""
    parts = {name: part for part in functions(module) for name in re.findall(r"@(\w+)", part)[:1]}
    kernels = [name for name, part in parts.items() if "tile.kernel" in part]
    if phase in ("simplify", "layout", "pack"):
        return shorten(parts["main"], with_bodies=phase == "simplify")
    if phase == "fuse":
        return shorten(parts["main"]) + "\n" + shorten(parts[kernels[0]])
    if phase == "schedule":
        return shorten(parts[kernels[0]], 60)
    if phase == "tile":
        return shorten(parts[kernels[0]], 60)
    if phase == "plan":
        return shorten(parts["main"])
    return "\n".join(shorten(part.splitlines()[0].removesuffix(" {")) for part in parts.values())


NOTES = {
    "simplify": "The batch normalisation is folded: its scale into the filter, its shift into a constant.",
    "layout": "The convolution is channels-last. The flattening needs channels first, so one transpose remains.",
    "pack": "The two contractions are tile operators; their constant operands are packed into panels of columns.",
    "fuse": "Main calls kernels. The first has the convolution together with its epilogue: bias and relu.",
    "schedule": "The first kernel as loops around blocks, after its rule has scheduled it. The convolution's nest is a "
    "tensorized block, which the intrinsic `f32.block` will compute.",
    "tile": "The first kernel as loops on memory: for each block of sums a call of the intrinsic, then the epilogue.",
    "plan": "Main is a host program: it binds symbols to extents of inputs, names memory, and launches kernels on "
    "places.",
    "lower": "The functions of the object, without bodies. The runtime calls `bind`, `sizes` and `run`.",
}


def dumps(perpend: Path) -> str:
    sections = [
        f"""{DUMPS_TITLE}

[small_model.mlir](small_model.mlir) is a convolution with batch normalisation and relu, a matrix product and a softmax,
for `n` images. This is what the phases make of it (`perpend compile docs/small_model.mlir -o small.so --target {TARGET}
--dump-phases phases`). Shapes are abbreviated: `tensor<?x3xf32, [n, 3]>` stands for
`tensor<?x3xf32, #graph.shape<["n", 3]>>`. `…` marks what is left out.
"""
    ]
    for number, (phase, module) in enumerate(dump(perpend), 1):
        note = NOTES.get(phase, "")
        sections.append(f"### {number}. {phase}\n\n{note}\n\n```mlir\n{excerpt(phase, module)}\n```\n")
    return "\n".join(sections)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--perpend", type=Path, default=ROOT / "build" / "bin" / "perpend")
    arguments = parser.parse_args()
    PAGE.write_text(structure() + "\n" + dumps(arguments.perpend))
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
