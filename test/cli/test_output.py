"""Outputs that cannot be written: one error, status 1, and nothing half-written."""

import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli.tool import COMMANDS, DIGITS, GOOD, PERPEND, USAGE_ERROR, USER_ERROR, reject


def run(*arguments: object, folder: Path, stdout: object, prepare: Callable[[], None] | None = None) -> tuple[int, str]:
    command = [str(PERPEND), *map(str, arguments)]
    done = subprocess.run(
        command, cwd=folder, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=300, preexec_fn=prepare
    )  # type: ignore[call-overload]
    return done.returncode, done.stderr


PRINTING = [
    *[[command, "--help"] for command in COMMANDS],
    ["--help"],
    ["--version"],
    ["targets"],
    ["inspect", DIGITS],
    ["inspect", DIGITS, "--stage", "fuse"],
    ["compile", DIGITS, "--stop-after", "fuse"],
    ["compile", DIGITS, "-o", "digits.so"],
    ["run", DIGITS],
    ["check", DIGITS],
    ["bench", DIGITS, "--time", "0"],
]


@pytest.mark.parametrize("arguments", PRINTING, ids=lambda words: " ".join(map(str, words)).replace(str(DIGITS), "M"))
def test_full_standard_output(tmp_path: Path, arguments: list[object]) -> None:
    with Path("/dev/full").open("w") as full:
        code, message = run(*arguments, folder=tmp_path, stdout=full)
    assert code == USER_ERROR
    assert message.startswith("error: cannot write the output: No space left on device\nhint: ")
    assert message.count("error: ") == 1 and "LLVM ERROR" not in message


def test_reader_that_has_gone(tmp_path: Path) -> None:
    """As `| head -1`: what is left is not wanted. Temporary folders go, too."""
    process = subprocess.Popen(
        [PERPEND, "run", DIGITS], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"TMPDIR": tmp_path}
    )
    assert process.stdout and process.stderr
    process.stdout.close()
    assert (process.wait(timeout=60), process.stderr.read()) == (GOOD, b"")
    assert list(tmp_path.iterdir()) == []


