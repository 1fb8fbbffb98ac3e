"""Tuning where the machine fails it: no room, no folder, candidates that hang. Each gets one clear word."""

import os
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest
from cli.tool import BUILD, GOOD, PERPEND, USER_ERROR, reject, save, value
from onnx import helper

TUNE = ("tune", "tiny.onnx", "--symbol", "n=64", "-o", "t.db", "--budget", "2s")


def is_intact(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as database:
        return database.execute("pragma integrity_check").fetchall() == [("ok",)]


def on_small_disk(disk: Path, kilobytes: int, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """What the tool does where the folder `disk` is one of this size, which nobody else sees."""
    disk.mkdir()
    own = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    mount = f'mount -t tmpfs -o size={kilobytes}k none "$0" || exit 77; exec "$@"'
    command = [*own, "sh", "-c", mount, str(disk), str(PERPEND), *map(str, arguments)]
    environment = {**os.environ, **variables}
    done = subprocess.run(command, cwd=disk.parent, capture_output=True, text=True, env=environment, timeout=100)
    if done.returncode == 77 or done.stderr.startswith("unshare: "):
        pytest.skip("this machine lets nobody mount a disk of memory")
    return done


@pytest.mark.parametrize("kilobytes", [4, 16, 64])
def test_no_room_for_temporary_files(tiny: Path, kilobytes: int) -> None:
    disk = tiny.parent / "disk"
    done = on_small_disk(disk, kilobytes, *TUNE, TMPDIR=str(disk))
    assert done.returncode == USER_ERROR and done.stderr.count("error: ") == 1, done.stderr
    assert "cannot be measured: " in done.stderr and f"{disk}/" in done.stderr, done.stderr
    assert "\nhint: is there room on the disk?" in done.stderr or "\nhint: make room, or " in done.stderr
    assert "error: no kernel of the model could be measured" in done.stderr
    assert is_intact(tiny.parent / "t.db")


def test_no_room_for_inputs_and_outputs(tmp_path: Path) -> None:
    """Its library is small, its inputs take 4 MB, its outputs 16 MB."""
    nodes = [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Concat", ["e"] * 4, ["y"], axis=0)]
    save(tmp_path / "wide.onnx", nodes, [value("x", ["n", 1024])], [value("y", None)])
    tune = ("tune", "wide.onnx", "--symbol", "n=1024", "-o", "t.db", "--budget", "0.1s")
    for what, kilobytes in (("inputs", 3000), ("outputs", 9000)):
        disk = tmp_path / what
        done = on_small_disk(disk, kilobytes, *tune, TMPDIR=str(disk))
        assert done.returncode == USER_ERROR, done.stdout
        assert f"cannot be measured: its {what} cannot be written to '{disk}/" in done.stderr, done.stderr
        assert f"/{what}': No space left on device\nhint: TMPDIR=FOLDER with room for them\n" in done.stderr


def test_no_room_for_the_database(tiny: Path) -> None:
    disk = tiny.parent / "disk"
    done = on_small_disk(disk, 4, *TUNE[:5], "disk/t.db", *TUNE[6:])
    assert done.returncode == USER_ERROR
    assert done.stderr == (
        "error: the database 'disk/t.db': its tables cannot be made: database or disk is full\n"
        "hint: is the disk full?\n"
    )


def test_no_folder_for_temporary_files(tiny: Path) -> None:
    """Nothing is written anywhere else."""
    for folder in ("none/none", "tiny.onnx"):
        environment = {**os.environ, "TMPDIR": str(tiny.parent / folder)}
        command = [str(PERPEND), *TUNE]
        done = subprocess.run(command, cwd=tiny.parent, capture_output=True, text=True, env=environment, timeout=60)
        assert done.returncode == USER_ERROR and done.stderr.count("error: ") == 1
        assert "cannot create a temporary folder: " in done.stderr
        assert done.stderr.endswith("\nhint: set TMPDIR to a writable folder\n")
    assert not any(Path("/", name).exists() for name in ("inputs", "outputs", "candidate0.so", "inputs0"))
    assert not (tiny.parent / "t.db").exists()


def test_an_interruption_ends_a_candidate_that_hangs(tiny: Path) -> None:
    runtime = tiny.parent / "runtime"
    runtime.mkdir()
    for file in (BUILD / "lib").iterdir():
        if file.name != "perpend-measure":
            (runtime / file.name).symlink_to(file)
    program = runtime / "perpend-measure"
    program.write_text(
        '#!/bin/sh\nparent=$1\nshift\n[ -n "$7" ] || exec ' + str(BUILD) + '/lib/perpend-measure $parent "$@"\n'
        "echo $$ > hanging\nexec sleep 600\n"
    )
    program.chmod(0o755)
    command = [str(PERPEND), *TUNE[:-1], "100s"]
    environment = {**os.environ, "PERPEND_RUNTIME_DIR": str(runtime)}
    with subprocess.Popen(
        command, cwd=tiny.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as tuner:
        end = time.monotonic() + 30
        while not (tiny.parent / "hanging").exists() and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(0.1)
        hanging = int((tiny.parent / "hanging").read_text())
        start = time.monotonic()
        tuner.send_signal(signal.SIGINT)
        output, errors = tuner.communicate(timeout=30)
        assert tuner.returncode == GOOD and "\nwrote t.db\n" in output and "error" not in errors
        assert time.monotonic() - start < 5
        assert not Path(f"/proc/{hanging}").exists()
    assert is_intact(tiny.parent / "t.db")


def test_sketches_that_cannot_be_read(tiny: Path) -> None:
    message = reject("tune", "tiny.onnx", "--list", "--symbol", "n=2", "--sketches", "none.txt", folder=tiny.parent)
    assert "cannot read 'none.txt', the sketches: No such file or directory\nhint: --sketches FILE, " in message
    message = reject("compile", "tiny.onnx", "-o", "t.so", "--schedules", "none.txt", folder=tiny.parent)
    assert "cannot read 'none.txt', the schedules: No such file or directory\nhint: --schedules FILE, " in message
