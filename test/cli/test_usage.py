"""Help, versions, targets, and wrong options."""

from pathlib import Path

from cli.tool import COMMANDS, ROOT, USAGE_ERROR, perpend, reject, succeed


def test_help_of_every_command(tmp_path: Path) -> None:
    for command in COMMANDS:
        text = succeed(command, "--help", folder=tmp_path)
        assert text.startswith(f"usage: perpend {command}")
        assert text == succeed("help", command, folder=tmp_path)
        assert f"  perpend {command}" in text.split("examples:")[1]
    overview = succeed("--help", folder=tmp_path)
    assert all(f"  {command}" in overview for command in COMMANDS)


def test_help_of_compile_lists_the_compilers_options(tmp_path: Path) -> None:
    text = succeed("compile", "--help", folder=tmp_path)
    for line in (ROOT / "src" / "Options.def").read_text().splitlines():
        if line.startswith("OPTION("):
            flag = line.split(",")[1].strip().strip('"')
            assert ("--" if len(flag) > 1 else "-") + flag in text


def test_version_and_targets(tmp_path: Path) -> None:
    assert succeed("--version", folder=tmp_path).startswith("perpend 0.")
    text = succeed("targets", folder=tmp_path)
    assert text.startswith("host = ") and "\nx86-64-v3: 16 vectors of 32 bytes" in text


def test_misspelt_words_get_a_suggestion(tmp_path: Path, tiny: Path) -> None:
    assert "did you mean 'compile'?" in reject("compil", folder=tmp_path, code=USAGE_ERROR)
    assert "did you mean" not in reject("optimum", folder=tmp_path, code=USAGE_ERROR)
    message = reject("compile", tiny, "-o", "x.so", "--targt", "host", folder=tmp_path, code=USAGE_ERROR)
    assert "unknown option '--targt'" in message and "did you mean '--target'?" in message
    message = reject("compile", tiny, "--ouput", "x.so", folder=tmp_path, code=USAGE_ERROR)
    assert "unknown option '--ouput'" in message and "did you mean '-o'?" in message
    for word in ["--optlevel", "--opt-lvel=3", "--optimlevel"]:
        message = reject("compile", tiny, "-o", "x.so", word, "3", folder=tmp_path, code=USAGE_ERROR)
        assert f"unknown option '{word}'" in message and "did you mean '-O'?" in message
    message = reject("run", tiny, "--randon", "3", folder=tmp_path, code=USAGE_ERROR)
    assert "did you mean '--seed'?" in message
    for text in ["0.5", "10s", "-1", ""]:
        message = reject("compile", tiny, "-o", "x.so", "--max-time", text, folder=tmp_path, code=USAGE_ERROR)
        assert f"option '--max-time': expected SECONDS, a whole number of at least 0, got '{text}'" in message
    message = reject("compile", tiny, "-o", "x.so", "--name", "", folder=tmp_path, code=USAGE_ERROR)
    assert "option '--name': expected NAME, got ''" in message
    message = reject("compile", tiny, "--stop-after", "fues", folder=tmp_path, code=USAGE_ERROR)
    assert "did you mean 'fuse'?" in message
    message = reject("compile", tiny, "-o", "x.so", "--target", "haswel", folder=tmp_path, code=USAGE_ERROR)
    assert "did you mean 'haswell'?" in message


def test_the_level_has_the_name_that_python_gives_it(tmp_path: Path, tiny: Path) -> None:
    made = []
    for number, words in enumerate([["-O0"], ["--opt-level", "0"], ["--opt-level=0"], ["-O3"]]):
        succeed("compile", tiny, "-o", f"{number}.so", "--name", "tiny", *words, folder=tmp_path)
        made.append((tmp_path / f"{number}.so").read_bytes())
    assert made[0] == made[1] == made[2] != made[3]
    message = reject("compile", tiny, "-o", "x.so", "--opt-level", "7", folder=tmp_path, code=USAGE_ERROR)
    assert "expected 0..3, got '7'" in message
    assert "--opt-level" not in succeed("compile", "--help", folder=tmp_path)


def test_usage_errors(tmp_path: Path, tiny: Path) -> None:
    def usage(*arguments: object) -> str:
        return reject(*arguments, folder=tmp_path, code=USAGE_ERROR)

    assert "a model is missing" in usage("compile")
    assert "several models: expected NAME=FILE for each" in usage("compile", tiny, "b.onnx")
    assert "no output\nhint: -o model.so, -o model.a, or" in usage("compile", tiny)
    assert "no output\nhint: -o model\n" in usage("compile", tiny, "--exe")
    assert "expected a name ending in .so or .a" in usage("compile", tiny, "-o", "tiny")
    assert "expected a value" in usage("compile", tiny, "-o")
    assert "expected 0..3, got '7'" in usage("compile", tiny, "-o", "x.so", "-O7")
    assert "takes no value" in usage("compile", tiny, "-o", "x.so", "--times=yes")
    assert "unknown reference 'numpy'" in usage("check", tiny, "--against", "numpy")
    assert "stages: graph" in usage("inspect", tiny, "--stage", "nowhere")
    for pair in ["n", "=3", "n="]:
        assert f"option '--dim': expected NAME=VALUE, got '{pair}'" in usage("inspect", tiny, "--dim", pair)
    for pair in ["n", "=3", "n=", "n=-1", "n=m"]:
        message = usage("run", tiny, "--symbol", pair)
        assert f"option '--symbol': expected NAME=N with N at least 0, got '{pair}'" in message
    for option in ("--dim", "--symbol"):
        message = usage("run", tiny, option, "n=3,t=33")
        assert f"got 'n=3,t=33'\nhint: {option} n=3 {option} t=33\n" in message
    for output in [["-o", "x.so"], ["-o", "x.a"]]:
        assert "--stop-after writes text, but this is the name of a library" in usage(
            "compile", tiny, "--stop-after", "fuse", *output
        )
    assert "no phase is named" in usage("compile", tiny, "-o", "no/x.so", "--stop-after", "fues")
    assert "such as 1,2" in usage("bench", tiny, "--json", "no/x.json", "--threads", "a")
    assert "'--exe' is not for --stop-after" in usage("compile", tiny, "--stop-after", "fuse", "--exe", "-o", "x")
    assert perpend(folder=tmp_path).returncode == USAGE_ERROR


COMPILING = {
    "run": [
        "-O1",
        "--opt-level 1",
        "--target host",
        "--precision bf16",
        "--schedules s",
        "--database d",
        "--intrinsics i",
        "--unpacked",
        "--checked",
        "--dim n=3",
    ],
    "bench": [
        "-O1",
        "--target host",
        "--precision bf16",
        "--schedules s",
        "--database d",
        "--intrinsics i",
        "--unpacked",
        "--dim n=3",
        "--operators o.json",
    ],
    "inspect": [
        "-O1",
        "--target host",
        "--precision bf16",
        "--intrinsics i",
        "--unpacked",
        "--schedules",
        "--database d",
        "--stage tile",
        "--dim n=3",
        "--operators o.json",
    ],
}


def test_options_that_need_the_source_of_a_model(tmp_path: Path, tiny: Path) -> None:
    succeed("compile", tiny, "-o", "m.so", folder=tmp_path)
    for command, options in COMPILING.items():
        for option in options:
            said = reject(command, "m.so", *option.split(), folder=tmp_path, code=USAGE_ERROR)
            name = "-O" if option == "-O1" else option.split()[0]
            assert f"option '{name}' needs the model in its source form, 'm.so' is compiled already\nhint: " in said
        assert succeed(command, "m.so", *(["--time", 0] if command == "bench" else []), folder=tmp_path)
