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
// {name}: what it does, in one sentence.
//
// Why here: what must hold before, and what holds after.
// Algorithm: how, and its source.
//
//   before:  …
//   after:   …
#include "{folder}/passes/Passes.h"

namespace perpend::{folder} {{
#define GEN_PASS_DEF_{upper}
#include "{folder}/passes/Passes.h.inc"

namespace {{
struct {name} : impl::{name}Base<{name}> {{
  void runOnOperation() override {{
    // The transformation.
  }}
}};
}} // namespace
}} // namespace perpend::{folder}
"""

TEST = """\
// RUN: perpend-opt --{argument} %s | FileCheck %s

// CHECK-LABEL: func.func @main
func.func @main() {{
  return
}}
"""

RECORD = """\
def {name} : Pass<"{argument}", "ModuleOp"> {{
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
    if not (ROOT / "src" / folder).is_dir():
        folders = ", ".join(sorted(path.name for path in (ROOT / "src").iterdir() if path.is_dir()))
        print(f"error: src/{folder} is not a folder\nhint: choose one of {folders}", file=sys.stderr)
        return 1
    facts = {"folder": folder, "name": name, "upper": name.upper(), "argument": f"{folder}-{kebab(name)}"}
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
    print(f"\nadd to the phase in src/Pipeline.cpp where it belongs:\n\n  {folder}::create{name}()")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
