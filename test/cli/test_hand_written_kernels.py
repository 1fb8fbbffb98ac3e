"""Intrinsics that are C functions of object files: checked, linked, candidates of the tuner, in its records."""

import json
import re
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from cli.tool import F32, perpend, reject, save, succeed, value
from e2e.models import CLANG
from onnx import helper, numpy_helper

MATRIX = "memref<?x?xf32, strided<[?, 1], offset: ?>>"
INTRINSIC = f"""\
func.func private @gemm(%a: !tile.buffer<[m, k] x f32>, %b: !tile.buffer<[k, n] x f32>,
                        %c: !tile.buffer<[m, n] x f32>) attributes {{
  tile.intrinsic = {{
    strides = [["_", "1"], ["_", "1"], ["_", "1"]],
    implementation = @my_gemm,
    objects = ["gemm.o"]
  }}}} {{
  tile.for %i in m {{ tile.for %j in n {{ tile.for %l in k {{
    tile.block "sum" spatial(%vi in m = %i, %vj in n = %j) reduced(%vl in k = %l) {{
      tile.init {{
        %zero = arith.constant 0.0 : f32
        tile.store %zero, %c[%vi, %vj] : !tile.buffer<[m, n] x f32>
      }}
      %sum = tile.load %c[%vi, %vj] : !tile.buffer<[m, n] x f32>
      %x = tile.load %a[%vi, %vl] : !tile.buffer<[m, k] x f32>
      %y = tile.load %b[%vl, %vj] : !tile.buffer<[k, n] x f32>
      %product = arith.mulf %x, %y : f32
      %next = arith.addf %sum, %product : f32
      tile.store %next, %c[%vi, %vj] : !tile.buffer<[m, n] x f32>
    }}
  }} }} }}
  return
}}
func.func private @my_gemm({MATRIX}, {MATRIX}, {MATRIX})
"""
# Four rows and sixteen columns at a time, and what is left one by one.
CODE = """\
#include <stdint.h>
typedef struct {
  float *allocated, *aligned;
  int64_t offset, sizes[2], strides[2];
} Matrix;
typedef float Vector __attribute__((vector_size(64), aligned(4)));
const char mark[] = "a kernel that somebody wrote by hand";

static float *at(const Matrix *m, int64_t i, int64_t j) { return m->aligned + m->offset + i * m->strides[0] + j; }

void _mlir_ciface_my_gemm(const Matrix *a, const Matrix *b, const Matrix *c) {
  int64_t rows = c->sizes[0], columns = c->sizes[1], depth = a->sizes[1];
  const char *volatile kept = mark;
  (void)kept;
  for (int64_t i = 0; i < rows; ) {
    int64_t together = i + 4 <= rows ? 4 : 1, j = 0;
    for (; together == 4 && j + 16 <= columns; j += 16) {
      Vector sums[4] = {};
      for (int64_t k = 0; k < depth; ++k)
        for (int r = 0; r < 4; ++r)
          sums[r] += *at(a, i + r, k) * *(const Vector *)at(b, k, j);
      for (int r = 0; r < 4; ++r)
        *(Vector *)at(c, i + r, j) = sums[r];
    }
    for (; j < columns; ++j)
      for (int64_t r = i; r < i + together; ++r) {
        float sum = 0;
        for (int64_t k = 0; k < depth; ++k)
          sum += *at(a, r, k) * *at(b, k, j);
        *at(c, r, j) = sum;
      }
    i += together;
  }
}
"""
MARK = b"a kernel that somebody wrote by hand"
OPTIONS = ["--unpacked", "--intrinsics", "gemm.mlir"]
SCHEDULED = [*OPTIONS, "--schedules", "product.schedules"]


