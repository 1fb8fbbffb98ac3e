"""Schedules as files: what `inspect --schedules` prints is what `compile --schedules` does."""

import re
from pathlib import Path

import pytest
from cli.tool import DIGITS, perpend, reject, save, succeed, value
from onnx import helper

PRODUCT = """\
%product = get_block "contract"
%i, %j, %k = get_loops %product
%i0, %i1 = split %i, [_, 4]   // rows
%j0, %j1 = split %j, [_, 8]
reorder %i0, %j0, %i1, %j1, %k
parallel %i0
"""


@pytest.fixture
def softmax(tmp_path: Path) -> Path:
    nodes = [helper.make_node("Softmax", ["x"], ["y"], name="softmax")]
    return save(tmp_path / "softmax.onnx", nodes, [value("x", ["n", 7])], [value("y", ["n", 7])])


@pytest.fixture
def product(tmp_path: Path) -> Path:
    nodes = [helper.make_node("MatMul", ["a", "b"], ["y"], name="product")]
    return save(tmp_path / "product.onnx", nodes, [value("a", ["n", 5]), value("b", [5, 13])], [value("y", ["n", 13])])


def kernel_of(model: Path) -> str:
    """The name of the kernel that is not packed."""
    text = succeed("compile", model, "-O1", "--stop-after", "fuse", folder=model.parent)
    return re.findall(r"func.func private @(\w+)", text)[0]


def save_schedule(model: Path, trace: str, head: str = "") -> Path:
    path = model.with_suffix(".schedules")
    path.write_text(f"schedule @{kernel_of(model)} {head}{{\n{trace}}}\n")
    return path


def tiled(model: Path, *options: object) -> str:
    return succeed("compile", model, "--stop-after", "tile", *options, folder=model.parent)


def test_what_inspect_prints_is_what_was_done(softmax: Path) -> None:
    text = succeed("inspect", softmax, "--schedules", folder=softmax.parent)
    assert re.match(
        r'schedule @reduce\w+ structure "\w{16}" for "[^"]+" \{\n  // by the rule rows\n  %\w+ = get_block', text
    )
    (softmax.parent / "all.schedules").write_text(text)
    assert tiled(softmax, "--schedules", "all.schedules") == tiled(softmax)
    options = ["--schedules", "all.schedules", "--symbol", "n=5"]
    assert "agree" in succeed("check", softmax, *options, "--against", "interpreter", folder=softmax.parent)


def test_whose_the_trace_is(tmp_path: Path) -> None:
    nodes = [helper.make_node("Transpose", ["x"], ["y"])]
    model = save(tmp_path / "narrow.onnx", nodes, [value("x", ["n", 3])], [value("y", [3, "n"])])
    text = succeed("inspect", model, "--schedules", folder=tmp_path)
    refused = "  // not by the rule movement: a tile has less than 4 rows or columns\n"
    assert f"{{\n{refused}  // by the rule pointwise\n  %transpose = " in text
    (tmp_path / "narrow.schedules").write_text(text)
    options = ["--stop-after", "schedule", "--schedules", "narrow.schedules"]
    assert "rule" not in succeed("compile", model, *options, folder=tmp_path)  # it is the file's


def test_every_kernel_of_a_model(tmp_path: Path) -> None:
    text = succeed("inspect", DIGITS, "--schedules", folder=tmp_path)
    (tmp_path / "all.schedules").write_text(text)
    options = ["--stop-after", "tile"]
    default = succeed("compile", DIGITS, *options, folder=tmp_path)
    assert succeed("compile", DIGITS, *options, "--schedules", "all.schedules", folder=tmp_path) == default
    kernels = re.findall(r"^schedule @(\w+)", text, re.M)
    assert len(kernels) > 3 and all(f"func.func private @{name}(" in default for name in kernels)


def test_a_trace_by_hand(product: Path) -> None:
    path = save_schedule(product, PRODUCT)
    assert "scf.for" in (text := tiled(product, "-O1", "--schedules", path))
    assert text != tiled(product, "-O1") and '"reorder %i0, %j0, %i1, %j1, %k"' in text
    for n in (0, 1, 11):
        options = ["-O1", "--schedules", path, "--symbol", f"n={n}"]
        assert "agree" in succeed("check", product, *options, "--against", "interpreter", folder=product.parent)


