"""Starts a pass: writes its .cpp and its test, and prints the two entries to add by hand.

usage: new_pass.py FOLDER NAME      for example: new_pass.py graph FuseEpilogues
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERBS = (
    "Import Infer Simplify Expand Fuse Split Place Schedule Tile Pack Vectorise Bufferise Plan Lower Emit Verify Assign"
)

SOURCE = """\
//===- {name}.cpp - what it does, in a few words {dashes}===//
//
// What it does and why here: what must hold before, and what holds after. How,
// and where the algorithm is from.
//
//   before  =>  after
//
//===----------------------------------------------------------------------===//

#include "{folder}/passes/Passes.h"

namespace perpend::{folder} {{
#define GEN_PASS_DEF_{upper}
#include "{folder}/{prefix}Passes.h.inc"
}} // namespace perpend::{folder}

namespace {{
struct {name} : perpend::{folder}::impl::{record}Base<{name}> {{
  void runOnOperation() override {{
    // The transformation of getOperation().
  }}
}};
}} // namespace
"""

TEST = """\
// RUN: perpend-opt --{argument} %s | FileCheck %s
// RUN: same-values %s {argument}

!input = tensor<?x3xf32, #graph.shape<["n", 3]>>
!output = tensor<3x?xf32, #graph.shape<[3, "n"]>>
// CHECK-LABEL: func.func @main
func.func @main(%x: !input {{graph.name = "x"}}) -> (!output {{graph.name = "y"}}) {{
  %y = graph.transpose %x [1, 0] : !input -> !output
  return %y : !output
}}
"""

RECORD = """\
def {record} : Pass<"{argument}", "::mlir::ModuleOp"> {{
  let summary = "What it does, in one sentence";
}}"""


def kebab(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    folder, name = arguments
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]+", name) or not name.startswith(tuple(VERBS.split())):
        print(f"error: '{name}' is not verb + object in CamelCase\nhint: the verbs are {VERBS}", file=sys.stderr)
        return 1
    if not (ROOT / "src" / folder / "passes" / "Passes.td").is_file():
        folders = ", ".join(sorted(path.parent.parent.name for path in (ROOT / "src").glob("*/passes/Passes.td")))
        print(f"error: src/{folder} has no passes/Passes.td\nhint: choose one of {folders}", file=sys.stderr)
        return 1
    prefix = folder.capitalize()
    facts = {
        "folder": folder,
        "name": name,
        "prefix": prefix,
        "record": prefix + name,
        "upper": (prefix + name).upper(),
        "argument": f"{folder}-{kebab(name)}",
        "dashes": "-" * max(1, 41 - len(name) - len(".cpp - ")),
    }
    files = {
        ROOT / "src" / folder / "passes" / f"{name}.cpp": SOURCE.format(**facts),
        ROOT / "test" / folder / f"{name}.mlir": TEST.format(**facts),
    }
    for path in files:
        if path.exists():
            print(f"error: {path.relative_to(ROOT)} is already there", file=sys.stderr)
            return 1
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(f"wrote {path.relative_to(ROOT)}")
    print(f"\nadd to src/{folder}/passes/Passes.td:\n\n{RECORD.format(**facts)}")
    print(f"\nadd to the sources in src/{folder}/CMakeLists.txt:\n\n  passes/{name}.cpp")
    print("\nadd to the phase in src/Pipeline.cpp where it belongs:\n")
    print(f"  passes.addPass({folder}::create{facts['record']}());")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