def compile_c(folder: Path, code: str, name: str = "gemm", *options: str) -> Path:
    (folder / f"{name}.c").write_text(code)
    usual = [] if any(option.startswith("-fno-pic") for option in options) else ["-fPIC"]
    command = [str(CLANG), "-O2", *usual, *options, "-c", f"{name}.c", "-o", f"{name}.o"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / f"{name}.o"


def save_product(folder: Path, depth: int = 24, columns: int = 40) -> Path:
    """y = relu(x @ w + b)"""
    generator = np.random.default_rng(1)
    weights = [
        numpy_helper.from_array(generator.standard_normal(shape).astype(np.float32), name)
        for name, shape in {"w": (depth, columns), "b": (columns,)}.items()
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"], name="product"),
        helper.make_node("Add", ["p", "b"], ["s"], name="add"),
        helper.make_node("Relu", ["s"], ["y"], name="relu"),
    ]
    inputs, outputs = [value("x", ["n", depth], F32)], [value("y", ["n", columns], F32)]
    return save(folder / "product.onnx", nodes, inputs, outputs, weights)


def save_schedule(model: Path, text: str = "", *options: str) -> None:
    listed = succeed("inspect", model, "--schedules", "--unpacked", *options, folder=model.parent)
    head = re.match(r"schedule @\w+", listed)
    assert head
    trace = '%sum = get_block "contract"\n%i, %j, %k = get_loops %sum\ntensorize %i, "gemm"\n'
    model.with_suffix(".schedules").write_text(f"{head[0]} {{\n{text or trace}}}\n")


@pytest.fixture
def product(tmp_path: Path) -> Path:
    """With a schedule that gives all of the product to the function."""
    model = save_product(tmp_path)
    (tmp_path / "gemm.mlir").write_text(INTRINSIC)
    compile_c(tmp_path, CODE)
    save_schedule(model)
    return model


# --- Used ------------------------------------------------------------------------------------------------------------


def test_a_product_by_hand(product: Path) -> None:
    tiled = succeed("compile", product, "--stop-after", "tile", *SCHEDULED, folder=product.parent)
    assert tiled.count('tile.call_intrinsic "gemm"') == 1
    for n in (0, 1, 4, 13):
        said = succeed("check", product, *SCHEDULED, "--symbol", f"n={n}", folder=product.parent)
        assert "agree" in said
        checked = ["--checked", "--symbol", f"n={n}"]
        assert "agree" in succeed("check", product, *SCHEDULED, *checked, folder=product.parent)


@pytest.mark.parametrize("name", ["p.so", "p.a", "p.exe"])
def test_what_an_artifact_has(product: Path, name: str) -> None:
    """The object where the intrinsic is used, and only there."""
    kind = ["-o", name, *(["--exe"] if name.endswith("exe") else [])]
    for options, isUsed in ((SCHEDULED, True), (OPTIONS, False)):
        succeed("compile", product, *kind, *options, folder=product.parent)
        assert (MARK in (product.parent / name).read_bytes()) == isUsed


def test_an_artifact_stands_alone(product: Path) -> None:
    succeed("compile", product, "-o", "p.exe", "--exe", *SCHEDULED, folder=product.parent)
    for name in ("gemm.o", "gemm.mlir"):
        (product.parent / name).unlink()
    x = np.random.default_rng(2).standard_normal((9, 24)).astype(np.float32)
    np.save(product.parent / "x.npy", x)
    run = ["./p.exe", "--input", "x=x.npy", "--output-dir", "."]
    subprocess.run(run, cwd=product.parent, check=True, capture_output=True)
    text = succeed("check", product, "--input", "x.npy", "--unpacked", folder=product.parent)
    assert "agree" in text and np.load(product.parent / "y.npy").shape == (9, 40)


def test_several_machines(product: Path) -> None:
    """One object, of one architecture, for all of them; without a schedule, where it is cheap."""
    for cycles, isUsed in (('cycles = "1", ', True), ("", False)):
        (product.parent / "gemm.mlir").write_text(INTRINSIC.replace("objects", cycles + "objects"))
        machines = ["--target", "x86-64,x86-64-v3", *OPTIONS]
        succeed("compile", product, "-o", "p.so", *machines, folder=product.parent)
        assert (MARK in (product.parent / "p.so").read_bytes()) == isUsed
        assert "agree" in succeed("check", product, *OPTIONS, "--symbol", "n=13", folder=product.parent)


BLAS = """\
#include <stdint.h>
const char mark[] = "a kernel that somebody wrote by hand";
void my_sgemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb, float *c,
              int64_t ldc) {
  const char *volatile kept = mark;
  (void)kept;
  if (lda < k || ldb < n || ldc < n)
    __builtin_trap();
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      c[i * ldc + j] = 0;
      for (int64_t l = 0; l < k; ++l)
        c[i * ldc + j] += a[i * lda + l] * b[l * ldb + j];
    }
}
"""
SHIM = """\
void my_sgemm(int64_t, int64_t, int64_t, const float *, int64_t, const float *, int64_t, float *, int64_t);
void _mlir_ciface_my_gemm(const Matrix *a, const Matrix *b, const Matrix *c) {
  my_sgemm(c->sizes[0], c->sizes[1], a->sizes[1], at(a, 0, 0), a->strides[0], at(b, 0, 0), b->strides[0], at(c, 0, 0),
           c->strides[0]);
}
"""


@pytest.fixture
def library(product: Path) -> Path:
    """A function that calls a library, which is an archive. As such a library does, it wants whole rows."""
    folder = product.parent
    head, _ = CODE.split("void _mlir_ciface", maxsplit=1)
    compile_c(folder, head.replace("const char mark[]", "static const char mark[]") + SHIM, "gemm", "-Wno-unused")
    compile_c(folder, BLAS, "sgemm")
    compile_c(folder, "int other_function(void) { return 7; }\n", "other")
    (folder / "readme.txt").write_text("no object\n")
    archive(folder, "libblas.a", "sgemm.o", "other.o", "readme.txt")
    strides = 'strides = [["k", "1"], ["n", "1"], ["n", "1"]]'
    text = re.sub(r"strides = \[\[.*\]\]", strides, INTRINSIC)
    (folder / "gemm.mlir").write_text(text.replace('["gemm.o"]', '["gemm.o", "libblas.a"]'))
    return product


def archive(folder: Path, name: str, *members: str) -> None:
    subprocess.run([str(CLANG.parent / "llvm-ar"), "rc", name, *members], cwd=folder, check=True)


def test_a_library(library: Path) -> None:
    """Of an archive, what is needed is linked."""
    folder = library.parent
    assert "agree" in succeed("check", library, *SCHEDULED, "--symbol", "n=13", folder=folder)
    for name in ("p.so", "p.a"):
        succeed("compile", library, "-o", name, *SCHEDULED, folder=folder)
        assert MARK in (folder / name).read_bytes()
    listed = subprocess.run([str(CLANG.parent / "llvm-ar"), "t", "p.a"], cwd=folder, capture_output=True, text=True)
    assert {"gemm.o", "sgemm.o"} <= set(listed.stdout.split()) and "libblas.a" not in listed.stdout
    (folder / "gemm.mlir").write_text(INTRINSIC)
    said = reject("compile", library, "-o", "p.so", *SCHEDULED, folder=folder)
    assert "intrinsic 'gemm': its implementation cannot be linked: undefined symbol: my_sgemm\n" in said
    assert said.rstrip().splitlines()[-1].startswith("hint: objects are compiled with -fPIC, and list every object")


def test_strides_of_a_single_row(library: Path) -> None:
    """No loop moves it, and yet its stride is what the description says."""
    one = ["--dim", "n=1"]
    save_schedule(library, '%sum = get_block "contract"\n%j, %k = get_loops %sum\ntensorize %j, "gemm"\n', *one)
    tiled = succeed("compile", library, "--stop-after", "tile", *one, *SCHEDULED, folder=library.parent)
    assert tiled.count('tile.call_intrinsic "gemm"') == 1
    assert "agree" in succeed("check", library, *one, *SCHEDULED, folder=library.parent)


def test_paths_are_from_the_folder_of_the_file(product: Path) -> None:
    folder = product.parent / "kernels"
    folder.mkdir()
    for name in ("gemm.o", "gemm.mlir"):
        (product.parent / name).rename(folder / name)
    options = ["--unpacked", "--intrinsics", "kernels/gemm.mlir", "--schedules", "product.schedules"]
    assert "agree" in succeed("check", product, *options, folder=product.parent)


# --- Tuned -----------------------------------------------------------------------------------------------------------


def tune(
    model: Path, *options: object, trials: int = 16, usual: Sequence[str] = OPTIONS
) -> tuple[str, list[dict[str, object]]]:
    """The page of the run, and the records."""
    ends = ["--budget", "60s", "--trials", trials, "--cost-model", "none"]
    files = ["-o", "t.db", "--html", "t.html"]
    done = perpend("tune", model, *files, "--symbol", "n=256", *ends, *usual, *options, folder=model.parent)
    assert done.returncode == 0, done.stderr
    records = json.loads(succeed("db", "export", "t.db", "-o", "-", folder=model.parent))["perpend records"]
    return (model.parent / "t.html").read_text(), records


def test_rules_offer_it(product: Path) -> None:
    """All of the product, rows of it with what follows, and columns."""
    page, _ = tune(product, "--space", "rules", "--search", "random", trials=60)
    tried = set(re.findall(r"tensorize %(\w+), &quot;gemm&quot;", page))
    assert len(tried) >= 2 and "f32.block" in page, tried


def test_rules_offer_it_on_a_copy(tmp_path: Path) -> None:
    """Of an operand that is packed for another intrinsic, in panels of 2 vectors."""
    model = save_product(tmp_path, 48, 112)
    (tmp_path / "gemm.mlir").write_text(INTRINSIC)
    compile_c(tmp_path, CODE)
    found = ["--intrinsics", "gemm.mlir", "--space", "rules", "--search", "random"]
    page, _ = tune(model, *found, trials=40, usual=())
    copied = re.search(r"transform_layout %\w+, &quot;read&quot;, 1, \(p, k, c\) -&gt; \(k, [^<]*", page)
    assert copied and "tensorize %i0, &quot;gemm&quot;" in page[copied.end() :]
    assert "<th>wrong</th>" in page and not re.search(r"outcome.*wrong", page.split("Not measured")[-1])


def test_the_best_is_recorded(tmp_path: Path) -> None:
    """The compiler has to do without the instructions that the function has."""
    if "avx2" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this machine has no avx2")
    model = save_product(tmp_path, 256, 256)
    (tmp_path / "gemm.mlir").write_text(INTRINSIC)
    compile_c(tmp_path, CODE, "gemm", "-O3", "-march=native")
    target = ["--target", "x86-64"]
    for seed in (1, 2, 3):  # times of a busy machine may say nothing
        _, records = tune(model, "--space", "rules", "--seed", seed, *target, trials=24)
        if records:
            break
    assert len(records) == 1 and '"gemm"' in str(records[0]["trace"]), records
    database = ["-o", "p.so", "--database", "t.db", "--unpacked", "--explain", *target]
    said = succeed("compile", model, *database, "--intrinsics", "gemm.mlir", folder=tmp_path)
    assert "database: records for 1 of 1 kernel" in said
    assert MARK in (tmp_path / "p.so").read_bytes()
    done = perpend("compile", model, *database, folder=tmp_path)
    assert done.returncode == 0 and MARK not in (tmp_path / "p.so").read_bytes()
    assert re.search(r'refused: .*tensorize %\w+, "gemm": expected one of the intrinsics ', done.stdout)
    assert "\nhint: --intrinsics FILE, as when it was found; or tune again into another file\n" in done.stderr


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("*(volatile int *)0 = 1;", "its process ended with signal 11"), ("*at(c, 0, 0) += 1000;", "max abs error")],
)
def test_a_candidate_that_fails_at_this_size(product: Path, fault: str, reason: str) -> None:
    """What is right on small data is a candidate; where it is not, it costs that one alone."""
    end = CODE.rstrip().removesuffix("}")
    compile_c(product.parent, f"{end}  if (rows >= 64) {{ {fault} }}\n}}\n")
    sketches = ["--sketches", "product.schedules", "--space", "trace", "--search", "random"]
    page, records = tune(product, *sketches, trials=12)
    assert reason in page, page
    assert all('"gemm"' not in str(record["trace"]) for record in records)