def save_ranges(model: Path) -> Path:
    """One row at a time for few of them, and blocks whose last one is cut; others get the rule's trace."""
    traces = {"n <= 4": PRODUCT.replace("[_, 4]", "[_, 1]"), "5 <= n <= 9": PRODUCT.replace("[_, 4]", "[_, 3]")}
    path = model.parent / "ranges.schedules"
    sections = [f'schedule @{kernel_of(model)} where "{where}" {{\n{trace}}}\n' for where, trace in traces.items()]
    path.write_text("".join(sections))
    return path


def test_traces_for_ranges(product: Path) -> None:
    options = ["-O1", "--schedules", save_ranges(product)]
    folder, name = product.parent, kernel_of(product)
    text = tiled(product, *options)
    assert f"tile.variants = [@{name}_variant1, @{name}_variant2]" in text
    for n in (0, 1, 4, 5, 9, 10, 31):
        for more in ([], ["--checked"]):
            extent = ["--symbol", f"n={n}", "--against", "interpreter"]
            assert "agree" in succeed("check", product, *options, *extent, *more, folder=folder)
    bench = ["bench", product, *options, "--profile", "--time", "1"]
    for n, ran in ((4, "_variant1"), (5, "_variant2"), (10, "")):
        rows = succeed(*bench, "--symbol", f"n={n}", "--threads", "2", folder=folder).splitlines()
        assert [row.split()[-2] for row in rows if re.match(r" +1 +\d", row)] == [name + ran]
    for phase in ("schedule", "tile", "plan"):  # each is read back, and the interpreter chooses as the code does
        succeed("compile", product, *options, "--stop-after", phase, "-o", "phase.mlir", folder=folder)
        assert "agree" in succeed("check", "phase.mlir", "--symbol", "n=4", "--against", "interpreter", folder=folder)


def test_ranges_in_a_module_of_text(product: Path) -> None:
    folder, name = product.parent, kernel_of(product)
    text = tiled(product, "-O1", "--schedules", save_ranges(product))
    for old, new, message in (
        ('"n <= 4"', '"m <= 4"', 'expected values of one of its symbols as tile.range\nhint: tile.range = "n <= 16"'),
        (f"[@{name}_variant1, ", f"[@{name}, ", "expected variants in tile.variants, got @"),
        (f"[@{name}_variant1, @{name}_variant2]", "3", "expected a list of functions as tile.variants"),
        ('tile.range = "n <= 4"', "tile.other", "expected variants in tile.variants, got @"),
        (f"call_kernel @{name}(", f"call_kernel @{name}_variant1(", "is a variant\nhint: main calls the kernel"),
        ('graph.symbols = ["n"], ', 'graph.symbols = ["n", "m"], ', "expected the type and the symbols of"),
    ):
        assert text.count(old)
        (folder / "changed.mlir").write_text(new.join(text.rsplit(old, 1)))
        said = reject("compile", "changed.mlir", "-o", "p.so", "--start-from", "plan", folder=folder)
        assert message in said, said


def test_a_trace_in_a_module_of_text(product: Path) -> None:
    text = succeed("compile", product, "-O1", "--stop-after", "fuse", folder=product.parent)
    lines = ", ".join('"' + line.replace('"', "\\22") + '"' for line in PRODUCT.splitlines())
    path = product.parent / "changed.mlir"
    path.write_text(text.replace("tile.kernel}", f"tile.kernel, tile.trace = [{lines}]}}"))
    changed = tiled(product, "-O1", "--override-phase", f"fuse:{path}")
    assert '"reorder %i0, %j0, %i1, %j1, %k"' in changed
    path.write_text(path.read_text().replace("parallel %i0", "parallel %k0"))
    message = reject(
        "compile", product, "-o", "p.so", "-O1", "--override-phase", "fuse:changed.mlir", folder=product.parent
    )
    assert "instruction 6, column 10 of tile.trace: parallel: %k0 is not defined before" in message
    assert "hint: did you mean %k?" in message


def test_a_grain_stays(product: Path) -> None:
    text = succeed("compile", product, "-O1", "--stop-after", "fuse", folder=product.parent)
    path = product.parent / "changed.mlir"
    path.write_text(text.replace("tile.kernel}", "tile.kernel, tile.schedule = {grain = 3 : i64}}"))
    override = ["-O1", "--override-phase", f"fuse:{path}"]
    for options in ([], ["--schedules", save_schedule(product, PRODUCT)]):
        assert "tile.schedule = {grain = 3 : i64}" in tiled(product, *override, *options)
        assert re.search(r"tile.schedule = \{(estimate, )?grain = \d+ : i64\}", tiled(product, "-O1", *options))
    lowered = succeed("compile", product, *override, "--stop-after", "lower", folder=product.parent)
    assert "constant(3 : i64)" in lowered and "constant(-3 : i64)" not in lowered


