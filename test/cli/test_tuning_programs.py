"""Programs between the tuner and the one that measures: candidates that misbehave, gains that a model has not."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from cli.test_tune import execute, is_intact, row_of, schedules
from cli.tool import BUILD, DIGITS, GOOD, PERPEND


def tune_with(
    script: str, tiny: Path, *options: str, extents: str = "n=64", model: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """A script stands between the tuner and the program that measures."""
    runtime = tiny.parent / "runtime"
    shutil.rmtree(runtime, ignore_errors=True)
    runtime.mkdir()
    for file in (BUILD / "lib").iterdir():
        (runtime / file.name).symlink_to(file)
    (runtime / "perpend-measure").unlink()
    (runtime / "perpend-measure").write_text(f"#!/bin/sh\nreal={BUILD}/lib/perpend-measure\n{script}")
    (runtime / "perpend-measure").chmod(0o755)
    command = [str(PERPEND), "tune", str(model or tiny), "-o", "t.db", "--symbol", extents, *options]
    environment = {**os.environ, "PERPEND_RUNTIME_DIR": str(runtime)}
    return subprocess.run(command, cwd=tiny.parent, capture_output=True, text=True, env=environment, timeout=60)


PROGRAMS = {
    "wrong": '"$real" $$ "$@"; [ -z "$7" ] || dd if=/bin/sh of="$2" bs=1 count=500 seek=40 conv=notrunc',
    "truncated": '"$real" $$ "$@"; [ -z "$7" ] || truncate -s 9 "$2"',
    "killed": '[ -z "$7" ] && exec "$real" $parent "$@"; kill -9 $$',
    "silent": '[ -z "$7" ] && exec "$real" $parent "$@"',
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_candidates_that_do_what_they_should_not(tiny: Path, name: str) -> None:
    """All but the rule's own."""
    done = tune_with(f"parent=$1\nshift\n{PROGRAMS[name]}\n", tiny, "--trials", "6")
    assert done.returncode == GOOD, done.stderr
    trials, gain, _ = row_of(done.stdout)
    assert trials == 6 and gain == 1
    assert is_intact(tiny.parent / "t.db") and execute(tiny.parent / "t.db", "select * from records") == []


# Each candidate takes half of the time of the one before alone, and a model of one kernel is measured as the test says.
WINS = """if [ "$1" = models ]; then
%s
exit 0
fi
shift
"$real" $$ "$@" > /dev/null
number=${6##*candidate}
awk -v n="${number%%.so}" -v best="$7" 'BEGIN {
  time = 2e-6 / 2 ^ n
  printf "measured %%g 1e-9 %%g %%g %%d\\n", time, best ? 0.5 : 1, best ? 2 * time : time, best ? 1 : 0
}'
"""


@pytest.mark.parametrize(
    ("inside", "said", "count"),
    [
        ("printf 'compared 2e-6 1e-6\\nKERNEL 0.5\\n'", "the model takes 1.0000 us, with the compiler's schedules", 1),
        (
            "printf 'compared 2e-6 3e-6\\nKERNEL 1.5\\n'",
            "faster alone, but not in the model, and so not kept: KERNEL",
            0,
        ),
        ("echo refused it does not run: why", "was not measured with the new schedules: it does not run: why", 1),
        ("kill -9 $$", "was not measured with the new schedules: its process ended with signal 9", 1),
        ("printf 'compared 2e-6 1e-6\\n'", "was not measured with the new schedules: it has no kernel 'KERNEL'", 1),
        ("printf 'compared 1e-6 2e-6\\nKERNEL 0.5\\n'", "and so not kept: KERNEL", 0),  # others have become slower
    ],
    ids=["faster", "slower", "refused", "killed", "absent", "slower model"],
)
def test_what_is_found_is_measured_in_the_model(tiny: Path, inside: str, said: str, count: int) -> None:
    kernel = schedules(tiny)[0][0]
    done = tune_with(WINS % inside.replace("KERNEL", kernel), tiny, "--trials", "2")
    assert done.returncode == GOOD and "error" not in done.stderr, done.stderr
    assert said.replace("KERNEL", kernel) in done.stdout
    assert execute(tiny.parent / "t.db", "select count(*) from records") == [(count,)]


def test_what_was_known_comes_back(tiny: Path) -> None:
    """Where what is found behind it is faster alone only."""
    kernel = schedules(tiny)[0][0]
    gain, loss = (f"printf 'compared 2e-6 {time}e-6\\n{kernel} {part}\\n'" for time, part in ((1, 0.5), (3, 1.5)))
    assert tune_with(WINS % gain, tiny, "--trials", "1").returncode == GOOD
    (before,) = execute(tiny.parent / "t.db", "select trace, seconds, default_seconds from records")
    once = f"[ -e seen ] || {{ touch seen; {loss}; exit 0; }}\n{gain}"
    done = tune_with(WINS % once, tiny, "--trials", "3", "--seed", "2")
    assert done.returncode == GOOD and (tiny.parent / "seen").exists()
    assert execute(tiny.parent / "t.db", "select trace, seconds, default_seconds from records") == [before]


def test_what_is_slower_with_some_extents(tiny: Path) -> None:
    """Whoever compiles for all extents knows it."""
    kernel = schedules(tiny)[0][0]
    sizes = f"[ $(wc -c < $3) -gt 4000 ] && part=1.5 || part=0.5\nprintf 'compared 2e-6 1e-6\\n{kernel} %s\\n' $part"
    done = tune_with(WINS % sizes, tiny, "--trials", "2", extents="n=8,512")
    assert done.returncode == GOOD, done.stderr
    rows = execute(tiny.parent / "t.db", "select symbols, elsewhere from records")
    assert [symbols for symbols, _ in rows] == ["n=8"] and "n=512 1.5" in str(rows[0][1])


def test_a_process_that_is_slow_itself_says_nothing(tmp_path: Path) -> None:
    """Of a model whose other kernels took half of their time, too."""
    kernels = [name for name, *_ in schedules(DIGITS)]
    lines = "\\n".join(f"{kernel} 0.5" for kernel in kernels)
    script = WINS % f"echo >> runs; printf 'compared 2e-6 1e-6\\n{lines}\\n'"
    done = tune_with(script, tmp_path / "none", "--trials", "1", model=DIGITS)
    assert done.returncode == GOOD, done.stderr
    assert "was not measured with the new schedules: unchanged kernels took different times" in done.stdout
    assert (tmp_path / "runs").read_text() == "\n" * 3


def test_the_model_with_what_is_found_runs(tiny: Path) -> None:
    script = WINS.replace("exit 0", "shift 2\n") % ""
    done = tune_with(script.replace("fi\nshift", 'exec "$real" models $PPID "$@"\nfi\nshift', 1), tiny, "--trials", "2")
    assert done.returncode == GOOD, done.stderr
    assert re.search(r"^the model takes \S+ us, with the compiler's schedules \S+ us \(\d\.\d\dx\)$", done.stdout, re.M)