# --- Wrong -----------------------------------------------------------------------------------------------------------


WHERE = "gemm.mlir:24:1: intrinsic 'gemm': "


def refused(product: Path) -> str:
    said = reject("compile", product, "-o", "p.so", *SCHEDULED, folder=product.parent)
    assert said.startswith("error: gemm.mlir:") and not (product.parent / "p.so").exists()
    return said


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("float sum = 0;", "float sum = 1;", "its implementation does not compute what its description says with k = "),
        ("float sum = 0;", "float sum = *(volatile float *)0;", "its implementation does not return with k = "),
        ("int64_t rows = c", "*at(a, 0, -1) = 1; int64_t rows = c", "its implementation writes with k = "),
    ],
)
def test_a_wrong_function(product: Path, old: str, new: str, message: str) -> None:
    assert old in CODE
    compile_c(product.parent, CODE.replace(old, new))
    assert WHERE + message in refused(product)


def test_no_such_file(product: Path) -> None:
    (product.parent / "gemm.o").unlink()
    expected = WHERE + "the object 'gemm.o': No such file or directory\nhint: paths are from the folder of the file"
    assert expected in refused(product)


def test_a_file_of_another_kind(product: Path) -> None:
    archive(product.parent, "lib.a", "gemm.o", "gemm.c")
    damaged = (product.parent / "lib.a").read_bytes()[:-900]
    for content, kind in ((b"int f;", "a file of another kind"), (damaged, "a damaged one: ")):
        (product.parent / "gemm.o").write_bytes(content)
        said = refused(product)
        assert WHERE + "the object 'gemm.o': expected an object file or a static archive, got " + kind in said
        assert "\nhint: `cc -c -O2 -fPIC` makes an object file, and `ar rc` an archive of some" in said


