"""Checks the layout rules that no compiler checks. Errors end with status 1; warnings only print.

Errors: an include from an earlier layer to a later one, a folder that names no idea, a path of somebody's machine,
the name of an attribute outside of its level's Attributes.h, the name of an architecture in a layer that knows machines
as data, more operators named in passes than before, a function over 80 lines (when ctags is there).
Warnings: files over 500 lines.
"""

import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path, PurePosixPath

# Folders of src/ from the earliest layer to the latest; "" is src/ itself (Pipeline).
LAYERS = [
    ["support"],
    ["templates"],
    ["graph"],
    ["tile"],
    ["host"],
    ["frontend", "interp", "target", "tokenizer", "tune"],
    ["arrays", "llm"],
    [""],
    ["compiler"],
    ["tuning"],
    ["cli", "python"],
    ["tools"],
]
RANK = {folder: rank for rank, folders in enumerate(LAYERS) for folder in folders}
# Facts about machines are data that every layer may read.
EVERYWHERE = {
    "target/Machine.h",
    "target/TargetOption.h",
    "target/Targets.def",
    "target/IntrinsicTexts.h",
    "Options.def",
}

FORBIDDEN_FOLDERS = {"utils", "util", "common", "helpers", "helper", "contrib", "misc"}
MACHINE_PATH = re.compile(r"(?<![\w.:/$}-])/(?:work|root|home|Users|farm|mnt)/\w|/tmp/\w")
ATTRIBUTE = re.compile(r'"(?:graph|tile)\.[a-z_]+"')
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
# Architectures, processors, instruction sets and the programming models that belong to one of them.
ARCHITECTURE = re.compile(
    r"avx|amx|vnni|x86|(?<![a-z])i[36]86|amd64|(?<![a-z])sse(?![a-z])|f16c|haswell|skylake|icelake|sapphire|alderlake"
    r"|(?<![a-z])(?:znver|zen ?[1-9]|xeon|epyc)|aarch64|(?<![a-z])arm(?:v[0-9]|64|(?![a-z]))|(?<![a-z])(?:neon|sve|sme)"
    r"[0-9]?(?![a-z])|risc-?v|(?<![a-z])rvv|hexagon|cuda|nvptx|(?<![a-z])(?:nvvm|ptx)|rocm|amdgcn|rocdl|spir-?v"
    r"|blockidx|threadidx|vulkan|metal(?![a-z])",
    re.IGNORECASE,
)
WITHOUT_ARCHITECTURES = ("src/graph/", "src/tile/", "src/host/", "src/tune/")
# How often code names an operator of the graph where only its traits and interfaces should count. A cure lowers these.
NAMED_OPERATORS = {"src/graph/passes/": 119, "src/tile/": 42, "src/host/": 0}
OPERATOR = re.compile(r"^def (\w+Op) : Graph_(?:Element|Reduction|Sequence)Op<", re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*")
LONG_FILE, LONG_FUNCTION, USUAL_FUNCTION = 500, 80, 40
SOURCES = {".cpp", ".h", ".c", ".td", ".def", ".py"}


def layer(path: PurePosixPath) -> str | None:
    """The layer of a file, given its path from src/ or from the root (tools/…); None outside of the layers."""
    parts = path.parts[1:] if path.parts[0] == "src" else path.parts
    folder = parts[0] if len(parts) > 1 else ""
    return folder if folder in RANK else None


def check_includes(path: str, text: str, top_headers: set[str]) -> list[str]:
    """`top_headers` are the names of the headers that lie in src/ itself; other bare names lie beside the includer."""
    source = PurePosixPath(path)
    if source.parts[0] not in ("src", "tools") or (mine := layer(source)) is None:
        return []
    errors = []
    for included in INCLUDE.findall(text):
        beside = "/" not in included and included not in top_headers
        theirs = mine if beside else layer(PurePosixPath("src", included))
        if included in EVERYWHERE or theirs is None or theirs == mine or RANK[theirs] < RANK[mine]:
            continue
        name = f"layer '{theirs}'" if theirs else "src/ itself"
        errors.append(f"{path}: includes \"{included}\" of {name}, which is not earlier than '{mine}'")
    return errors


def check_folders(path: str) -> list[str]:
    bad = FORBIDDEN_FOLDERS.intersection(PurePosixPath(path).parts[:-1])
    return [f"{path}: a folder named '{name}' says nothing about what is in it" for name in sorted(bad)]


def check_machine_paths(path: str, text: str) -> list[str]:
    lines = enumerate(text.splitlines(), 1)
    return [
        f"{path}:{number}: a path of one machine: {line.strip()}" for number, line in lines if MACHINE_PATH.search(line)
    ]


def check_attributes(path: str, text: str) -> list[str]:
    """The names of attributes stand in src/LEVEL/Attributes.h, each once."""
    if not path.startswith("src/") or not path.endswith((".cpp", ".h")):
        return []
    names = ATTRIBUTE.findall(text)
    if PurePosixPath(path).name == "Attributes.h":
        return [f"{path}: {name} stands there twice" for name in sorted({n for n in names if names.count(n) > 1})]
    return [f"{path}: {name} in place of its constant in Attributes.h" for name in names]


def check_architectures(path: str, text: str) -> list[str]:
    """Facts about machines are data (src/target/Machine.h), so these layers need no name of one."""
    if not path.startswith(WITHOUT_ARCHITECTURES):
        return []
    lines = enumerate(text.splitlines(), 1)
    found = [(number, ARCHITECTURE.search(line)) for number, line in lines]
    return [f"{path}:{number}: '{name[0]}' names an architecture" for number, name in found if name]


def check_operators(counts: dict[str, int]) -> list[str]:
    """A pass asks for traits and interfaces: a new operator needs no change of it. The count may only fall."""
    errors = []
    for folder, limit in NAMED_OPERATORS.items():
        if (count := counts.get(folder, 0)) != limit:
            cure = "ask for a trait or an interface" if count > limit else "lower the number in NAMED_OPERATORS"
            errors.append(f"{folder}: code names operators {count} times, expected {limit}; hint: {cure}")
    return errors


def named_operators(root: Path, files: list[str]) -> dict[str, int]:
    """How often the C++ code of each folder of NAMED_OPERATORS names an operator of src/graph/Ops.td."""
    operators = OPERATOR.findall((root / "src/graph/Ops.td").read_text())
    name = re.compile(rf"(?<!vector::)\b(?:{'|'.join(operators)})\b")
    counts = dict.fromkeys(NAMED_OPERATORS, 0)
    for path in files:
        folder = next((folder for folder in counts if path.startswith(folder)), None)
        if folder and path.endswith((".cpp", ".h")):
            counts[folder] += len(name.findall(COMMENT.sub("", (root / path).read_text())))
    return counts


def function_lengths(root: Path, files: list[str]) -> list[tuple[int, str]]:
    """(lines, "file:line name") of each function, by ctags."""
    command = ["ctags", "-L", "-", "--fields=+ne", "-f", "-", "--kinds-C++=f", "--kinds-C=f", "--kinds-Python=fm"]
    code = [name for name in files if name.endswith((".cpp", ".c", ".h", ".py"))]
    tags = subprocess.run(command, input="\n".join(code), capture_output=True, text=True, cwd=root, check=True).stdout
    lengths = []
    for row in tags.splitlines():
        name, path, *rest = row.split("\t")
        fields = dict(part.split(":", 1) for part in rest if part.startswith(("line:", "end:")))
        if "end" in fields:
            lengths.append((int(fields["end"]) - int(fields["line"]) + 1, f"{path}:{fields['line']} {name}"))
    return lengths


def check_functions(root: Path, files: list[str]) -> list[str]:
    if not shutil.which("ctags"):
        print("note: no ctags, so the lengths of functions are not checked")
        return []
    lengths = function_lengths(root, files)
    if lengths:
        usual = sum(lines <= USUAL_FUNCTION for lines, _ in lengths) / len(lengths)
        middle = statistics.median(lines for lines, _ in lengths)
        print(f"functions: {len(lengths)}, median {middle:.0f} lines, {usual:.0%} of at most {USUAL_FUNCTION}")
    return [f"{place}: {lines} lines, at most {LONG_FUNCTION}" for lines, place in lengths if lines > LONG_FUNCTION]


def tracked_files(root: Path) -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, cwd=root, check=True).stdout.splitlines()
    return [name for name in listed if (root / name).is_file()]


def check(root: Path, files: list[str]) -> list[str]:
    top_headers = {Path(name).name for name in files if re.fullmatch(r"src/[^/]+\.h", name)}
    errors = []
    for name in files:
        errors += check_folders(name)
        try:
            text = (root / name).read_text()
        except UnicodeDecodeError:
            continue
        errors += check_includes(name, text, top_headers) + check_machine_paths(name, text)
        errors += check_attributes(name, text) + check_architectures(name, text)
        if Path(name).suffix in SOURCES and (lines := text.count("\n")) > LONG_FILE:
            print(f"warning: {name}: {lines} lines; does it hold two ideas?")
    return errors + check_operators(named_operators(root, files)) + check_functions(root, files)


def main() -> int:
    root = Path(__file__).resolve().parents[1]
    files = tracked_files(root)
    errors = check(root, files)
    for error in errors:
        print(f"error: {error}")
    print(f"layout: {len(files)} files, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