def room(size_bytes: int) -> Callable[[], None]:
    """Files of at most this size, as if the disk were full then."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, size_bytes))

    return limit


WEIGHTS_ONLY = 120_000  # the object with the weights has less, an artifact more


@pytest.mark.parametrize("size_bytes", [20_000, WEIGHTS_ONLY])
@pytest.mark.parametrize("output", [["digits.so"], ["digits.a"], ["digits", "--exe"]])
def test_no_room_for_an_artifact(tmp_path: Path, output: list[str], size_bytes: int) -> None:
    arguments = ["compile", DIGITS, "-o", *output]
    code, message = run(*arguments, folder=tmp_path, stdout=subprocess.PIPE, prepare=room(size_bytes))
    assert code == USER_ERROR and message.startswith("error: ") and "File too large\nhint: " in message
    assert message.count("error: ") == 1 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["compile", DIGITS, "-o", "digits.mlir", "--stop-after", "fuse"],
        ["compile", DIGITS, "-o", "digits.so", "--dump-phases", "phases"],
        ["inspect", DIGITS, "--html", "report.html"],
        ["run", DIGITS],
    ],
)
def test_full_disk(tmp_path: Path, arguments: list[object]) -> None:
    code, message = run(*arguments, folder=tmp_path, stdout=subprocess.PIPE, prepare=room(20_000))
    assert code == USER_ERROR and message.startswith("error: ") and "File too large\nhint: " in message
    assert message.count("error: ") == 1 and "perpend bug" not in message
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_existing_file_of_a_running_program(tmp_path: Path) -> None:
    """It is replaced, as by a linker: the program keeps what it started from."""
    program = tmp_path / "program"
    shutil.copy("/bin/sleep", program)
    process = subprocess.Popen([program, "60"])
    try:
        code, message = run(
            "compile", DIGITS, "--stop-after", "fuse", "-o", program, folder=tmp_path, stdout=subprocess.PIPE
        )
        assert (code, message, process.poll()) == (GOOD, "", None)
    finally:
        process.kill()
        process.wait()
    assert "func.func" in program.read_text() and list(tmp_path.iterdir()) == [program]


def test_arrays_replace_files_as_a_whole(tmp_path: Path, library: Path) -> None:
    def computed(rows: int, prepare: Callable[[], None] | None = None) -> tuple[int, str]:
        arguments = ["run", library, "--symbol", f"n={rows}", "--output-dir", tmp_path / "results"]
        return run(*arguments, folder=tmp_path, stdout=subprocess.PIPE, prepare=prepare)

    assert computed(7) == (GOOD, "")
    (path,) = (tmp_path / "results").iterdir()
    path.chmod(0o640)
    shape = np.load(path).shape
    code, message = computed(7000, room(4096))
    assert code == USER_ERROR and "is the disk full?" in message
    assert list((tmp_path / "results").iterdir()) == [path] and np.load(path).shape == shape
    link = path.rename(tmp_path / "elsewhere.npy")
    path.symlink_to(link)
    assert computed(8) == (GOOD, "")
    assert path.is_symlink() and np.load(link).shape[0] == 8 and link.stat().st_mode & 0o777 == 0o640


def test_standard_output_by_its_name(tmp_path: Path) -> None:
    for name, flags in [("/dev/stdout", {}), ("/dev/stderr", {"stderr": subprocess.STDOUT})]:
        command = [PERPEND, "compile", DIGITS, "--stop-after", "fuse", "-o", name]
        done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, timeout=300, **flags)
        assert done.returncode == GOOD and "func.func" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["bench", "--json", "no/b.json"],
            "cannot write 'no/b.json': No such file or directory\nhint: the folder must",
        ),
        (["bench", "--json", "."], "cannot write '.': Is a directory\nhint: give the name of a file"),
        (["inspect", "--html", "no/i.html"], "cannot write 'no/i.html': No such file or directory"),
        (["compile", "-o", "no/x.so"], "cannot write 'no/x.so': No such file or directory"),
        (["compile", "-o", "file/x.so"], "cannot write 'file/x.so': Not a directory"),
        (["compile", "-o", "x.so", "--dump-phases", "file/a"], "cannot write into 'file': it is a file"),
        (["run", "--output-dir", "file"], "cannot write into 'file': it is a file\nhint: give the name of a folder"),
        (["run", "--output-dir", "file/a/b"], "cannot write into 'file': it is a file"),
    ],
)
def test_outputs_that_cannot_be_are_found_before_the_work(tmp_path: Path, arguments: list[str], message: str) -> None:
    """The model is none, which would be the error behind it."""
    (tmp_path / "file").touch()
    (tmp_path / "m.onnx").write_text("none")
    assert reject(*arguments, "m.onnx", folder=tmp_path).startswith(f"error: {message}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "m.onnx"]


def test_full_file(tmp_path: Path) -> None:
    for arguments in [["inspect", DIGITS, "--html"], ["compile", DIGITS, "--stop-after", "fuse", "-o"]]:
        assert "cannot write '/dev/full': No space left" in reject(*arguments, "/dev/full", folder=tmp_path)
    message = reject("bench", DIGITS, "--time", "0", "--json", "/dev/full", folder=tmp_path)
    assert "cannot write '/dev/full': No space left" in message


def test_a_compiled_program_says_that_its_output_is_full(tmp_path: Path) -> None:
    assert run("compile", DIGITS, "-o", tmp_path / "digits", "--exe", folder=tmp_path, stdout=None)[0] == GOOD
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 8, 8), np.float32))
    with Path("/dev/full").open("w") as full:
        command = [str(tmp_path / "digits"), "--input", str(tmp_path / "x.npy")]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, "error: cannot write the output: No space left on device\n")


@pytest.mark.parametrize("command", ["run", "compile", "inspect"])
def test_a_device_is_no_model(tmp_path: Path, command: str) -> None:
    assert "this is a device, which has no end" in reject(
        command, "/dev/zero", *(["-o", "x.so"] if command == "compile" else []), folder=tmp_path
    )


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("fuse", "no file for --override-phase, got 'fuse'"),
        ("fuse:", "no file for --override-phase, got 'fuse'"),
        ("fuse:none.mlir", "cannot read 'none.mlir', the module of --override-phase: No such file"),
        ("fues:none.mlir", "no phase is named 'fues'"),
    ],
)
def test_wrong_overrides_have_a_hint(tmp_path: Path, override: str, expected: str) -> None:
    code = USAGE_ERROR if "fues" in override else USER_ERROR
    message = reject("compile", DIGITS, "-o", "x.so", "--override-phase", override, folder=tmp_path, code=code)
    assert expected in message and message.count("hint: ") == 1


def test_an_override_that_is_no_module_is_not_the_compilers_mistake(tmp_path: Path) -> None:
    (tmp_path / "fuse.mlir").write_bytes(b"\x7fELF")
    message = reject("compile", DIGITS, "-o", "x.so", "--override-phase", "fuse:fuse.mlir", folder=tmp_path)
    assert "fuse.mlir:1:1" in message and "perpend bug" not in message
    assert [path.name for path in tmp_path.iterdir()] == ["fuse.mlir"]


def test_a_device_is_no_program(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    message = reject("compile", DIGITS, "--exe", "-o", "pipe", folder=tmp_path)
    assert "cannot write 'pipe': it is a device or a pipe" in message
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize(
    "arguments", [("compile", "--exe", "-o"), ("inspect", "--html"), ("bench", "--time", "0", "--json")]
)
def test_no_output_replaces_the_model(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    shutil.copy(DIGITS, tmp_path / "m.onnx")
    before = (tmp_path / "m.onnx").read_bytes()
    command, *options = arguments
    message = reject(command, "m.onnx", *options, "./m.onnx", folder=tmp_path)
    assert "output './m.onnx' is the input itself" in message
    assert (tmp_path / "m.onnx").read_bytes() == before