def test_a_table_of_symbols_without_end(product: Path) -> None:
    path = product.parent / "gemm.o"
    content = bytearray(path.read_bytes())
    (table,), (count,) = struct.unpack_from("<Q", content, 0x28), struct.unpack_from("<H", content, 0x3C)
    headers = [table + 64 * number for number in range(count)]
    (symbols,) = (at for at in headers if struct.unpack_from("<I", content, at + 4) == (2,))
    struct.pack_into("<Q", content, symbols + 0x20, 2**56)
    path.write_bytes(content)
    assert "the object 'gemm.o': expected an object file or a static archive, got a damaged one: " in refused(product)


def test_a_shared_library(product: Path) -> None:
    command = [str(CLANG), "-shared", "-nostdlib", "-fuse-ld=lld", "gemm.o", "-o", "gemm.so"]
    subprocess.run(command, cwd=product.parent, check=True)
    (product.parent / "gemm.mlir").write_text(INTRINSIC.replace("gemm.o", "gemm.so"))
    assert "the object 'gemm.so': expected an object file or a static archive, got a shared lib" in refused(product)


@pytest.mark.parametrize("name", ["aarch64", "i386"])
def test_another_machine(product: Path, name: str) -> None:
    compile_c(product.parent, "void _mlir_ciface_my_gemm(void) {}\n", "gemm", f"--target={name}-linux-gnu")
    expected = f"{WHERE}the object 'gemm.o': expected one for x86_64, got one for {name}\nhint: compile it for the t"
    assert expected in refused(product)


