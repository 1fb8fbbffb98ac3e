"""A compiled model whose file is damaged, before it is loaded or while it is: an error, and never another result."""

import ctypes
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import perpend
import pytest
from e2e.models import run_tool
from onnx import TensorProto, helper, numpy_helper, save_model

STRIDE = 101


def write_model(path: Path, columns: int, activation: str = "Relu") -> None:
    """y = activation(x @ w), with `columns` columns."""
    weight = numpy_helper.from_array(np.arange(8 * columns, dtype=np.float32).reshape(8, columns) % 7 - 3, "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node(activation, ["p"], ["y"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", columns])
    opset = helper.make_opsetid("", 21)
    save_model(helper.make_model(helper.make_graph(nodes, "g", [x], [y], [weight]), opset_imports=[opset]), path)


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of small.so, the program small, and large.so, which is too large to be loaded as a copy; other.so has
    the same weights."""
    folder = tmp_path_factory.mktemp("artifacts")
    for name, columns in [("small", 5), ("large", 400_000), ("other", 400_000)]:
        write_model(folder / f"{name}.onnx", columns, "Neg" if name == "other" else "Relu")
        run_tool("compile", f"{name}.onnx", "-o", f"{name}.so", folder=folder)
    run_tool("compile", "small.onnx", "-o", "small", "--exe", folder=folder)
    return folder


def loaded_parts(path: Path) -> list[tuple[int, int]]:
    """What of the file the dynamic linker reads: headers and loadable segments."""
    data = path.read_bytes()
    start, size, count = (int.from_bytes(data[at : at + width], "little") for at, width in [(32, 8), (54, 2), (56, 2)])
    parts = [(0, start + size * count)]
    for header in range(start, start + size * count, size):
        kind, offset, length = (
            int.from_bytes(data[header + at : header + at + width], "little") for at, width in [(0, 4), (8, 8), (32, 8)]
        )
        if kind == 1:
            parts.append((offset, offset + length))
    return parts


def test_every_flipped_bit_is_found(artifacts: Path, tmp_path: Path) -> None:
    good = (artifacts / "small.so").read_bytes()
    parts = loaded_parts(artifacts / "small.so")
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(3, 8)
    expected = perpend.load(str(artifacts / "small.so"))(x)
    refused = 0
    for number, place in enumerate(range(0, len(good), STRIDE)):
        damaged = bytearray(good)
        damaged[place] ^= 1 << number % 8
        path = tmp_path / f"{place}.so"
        path.write_bytes(damaged)
        try:
            model = perpend.load(str(path))
        except (RuntimeError, ValueError):
            refused += 1
        else:
            assert not any(begin <= place < end for begin, end in parts), f"byte {place} of the file"
            np.testing.assert_array_equal(model(x), expected)
        path.unlink()
    assert refused > 0.9 * len(good) / STRIDE


def test_code_and_constants_of_a_program(artifacts: Path, tmp_path: Path) -> None:
    """It looks at itself: its code in memory, behind what starts it."""
    good = (artifacts / "small").read_bytes()
    text = subprocess.run(["readelf", "-SW", artifacts / "small"], capture_output=True, text=True, check=True).stdout
    sections = {words[1]: words for line in text.splitlines() if len(words := line.replace("[ ", "[").split()) > 6}
    program = tmp_path / "small"
    np.save(tmp_path / "x.npy", np.ones((2, 8), np.float32))
    for section, share in [(".rodata", 0.02), (".rodata", 0.98), (".text", 0.02)]:
        begin, size = int(sections[section][4], 16), int(sections[section][5], 16)
        damaged = bytearray(good)
        damaged[begin + int(size * share)] ^= 4
        program.write_bytes(damaged)
        program.chmod(0o755)
        done = subprocess.run([program, "--input", "x=x.npy"], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode != 0 and "code: checksum: expected" in done.stdout + done.stderr, section


def start_with_breakpoint(program: Path, at: int, folder: Path) -> subprocess.Popen[bytes]:
    """A program with another byte at an offset of its file, in memory alone and with nobody that traces it: as uprobes
    leave it, and a debugger that has gone."""
    traceMe, detach = 0, 17
    libc = ctypes.CDLL(None, use_errno=True)
    process = subprocess.Popen(
        [program, "--input", "x=x.npy"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        preexec_fn=lambda: libc.ptrace(traceMe, 0, None, None),
    )
    os.waitpid(process.pid, 0)  # before its first instruction
    for line in Path(f"/proc/{process.pid}/maps").read_text().splitlines():
        addresses, _, offset, _, _, *name = line.split()
        begin, end = (int(address, 16) for address in addresses.split("-"))
        place = begin + at - int(offset, 16)
        if name == [str(program)] and begin <= place < end:
            with Path(f"/proc/{process.pid}/mem").open("r+b", buffering=0) as memory:
                memory.seek(place)
                memory.write(b"\x90")
    libc.ptrace(detach, process.pid, None, None)
    return process


def test_breakpoints_in_a_program(artifacts: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((2, 8), np.float32))
    between_functions = (artifacts / "small").read_bytes().index(b"\xcc" * 8) + 4
    process = start_with_breakpoint(artifacts / "small", between_functions, tmp_path)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output


def test_another_tool_may_write_the_file_again(artifacts: Path, tmp_path: Path) -> None:
    """What it leaves out is not loaded."""
    x = np.ones((2, 8), np.float32)
    subprocess.run(["strip", "-o", tmp_path / "stripped.so", artifacts / "small.so"], check=True)
    expected = perpend.load(str(artifacts / "small.so"))(x)
    np.testing.assert_array_equal(perpend.load(str(tmp_path / "stripped.so"))(x), expected)


def test_a_file_that_was_edited_in_place(artifacts: Path, tmp_path: Path) -> None:
    """As patchelf does it: refused, until the checksum is dropped as the hint says."""
    path = tmp_path / "edited.so"
    data = bytearray((artifacts / "small.so").read_bytes())
    data[15] = 1  # padding of the ELF header
    path.write_bytes(data)
    with pytest.raises(RuntimeError, match=r"checksum: .*hint: .*`objcopy FILE` drops the checksum"):
        perpend.load(str(path))
    subprocess.run(["objcopy", path], check=True)
    x = np.ones((2, 8), np.float32)
    np.testing.assert_array_equal(perpend.load(str(path))(x), perpend.load(str(artifacts / "small.so"))(x))


def test_a_lost_end(artifacts: Path, tmp_path: Path) -> None:
    """As a file system leaves it that ran out of power: the right size, and zeros."""
    good = (artifacts / "small.so").read_bytes()
    for lost in [100, 1000, 4096, 20_000]:
        (tmp_path / "lost.so").write_bytes(good[:-lost] + bytes(lost))
        with pytest.raises(RuntimeError, match=r"truncated|checksum"):
            perpend.load(str(tmp_path / "lost.so"))


def copied(source: Path, target: Path) -> perpend.Model:
    target.write_bytes(source.read_bytes())
    return perpend.load(str(target))


def test_a_small_file_that_is_cut_short_while_it_is_loaded(artifacts: Path, tmp_path: Path) -> None:
    x = np.ones((2, 8), np.float32)
    model = copied(artifacts / "small.so", tmp_path / "cut.so")
    expected = model(x)
    os.truncate(tmp_path / "cut.so", 0)
    np.testing.assert_array_equal(model(x), expected)
    np.testing.assert_array_equal(model(np.ones((3, 8), np.float32))[:2], expected)


@pytest.mark.parametrize("size", [0, 5000, 4_000_000])
def test_a_large_file_that_is_cut_short_while_it_is_loaded(artifacts: Path, tmp_path: Path, size: int) -> None:
    x = np.ones((2, 8), np.float32)
    model = copied(artifacts / "large.so", tmp_path / "cut.so")
    model(x)
    os.truncate(tmp_path / "cut.so", size)
    with pytest.raises(RuntimeError, match=r"cut short after it had been loaded: expected .* bytes, got .*; hint: "):
        model(x)
    with pytest.raises(RuntimeError, match="cut short"):
        model(np.ones((3, 8), np.float32))
    assert model.input_list == [("x", "f32", ["n", 8])]  # what it says of itself is still there
    assert '"kernels"' in model.descriptor


def test_a_large_file_that_is_cut_short_and_whole_again(artifacts: Path, tmp_path: Path) -> None:
    """What was lost does not come back, also not for another model from the same file, which shares it."""
    x = np.ones((2, 8), np.float32)
    path = tmp_path / "cut.so"
    model, other = copied(artifacts / "large.so", path), perpend.load(path)
    expected = model(x)
    good = path.read_bytes()
    os.truncate(path, len(good) // 2)
    with pytest.raises(RuntimeError, match="cut short after it had been loaded: expected"):
        model(x)
    with path.open("r+b") as file:
        file.write(good)
    for lost in (model, other, model):
        with pytest.raises(RuntimeError, match=r"cut short and is whole again after it .*hint: load it again"):
            lost(x)
    np.testing.assert_array_equal(perpend.load(path)(x), expected)
    del model, other
    np.testing.assert_array_equal(perpend.load(path)(x), expected)


def test_a_large_file_that_is_copied_over_while_it_is_loaded(artifacts: Path, tmp_path: Path) -> None:
    """By `cp`, which makes it empty first: with it go the addresses that the dynamic linker has written."""
    x = np.ones((2, 8), np.float32)
    path = tmp_path / "copied.so"
    model = copied(artifacts / "large.so", path)
    expected = model(x)
    shutil.copyfile(artifacts / "large.so", path)
    os.utime(path, (1, 1))
    with pytest.raises(RuntimeError, match="cut short and is whole again"):
        model(x)
    again = perpend.load(path)
    np.testing.assert_array_equal(again(x), expected)
    shutil.copyfile(artifacts / "other.so", path)
    other = perpend.load(path)  # beside what is mapped of the file before
    np.testing.assert_array_equal(other(x), perpend.load(artifacts / "other.so")(x))
    np.testing.assert_array_equal(again(x), expected)


def test_a_large_file_that_is_written_again_while_it_is_loaded(artifacts: Path, tmp_path: Path) -> None:
    """The same bytes may come again, others not."""
    path = tmp_path / "again.so"
    x = np.ones((2, 8), np.float32)
    model = copied(artifacts / "large.so", path)
    expected = model(x)
    os.utime(path, (1, 1))
    np.testing.assert_array_equal(model(x), expected)
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"other weights")
    with pytest.raises(RuntimeError, match="weights: checksum"):
        model(x)


def test_a_large_file_that_becomes_another_artifact(artifacts: Path, tmp_path: Path) -> None:
    """It is whole and has the same weights, but other code."""
    path = tmp_path / "other.so"
    x = np.ones((2, 8), np.float32)
    first, second = sorted([artifacts / "large.so", artifacts / "other.so"], key=lambda file: file.stat().st_size)
    model = copied(first, path)
    model(x)
    with path.open("r+b") as file:
        file.write(second.read_bytes())
    os.utime(path, (1, 1))
    with pytest.raises(RuntimeError, match="written again after it had been loaded"):
        model(x)


def test_a_descriptor_that_is_another_file_by_now(artifacts: Path, tmp_path: Path) -> None:
    """As in a daemon that has closed all: the file is neither looked at nor closed."""
    path = tmp_path / "large.so"
    x = np.ones((2, 8), np.float32)
    model = copied(artifacts / "large.so", path)
    expected = model(x)
    folder = Path("/proc/self/fd")
    (number,) = [int(link.name) for link in folder.iterdir() if link.exists() and link.resolve() == path]
    with (tmp_path / "empty").open("wb") as other:
        os.dup2(other.fileno(), number)
    np.testing.assert_array_equal(model(x), expected)
    del model
    assert os.fstat(number).st_size == 0
    os.close(number)


def test_a_folder_without_execution(artifacts: Path, tmp_path: Path) -> None:
    """As hardened systems mount the folder of temporary files: an error that says so, and no way around it."""
    mount = f"mount -t tmpfs -o noexec tmpfs {tmp_path}"
    if subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True).returncode:
        pytest.skip("the system lets nobody mount")
    for name in ("small", "large"):
        file = artifacts / f"{name}.so"
        program = f"import perpend; perpend.load('{tmp_path}/{name}.so')"
        script = f"{mount} && cp {file} {tmp_path} && {sys.executable} -c {shlex.quote(program)}"
        done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True)
        assert "could not be loaded" in done.stderr and "(noexec): move it to another, or set TMPDIR" in done.stderr