WRONG = {
    "a primitive": ("  splt %i, [_, 4]\n", "", ":3: there is no primitive 'splt'\nhint: did you mean split?"),
    "an operand": (
        '  %b = get_block "contract"\n  parallel %b\n',
        "",
        ":3:12: kernel '@': parallel: expected a loop, got the block %b\nhint: docs/schedule-primitives.md",
    ),
    "a block": ('  %b = get_block "reduce"\n', "", ":2:8: kernel '@': get_block: expected one of the blocks contract"),
    "a machine": ("", 'for "z16"', ":1:1: the schedule of @@ is for the target 'z16', expected one for 'x86-64-v3'"),
    "numbers": (
        '  %b = get_block "contract"\n  %i, %j, %k = get_loops %b\n  split %i, [_, 4611686018427387904]\n',
        "",
        "kernel '@': behind its trace, an index or the size of a buffer is too large or too long an expression",
    ),
    "a range": (
        "",
        'where "n < 4" ',
        ': expected values of a symbol, such as "n <= 16" or "17 <= n <= 64", got "n < 4"',
    ),
    "an end": ("}\n", "", ":3:1: expected schedule @kernel structure "),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong(product: Path, name: str) -> None:
    trace, head, message = WRONG[name]
    path = save_schedule(product, trace, head)
    options = ["-O1", "--target", "x86-64-v3", "--schedules", path.name]
    said = reject("compile", product, "-o", "p.so", *options, folder=product.parent)
    assert message.replace("@@", "@" + kernel_of(product)).replace("'@'", f"'{kernel_of(product)}'") in said
    assert not (product.parent / "p.so").exists()


def test_what_fits_no_kernel_is_named(product: Path) -> None:
    name = kernel_of(product)
    text = f'schedule @nothing {{\n}}\nschedule @{name} structure "0123456789abcdef" {{\n  parallel %i\n}}\n'
    (product.parent / "old.schedules").write_text(text)
    done = perpend("compile", product, "-o", "p.so", "-O1", "--schedules", "old.schedules", folder=product.parent)
    assert done.returncode == 0
    hint = (
        "hint: perpend inspect --schedules lists those that it has; what is scheduled with plain operands is compiled "
        "so, too (--unpacked)"
    )
    assert done.stderr.splitlines() == [
        "warning: old.schedules:1: the schedule of @nothing is not used: the model has no kernel of this name",
        hint,
        f"warning: old.schedules:3: the schedule of @{name} is not used: the model has a kernel of this name, "
        "with another structure",
        hint,
    ]


def test_ranges_that_fit_nothing(product: Path) -> None:
    name = kernel_of(product)
    (product.parent / "m.schedules").write_text(f'schedule @{name} where "m <= 4" {{\n}}\n')
    done = perpend("compile", product, "-o", "p.so", "-O1", "--schedules", "m.schedules", folder=product.parent)
    assert done.returncode == 0 and done.stderr.splitlines() == [
        f"warning: m.schedules:1: the schedule of @{name} for m <= 4 is not used: the kernel has no symbol 'm'",
        "hint: its symbols are n",
    ]
    section = f'schedule @{name} where "n <= 4" {{\n}}\n'
    (product.parent / "twice.schedules").write_text(2 * section)
    said = reject("compile", product, "-o", "p.so", "-O1", "--schedules", "twice.schedules", folder=product.parent)
    assert f"the kernel @{name} has a schedule already for n <= 4, in line 1" in said


def test_schedules_that_cannot_be_read(product: Path) -> None:
    said = reject("compile", product, "-o", "p.so", "--schedules", "none.schedules", folder=product.parent)
    assert "cannot read 'none.schedules', the schedules: No such file or directory\nhint: " in said
    succeed("compile", product, "--stop-after", "tile", "-o", "tiled.mlir", folder=product.parent)
    (product.parent / "empty.schedules").write_text("// nothing\n")
    options = ["--start-from", "plan", "--schedules", "empty.schedules"]
    said = reject("compile", "tiled.mlir", "-o", "p.so", *options, folder=product.parent)
    assert "--schedules is for kernels before the phase 'schedule', and the compilation starts from 'plan'" in said