def test_a_member_of_another_machine(product: Path) -> None:
    compile_c(product.parent, "int other;\n", "other", "--target=aarch64-linux-gnu")
    archive(product.parent, "libgemm.a", "gemm.o", "other.o")
    (product.parent / "gemm.mlir").write_text(INTRINSIC.replace("gemm.o", "libgemm.a"))
    assert "the object 'libgemm.a(other.o)': expected one for x86_64, got one for aarch64\n" in refused(product)


def test_no_such_function(product: Path) -> None:
    compile_c(product.parent, CODE.replace("_mlir_ciface_my_gemm", "_mlir_ciface_gemm"))
    missing = WHERE + "none of its objects has the function _mlir_ciface_my_gemm\nhint: "
    assert missing + 'it is a C function of this name; in C++, extern "C"\n' in refused(product)
    compile_c(product.parent, CODE.replace("_mlir_ciface_my_gemm", "my_gemm"))
    expected = missing + "the C function is called my_gemm there; its name begins with _mlir_ciface_\n"
    assert expected in refused(product)


def test_code_that_cannot_be_anywhere(product: Path) -> None:
    compile_c(product.parent, CODE, "gemm", "-fno-pic", "-mcmodel=medium", "-fno-pie")
    code = CODE.replace("const char mark[]", "static int counter[4];\nconst char mark[]")
    compile_c(
        product.parent, code.replace("(void)kept;", "(void)kept; counter[rows & 3]++;"), "gemm", "-fno-pic", "-fno-pie"
    )
    said = refused(product)
    assert "its implementation cannot be linked: relocation R_X86_64_32" in said
    assert "\nhint: objects are compiled with -fPIC" in said


TEXTS = {
    "a body": (
        f"@my_gemm({MATRIX}, {MATRIX}, {MATRIX})",
        f"@my_gemm(%a: {MATRIX}, %b: {MATRIX}, %c: {MATRIX}) {{ return }}",
        "24:1: intrinsic 'gemm': objects: expected an implementation without a body, which is in the objects",
    ),
    "no objects": (
        ',\n    objects = ["gemm.o"]',
        "",
        "23:1: intrinsic 'gemm': expected a body of one block as the implementation, or objects that have it",
    ),
    "no list": (
        '["gemm.o"]',
        '"gemm.o"',
        "1:1: intrinsic 'gemm': objects: expected a list of paths of object files and archives",
    ),
    "no paths": ('["gemm.o"]', "[1]", "1:1: intrinsic 'gemm': objects: expected a list of paths of object files and"),
    "an empty path": ('"gemm.o"', '""', "1:1: intrinsic 'gemm': objects: expected a list of paths of object files and"),
    "other types": (
        "?xf32, strided<[?, 1], offset: ?>>)",
        "?xf64, strided<[?, 1], offset: ?>>)",
        "24:1: intrinsic 'gemm",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_wrong_texts(product: Path, name: str) -> None:
    old, new, message = TEXTS[name]
    assert old in INTRINSIC
    (product.parent / "gemm.mlir").write_text(INTRINSIC.replace(old, new))
    assert f"error: gemm.mlir:{message}" in refused(product)
