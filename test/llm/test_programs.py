"""perpend llm: checkpoints become programs that say what transformers says."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import perpend.llm as perpend_llm
import pytest
from cli.tool import GOOD, PERPEND, USAGE_ERROR, USER_ERROR, perpend, reject, succeed
from conformance.onnx_foreign import emulator, missing
from language_checkpoints import write_checkpoint
from llm.checkpoints import CONTEXT, END, TEMPLATE, continuation, greedy, make_checkpoint, make_gguf, tokenizer_of
from perpend.tokenizer import load as load_tokenizer

PROMPT = "The quick brown fox 🦊 says"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A folder with the checkpoint `model` and the artifact `chat`."""
    folder = tmp_path_factory.mktemp("llm")
    model = make_checkpoint(folder / "model")
    said = succeed("llm", "compile", "model", "-o", "chat", folder=folder)
    assert "chat: " in said
    return folder, model


def run(folder: Path, *arguments: object) -> str:
    return succeed("llm", "run", "chat", "--temperature", 0, *arguments, folder=folder)


def chat(folder: Path, lines: str, *arguments: object) -> str:
    command = [str(PERPEND), "llm", "chat", "chat", "--temperature", "0", *map(str, arguments)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, cwd=folder, timeout=300)
    assert done.returncode == GOOD and done.stderr == "", done.stderr
    return done.stdout


def tokens_of_chat(folder: Path, *contents: str) -> list[int]:
    """Turns of a user and the assistant in turns, as the template writes them."""
    roles = ["user", "assistant"] * len(contents)
    turns = "".join(f"[{role}] {text.strip()}<|end|>\n" for role, text in zip(roles, contents, strict=False))
    text = f"<s>{turns}[assistant] "
    tokens: list[int] = tokenizer_of(folder / "model").encode(text, add_special_tokens=False, parse_special_tokens=True)
    return tokens


def test_a_text_goes_on_as_in_transformers(made: tuple[Path, Any]) -> None:
    folder, model = made
    tokens = tokenizer_of(folder / "model").encode(PROMPT)
    said = greedy(model, tokens, 40)
    expected = continuation(folder / "model", tokens, said)
    assert run(folder, "--raw", "--prompt", PROMPT, "--max-tokens", 40) == expected
    for threads in (1, 2, 3):
        assert run(folder, "--raw", "--prompt", PROMPT, "--max-tokens", 40, "--threads", threads) == expected


def test_a_prompt_is_a_turn(made: tuple[Path, Any]) -> None:
    folder, model = made
    tokens = tokens_of_chat(folder, PROMPT)
    said = greedy(model, tokens, 20)
    expected = continuation(folder / "model", tokens, said)
    assert run(folder, "--prompt", PROMPT, "--max-tokens", 20) == expected
    with_input = subprocess.run(
        [str(PERPEND), "llm", "run", "chat", "--temperature", "0", "--prompt", "-", "--max-tokens", "20"],
        input=PROMPT,
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=300,
    )
    assert with_input.stdout == expected and with_input.stderr == ""


def test_a_conversation(made: tuple[Path, Any]) -> None:
    folder, model = made
    first, second = "Hello there", "And now?"
    tokens = tokens_of_chat(folder, first)
    answer = continuation(folder / "model", tokens, greedy(model, tokens, 12))
    again = tokens_of_chat(folder, first, answer, second)
    other = continuation(folder / "model", again, greedy(model, again, 12))
    assert chat(folder, f"{first}\n\n{second}\n", "--max-tokens", 12) == f"{answer}\n{other}\n"
    assert chat(folder, "") == ""


def test_sessions(made: tuple[Path, Any], tmp_path: Path) -> None:
    """A conversation, and a text, that programs continue one after the other."""
    folder, _ = made
    state = tmp_path / "state"
    short = ["--max-tokens", 6]
    together = chat(folder, "Hello there\nAnd now?\nAnd then?\n", *short)
    apart = chat(folder, "Hello there\n", *short, "--session", state)
    apart += run(folder, "--prompt", "And now?", *short, "--session", state) + "\n"
    apart += chat(folder, "And then?\n", *short, "--session", state)
    assert apart == together
    said = reject("llm", "chat", "chat", "--session", state, "--system", "x", folder=folder)
    assert "--system: the session has begun\nhint: " in said
    said = reject("llm", "run", "chat", "--raw", "--prompt", "x", "--session", state, folder=folder)
    assert "--raw: the session is a conversation\nhint: " in said
    text = tmp_path / "text"
    raw = ["--raw", "--session", text]
    apart = run(folder, *raw, "--prompt", PROMPT, "--max-tokens", 9)
    apart += run(folder, *raw, "--max-tokens", 11)
    assert apart == run(folder, "--raw", "--prompt", PROMPT, "--max-tokens", 20)
    assert "the session is a text without turns" in reject("llm", "chat", "chat", "--session", text, folder=folder)
    data = state.read_bytes()
    turn = ["llm", "run", "chat", "--prompt", "x", "--session", state]
    turns, text_bytes = np.frombuffer(data, "<u8", 2, 16).tolist()  # behind magic, version and checksum
    before = 32 + 16 * turns + text_bytes  # the sequence
    ends = {32: "no session, or was cut off", before: "the file was cut off"}
    for size in (*range(0, 200, 7), before - 1, before + 47, before + 48, len(data) // 2, len(data) - 1):
        state.write_bytes(data[:size])
        message = next((message for end, message in ends.items() if size < end), "was cut off, or is damaged")
        said = reject(*turn, folder=folder)
        assert message in said and "perpend_" not in said, size
    for at in range(0, 200, 11):
        state.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        reject(*turn, folder=folder)
    assert "Is a directory" in reject(*turn[:-1], tmp_path, folder=folder)
    missing = tmp_path / "none" / "state"
    said = reject(*turn[:-1], missing, "--max-tokens", 1, folder=folder)
    assert "nothing can be saved there: No such file" in said
    assert not list(tmp_path.glob("*.new"))


def tokens_in(artifact: Path, session: Path) -> list[int]:
    """The tokens that a session's file has behind its head; the text has no turns."""
    llm = perpend_llm.load(artifact)
    llm.load_session(session.read_bytes()[32:])
    return llm.tokens


def test_sessions_go_on_behind_what_was_printed(made: tuple[Path, Any], tmp_path: Path) -> None:
    """A stop string, which may begin within a token, is no part of the text."""
    folder, _ = made
    llm, size = perpend_llm.load(folder / "chat"), len(load_tokenizer(folder / "model"))
    whole = run(folder, "--raw", "--prompt", PROMPT, "--max-tokens", 20)
    for at in range(0, len(whole) - 2, 5):
        stop, session = whole[at : at + 2], tmp_path / f"text{at}"
        raw = ["--raw", "--session", session]
        printed = run(folder, *raw, "--prompt", PROMPT, "--max-tokens", 20, "--stop", stop)
        assert printed == whole[: whole.index(stop)]
        tokens = tokens_in(folder / "chat", session)
        assert llm.decode(token for token in tokens if token < size) == PROMPT + printed
        tokens += llm.encode(" and", add_special_tokens=False)
        expected = llm.generate(tokens, max_tokens=6, temperature=0)
        assert run(folder, *raw, "--prompt", " and", "--max-tokens", 6) == expected


def test_stop_strings_and_seeds(made: tuple[Path, Any]) -> None:
    folder, _ = made
    whole = run(folder, "--raw", "--prompt", PROMPT, "--max-tokens", 40)
    stop = whole[len(whole) // 2 :][:3]
    assert run(folder, "--raw", "--prompt", PROMPT, "--max-tokens", 40, "--stop", stop) == whole[: whole.index(stop)]
    free = ["--prompt", PROMPT, "--max-tokens", 20, "--temperature", 2, "--top-k", 0, "--top-p", 1, "--min-p", 0]
    drawn = [succeed("llm", "run", "chat", *free, "--seed", seed, folder=folder) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_penalties_and_biases(made: tuple[Path, Any]) -> None:
    """The program chooses as `perpend.llm` does with the same options."""
    folder, _ = made
    llm = perpend_llm.load(folder / "chat")
    plain = llm.generate(PROMPT, raw=True, max_tokens=30, temperature=0)
    first = llm.tokens[len(llm.encode(PROMPT))]
    said = set()
    for flags, options in (
        (["--presence-penalty", 0.5], {"presence_penalty": 0.5}),
        (["--frequency-penalty", 2], {"frequency_penalty": 2}),
        (["--frequency-penalty", 2, "--penalty-window", 2], {"frequency_penalty": 2, "penalty_window": 2}),
        (["--logit-bias", f"{first}=-inf", "--logit-bias=7=1.5"], {"logit_bias": {first: -np.inf, 7: 1.5}}),
    ):
        expected = llm.generate(PROMPT, raw=True, max_tokens=30, temperature=0, **options)
        assert run(folder, "--raw", "--prompt", PROMPT, "--max-tokens", 30, *flags) == expected
        said.add(expected)
    assert len(said - {plain}) == 4  # each option matters, and each in its own way
    drawn = ["--raw", "--prompt", PROMPT, "--max-tokens", 20, "--temperature", 1, "--top-k=0", "--top-p=1", "--min-p=0"]
    typical = [succeed("llm", "run", "chat", *drawn, "--typical-p", p, folder=folder) for p in (0.2, 1)]
    free: dict[str, Any] = {"temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0}
    assert typical == [llm.generate(PROMPT, raw=True, max_tokens=20, typical_p=p, **free) for p in (0.2, 1.0)]
    assert typical[0] != typical[1]

    def refuse(*arguments: object, code: int = USAGE_ERROR) -> str:
        return reject("llm", "run", "chat", "--prompt", "x", *arguments, folder=folder, code=code)

    for bias in ("7", "=1", "7=", "x=1", "-7=1", "7=nan", "7=inf", "7=1e39", "7=-1e39", "7=1x", f"{2**31}=1"):
        said_of = refuse(f"--logit-bias={bias}")
        assert "option '--logit-bias': expected the id of a token and a number, such as 11=-2.5" in said_of
        assert f"got '{bias}'" in said_of
    said_of = refuse("--logit-bias", "640=1", code=USER_ERROR)
    assert "bias: expected token 0 to be in a vocabulary of 640, got 640" in said_of
    assert "expected at most 64 tokens" in refuse(*(f"--logit-bias={token}=1" for token in range(65)))
    assert "typical-p: expected a probability above 0" in refuse("--typical-p", 0, code=USER_ERROR)


def said_of_sampling(folder: Path, *arguments: object) -> str:
    """What --verbose says of the choice of tokens."""
    command = [str(PERPEND), "llm", "run", *map(str, arguments), "--raw", "--prompt", PROMPT, "--max-tokens", "1"]
    done = subprocess.run([*command, "--verbose"], capture_output=True, text=True, cwd=folder, timeout=300)
    assert done.returncode == GOOD, done.stderr
    return done.stderr.splitlines()[-1]


def test_a_checkpoint_says_how_to_choose(tmp_path: Path) -> None:
    """Options win; then what generation_config.json says; then the program's own numbers."""
    make_checkpoint(tmp_path / "model")
    path = tmp_path / "model" / "generation_config.json"

    def compiled(**settings: Any) -> str:
        path.write_text(json.dumps({"eos_token_id": [1, END]} | settings))
        succeed("llm", "compile", "model", "-o", "chat", folder=tmp_path)
        return said_of_sampling(tmp_path, "chat")

    assert compiled().startswith("temperature 0.8, top-k 40, top-p 0.95, min-p 0.05, repeat-penalty 1,")
    said = compiled(do_sample=True, temperature=0.6, top_p=0.9, top_k=20, repetition_penalty=1.1, min_p=None)
    assert said.startswith("temperature 0.6, top-k 20, top-p 0.9, min-p 0.05, repeat-penalty 1.1,")
    said = said_of_sampling(tmp_path, "chat", "--temperature", 0, "--top-k", 0, "--min-p", 0.2, "--repeat-penalty", 1)
    assert said.startswith("temperature 0, top-k 0, top-p 0.9, min-p 0.2, repeat-penalty 1,")
    assert compiled(do_sample=False, temperature=0.6).startswith("temperature 0, top-k 40,")
    for settings, message in (
        ({"temperature": -1}, "generation_config.json': temperature: expected a number of at least 0, got -1"),
        ({"top_p": 0}, "top_p: expected a number above 0 and at most 1"),
        ({"top_k": 2.5}, "top_k: expected a whole number of at least 0"),
        ({"min_p": "low"}, "min_p: expected a number"),
        ({"do_sample": 1}, "do_sample: expected true or false"),
    ):
        path.write_text(json.dumps(settings))
        assert message in reject("llm", "compile", "model", "-o", "chat", folder=tmp_path)


def test_each_option_sets_its_own(made: tuple[Path, Any]) -> None:
    """Values that differ, in another order than they are printed in."""
    flags = ["--seed=15", "--penalty-window=3", "--frequency-penalty=0.875", "--presence-penalty=0.75", "--top-k=9"]
    flags += ["--typical-p=0.5", "--repeat-penalty=1.25", "--min-p=0.125", "--top-p=0.625", "--temperature=0.375"]
    flags += ["--length-penalty=0.25", "--beams=2"]
    said = said_of_sampling(made[0], "chat", *flags, "--logit-bias=7=1", "--logit-bias=8=-inf", "--stop=x")
    assert said == (
        "temperature 0.375, top-k 9, top-p 0.625, min-p 0.125, repeat-penalty 1.25, typical-p 0.5, presence-penalty "
        "0.75, frequency-penalty 0.875, penalty-window 3, biases 2, beams 2, length-penalty 0.25, seed 15, context 128 "
        "tokens, precision f32"
    )


def test_metadata_says_how_to_choose(tmp_path: Path) -> None:
    settings = {"temp": 0.25, "top_k": 5, "top_p": 0.5, "min_p": 0, "penalty_repeat": 1.5, "sequence": "penalties"}
    make_gguf(tmp_path / "model.gguf", {f"general.sampling.{key}": value for key, value in settings.items()})
    said = said_of_sampling(tmp_path, "model.gguf")
    assert said.startswith("temperature 0.25, top-k 5, top-p 0.5, min-p 0, repeat-penalty 1.5,")
    assert said.endswith(" tokens, precision f32")
    assert said_of_sampling(tmp_path, "model.gguf", "--precision", "int8").endswith(" tokens, precision int8")
    make_gguf(tmp_path / "model.gguf", {"general.sampling.top_p": 2.0})
    said = reject("llm", "compile", "model.gguf", "-o", "chat", folder=tmp_path)
    assert "'general.sampling.top_p' in the metadata: expected a number above 0 and at most 1, got 2" in said


def test_types_of_caches(tmp_path: Path) -> None:
    """Half of the memory or less, and for this model the same text."""
    make_checkpoint(tmp_path / "model")
    said = []
    for kind in ("f32", "bf16", "int8"):
        printed = succeed("llm", "compile", "model", "-o", kind, "--cache-type", kind, folder=tmp_path)
        cache = f" the cache in {kind}," if kind != "f32" else ""
        assert f"precision f32: weights as the checkpoint has them,{cache} all else in f32\n" in printed
        text = ["--raw", "--prompt", PROMPT, "--max-tokens", 8, "--temperature", 0]
        said.append(succeed("llm", "run", kind, *text, folder=tmp_path))
    assert said[0] == said[1] == said[2]
    assert "expected f32, f16, bf16, int8, got 'i4'" in reject(
        "llm", "compile", "model", "-o", "chat", "--cache-type", "i4", folder=tmp_path
    )


def test_the_end_of_the_context(made: tuple[Path, Any]) -> None:
    folder, model = made
    tokens = tokenizer_of(folder / "model").encode(PROMPT)
    said = greedy(model, tokens, CONTEXT - len(tokens))
    assert run(folder, "--raw", "--prompt", PROMPT) == continuation(folder / "model", tokens, said)
    said_of_long = reject("llm", "run", "chat", "--raw", "--prompt", "fox " * 200, folder=folder)
    assert re.search(
        r"expected at most 128 tokens, the context of this model, got \d+\nhint: a shorter text", said_of_long
    )
    reject("llm", "compile", "model", "-o", "long", "--context", CONTEXT + 1, folder=folder)
    succeed("llm", "compile", "model", "-o", "short", "--context", 40, folder=folder)
    short = succeed("llm", "run", "short", "--raw", "--temperature", 0, "--prompt", PROMPT, folder=folder)
    assert short == continuation(folder / "model", tokens, said[: 40 - len(tokens)])


def test_an_executable(made: tuple[Path, Any]) -> None:
    folder, _ = made
    succeed("llm", "compile", "model", "-o", "program", "--exe", "--weights", "beside", folder=folder)
    alone = folder / "elsewhere"
    alone.mkdir()
    for name in ("program", "program.weights"):
        shutil.move(folder / name, alone / name)
    needed = subprocess.run(["ldd", alone / "program"], capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"^\s*(\S+?)(?:\.so\S*)? ", needed, re.MULTILINE))
    assert {name.split("/")[-1].split(".")[0] for name in names} <= {
        "linux-vdso",
        "libc",
        "libm",
        "libpthread",
        "ld-linux-x86-64",
    }
    arguments = ["--raw", "--prompt", PROMPT, "--max-tokens", "30", "--temperature", "0"]
    done = subprocess.run([alone / "program", *arguments], capture_output=True, text=True, timeout=60)
    assert done.stdout == run(folder, *arguments) and done.returncode == 0 and done.stderr == ""
    spoken = subprocess.run(
        [alone / "program", "--temperature=0", "--max-tokens=5"],
        input="Hi\nHo\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert spoken.stdout == chat(folder, "Hi\nHo\n", "--max-tokens", 5) and spoken.returncode == 0
    (alone / "program.weights").rename(alone / "other.weights")
    lost = subprocess.run([alone / "program", *arguments], capture_output=True, text=True, timeout=60)
    assert lost.returncode == 1 and lost.stderr.count("hint: ") == 1
    assert lost.stderr.startswith("error: weights: the file 'program.weights' is missing")
    helped = subprocess.run([alone / "program", "--help"], capture_output=True, text=True, timeout=60)
    assert "--max-tokens N" in helped.stdout and helped.returncode == 0
    for wrong, message in [
        ("--prompts", "unknown option '--prompts'"),
        ("--top-k=x", "option '--top-k': expected a whole"),
    ]:
        done = subprocess.run([alone / "program", wrong], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and message in done.stderr


@pytest.mark.parametrize(
    ("architecture", "target", "extensions"),
    [("aarch64", "cortex-a76", []), ("riscv64", "riscv64", []), ("riscv64", "rv64gcv_zvl256b", ["v", "zvl256b"])],
)
def test_an_executable_of_another_architecture(
    made: tuple[Path, Any], architecture: str, target: str, extensions: list[str]
) -> None:
    if reason := missing(architecture):
        pytest.skip(reason)
    folder, _ = made
    succeed("llm", "compile", "model", "-o", target, "--exe", "--target", target, folder=folder)
    arguments = ["--raw", "--prompt", PROMPT, "--max-tokens", "12", "--temperature", "0"]
    command = [*emulator(architecture, extensions), folder / target, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == run(folder, *arguments) and done.returncode == 0 and done.stderr == ""


def test_a_checkpoint_runs_directly(made: tuple[Path, Any]) -> None:
    folder, _ = made
    arguments = ["--prompt", PROMPT, "--max-tokens", 8, "--temperature", 0]
    assert succeed("llm", "run", "model", *arguments, folder=folder) == run(folder, *arguments)
    bench = ["--threads", "1,2", "--prompt-tokens", 9, "--tokens", 3, "--turns", 2, "--json", "times.json"]
    said = succeed("llm", "bench", "chat", *bench, folder=folder)
    assert said.startswith("precision f32\ntokens/s")
    times = json.loads((folder / "times.json").read_text())
    assert [row["threads"] for row in times["rows"]] == [1, 2] and times["unit"] == "tokens/s"
    assert times["precision"] == "f32"
    assert all(row["decode_best"] >= row["decode_median"] > 0 for row in times["rows"])
    assert "expected at most 128 together" in reject("llm", "bench", "chat", "--tokens", CONTEXT, folder=folder)


def test_a_gguf_file(tmp_path: Path) -> None:
    model = make_gguf(tmp_path / "model.gguf")
    succeed("llm", "compile", "model.gguf", "-o", "chat", folder=tmp_path)
    tokenizer = load_tokenizer(tmp_path / "model.gguf")
    turn = f"<s>[user] {PROMPT}<|end|>\n[assistant] "
    for text, arguments in ((turn, []), (f"<s>{PROMPT}", ["--raw"])):
        tokens = tokenizer.encode(text, add_special_tokens=False, parse_special_tokens=True)
        said = greedy(model, tokens, 20)
        expected = continuation(tmp_path / "model.gguf", tokens, said)
        assert run(tmp_path, "--prompt", PROMPT, "--max-tokens", 20, *arguments) == expected


def test_a_split_that_is_not_known(tmp_path: Path) -> None:
    make_gguf(tmp_path / "model.gguf")
    data = (tmp_path / "model.gguf").read_bytes()
    assert data.count(b"llama-bpe") == 1
    (tmp_path / "model.gguf").write_bytes(data.replace(b"llama-bpe", b"llama-xyz"))
    assert "'llama-xyz'" in reject("llm", "compile", "model.gguf", "-o", "chat", folder=tmp_path)


def test_a_template_that_is_not_known(tmp_path: Path) -> None:
    make_checkpoint(tmp_path / "model", template="{% for m in messages %}\n{{ m.content | sing }}{% endfor %}")
    done = perpend("llm", "compile", "model", "-o", "chat", folder=tmp_path)
    assert done.returncode == GOOD
    assert re.search(r"warning: the chat template \(tokenizer_config.json\) is not used: line 2: .*sing", done.stderr)
    for action in (
        ["run", "chat", "--prompt", "x", "--system", "y"],
        ["run", "chat", "--prompt", "x"],
        ["chat", "chat", "--system", "y"],
    ):
        done = subprocess.run(
            [str(PERPEND), "llm", *action], input="Hi\n", capture_output=True, text=True, cwd=tmp_path
        )
        assert done.returncode == USER_ERROR
        assert re.search("error: the model's chat template cannot be used: line 2: .*sing.*\nhint: ", done.stderr)


def test_a_checkpoint_without_a_template(tmp_path: Path) -> None:
    make_checkpoint(tmp_path / "model", template=None)
    succeed("llm", "compile", "model", "-o", "chat", folder=tmp_path)
    raw = succeed(
        "llm", "run", "chat", "--raw", "--temperature", 0, "--prompt", PROMPT, "--max-tokens", 8, folder=tmp_path
    )
    assert run(tmp_path, "--prompt", PROMPT, "--max-tokens", 8) == raw
    done = subprocess.run(
        [str(PERPEND), "llm", "chat", "chat"], input="Hi\n", capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == USER_ERROR and "error: the checkpoint has no chat template\nhint: " in done.stderr
    (tmp_path / "model" / "chat_template.jinja").write_text(TEMPLATE)
    succeed("llm", "compile", "model", "-o", "chat", folder=tmp_path)
    assert run(tmp_path, "--prompt", PROMPT, "--max-tokens", 8) != raw


def test_stop_tokens(tmp_path: Path) -> None:
    """Those of generation_config.json, one or a list; else those of config.json, else eos_token."""
    model = make_checkpoint(tmp_path / "model")
    tokens = tokenizer_of(tmp_path / "model").encode(PROMPT)
    said = greedy(model, tokens, 30)
    stop = said[9]
    shown = continuation(tmp_path / "model", tokens, said[: said.index(stop)])
    arguments = ["--raw", "--prompt", PROMPT, "--max-tokens", 30]
    for stops in ([END, stop], stop):
        (tmp_path / "model" / "generation_config.json").write_text(json.dumps({"eos_token_id": stops}))
        succeed("llm", "compile", "model", "-o", "chat", folder=tmp_path)
        assert run(tmp_path, *arguments) == shown
    assert run(tmp_path, *arguments, "--session", tmp_path / "text") == shown
    assert tokens_in(tmp_path / "chat", tmp_path / "text") == tokens + said[: said.index(stop)]
    (tmp_path / "model" / "generation_config.json").write_text(json.dumps({"eos_token_id": "x"}))
    assert "eos_token_id: expected the id of a token" in reject(
        "llm", "compile", "model", "-o", "chat", folder=tmp_path
    )


@pytest.mark.parametrize("part", [b"PLLM", b"PTOK"])
def test_damaged_assets(made: tuple[Path, Any], tmp_path: Path, part: bytes) -> None:
    folder, _ = made
    data = bytearray((folder / "chat").read_bytes())
    at = data.index(part)
    data[at + 8] ^= 1
    (tmp_path / "chat").write_bytes(data)
    assert "error: " in reject("llm", "run", "chat", "--prompt", "x", folder=tmp_path)


def test_mistakes(made: tuple[Path, Any], tmp_path: Path) -> None:
    folder, _ = made
    (tmp_path / "model.onnx").write_bytes(b"x")
    assert "is no checkpoint of a language model" in reject("llm", "compile", "model.onnx", "-o", "x", folder=tmp_path)
    assert "no output" in reject("llm", "compile", "model", folder=folder, code=USAGE_ERROR)
    assert "no prompt\nhint: --prompt TEXT" in reject("llm", "run", "chat", folder=folder)
    said = reject("llm", "run", "chat", "--prompt", "x", "--temperature", "warm", folder=folder, code=USAGE_ERROR)
    assert "option '--temperature': expected a number, got 'warm'" in said
    said = reject("llm", "run", "chat", "--prompt", "x", "--top-p", "2", folder=folder)
    assert "top-p: expected a probability from 0 to 1" in said
    assert "unknown action 'runs'" in reject("llm", "runs", folder=folder, code=USAGE_ERROR)
    assert "option '--context' needs" in reject("llm", "run", "chat", "--prompt", "x", "--context", "9", folder=folder)
    shutil.copytree(folder / "model", tmp_path / "model")
    (tmp_path / "model" / "tokenizer.json").unlink()
    assert "has no tokenizer" in reject("llm", "compile", "model", "-o", "x", folder=tmp_path)


def test_another_artifact_is_no_language_model(tmp_path: Path) -> None:
    text = 'func.func @main(%x: tensor<2xf32> {graph.name = "x"}) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}'
    (tmp_path / "model.mlir").write_text(text)
    succeed("compile", "model.mlir", "-o", "model.so", folder=tmp_path)
    said = reject("llm", "run", "model.so", "--prompt", "x", folder=tmp_path)
    assert "expected a language model" in said and "hint: perpend llm compile" in said


def test_what_is_no_language_model(tmp_path: Path) -> None:
    (tmp_path / "README").write_text("A text.\n")
    (tmp_path / "empty").touch()
    (tmp_path / "program").write_bytes(Path("/bin/true").read_bytes())
    (tmp_path / "folder").mkdir()
    for action in ("run", "chat"):
        for name in ("README", "empty", "program", "folder", "missing"):
            prompt = ["--prompt", "x"] if action == "run" else []
            said = reject("llm", action, name, *prompt, folder=tmp_path)
            assert said.count("error: ") == 1 and said.count("hint: ") == 1 and name in said


def test_a_conversation_that_fills_the_context(made: tuple[Path, Any]) -> None:
    folder, _ = made
    command = [str(PERPEND), "llm", "chat", "chat", "--temperature", "0"]
    done = subprocess.run(command, input="Hello\n" * 9, capture_output=True, text=True, cwd=folder, timeout=300)
    assert done.returncode == GOOD and done.stdout.count("\n") >= 9
    notes = r"(?:note: the context is full: forgotten turns: \d\n)+"
    assert re.fullmatch(notes, done.stderr), done.stderr


@pytest.mark.parametrize("wrong", ["Hello " * 200, "caf\udce9"])
def test_a_turn_that_cannot_be_said(made: tuple[Path, Any], wrong: str) -> None:
    """The conversation goes on without it, and has what was said before; a pipe's reader learns of it at the end."""
    folder, _ = made
    command = [str(PERPEND), "llm", "chat", "chat", "--temperature", "0", "--max-tokens", "12"]

    def said(*lines: str) -> subprocess.CompletedProcess[bytes]:
        text = "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape")
        return subprocess.run(command, input=text, capture_output=True, cwd=folder, timeout=300)

    done, expected = said("Hello there", wrong, "And now?"), said("Hello there", "And now?")
    assert expected.returncode == GOOD and done.returncode == USER_ERROR
    assert done.stdout == expected.stdout
    reason = (
        "sequence: expected at most 128 tokens, .*, got \\d+"
        if wrong.isascii()
        else "conversation: a message of 'user' is not UTF-8"
    )
    assert re.fullmatch(f"error: {reason}\nhint: .*\n", done.stderr.decode())


def test_a_library_is_no_program(made: tuple[Path, Any]) -> None:
    assert not os.access(made[0] / "chat", os.X_OK)


def test_nobody_reads_on(made: tuple[Path, Any]) -> None:
    folder, _ = made
    command = [str(PERPEND), "llm", "run", "chat", "--prompt", "Hello there"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, cwd=folder, timeout=300)
    os.close(writer)
    assert done.returncode == USER_ERROR and done.stderr == b""


@pytest.mark.parametrize("kind", ["q4_0", "q8_0", "bf16"])
@pytest.mark.parametrize("precision", ["f32", "int8"])
def test_entries_share_weights(kind: str, precision: str, tmp_path: Path) -> None:
    """One row would have wider panels than many, if the two did not have to read the same ones."""
    checkpoint = write_checkpoint(f"tiny-{kind}", tmp_path)
    options = ["--precision", precision, "--weights", "beside"]
    said = succeed("llm", "compile", checkpoint.name, "-o", "both-0.1B", *options, folder=tmp_path)
    assert f"precision {precision}: " in said
    assert ("hint: --precision int8 " in said) == (kind != "bf16" and precision == "f32")
    assert ("as other engines do: up to twice as fast\n" in said) == ((kind, precision) == ("q4_0", "f32"))
    assert ("prompts up to twice as fast, tokens in 0.85 " in said) == ((kind, precision) == ("q8_0", "f32"))
    if (kind, precision) == ("q8_0", "f32"):  # which multiplies no bytes
        said = succeed("llm", "compile", checkpoint.name, "-o", "x.so", "--target", "riscv64", folder=tmp_path)
        assert "precision f32: " in said and "hint: " not in said
    single = ["--cache", 128, "--batch-invariant", "--dim", "n=1"]
    succeed("compile", checkpoint.name, "-o", "one.so", *single, *options, folder=tmp_path)
    sizes = [(tmp_path / f"{name}.weights").stat().st_size for name in ("both-0.1B", "one")]
    assert sizes[0] < 1.1 * sizes[1]


def test_targets_without_programs_are_refused(tmp_path: Path) -> None:
    make_checkpoint(tmp_path / "model")
    for target, name in (("wasm32", "wasm32"), ("cortex-m4", "cortex-m")):
        said = reject("llm", "compile", "model", "-o", "chat", "--target", target, folder=tmp_path)
        assert f"target '{target}': there are no programs of language models for {name}" in said
    assert not (tmp_path / "chat").exists()


def test_an_interruption_ends_the_answer(tmp_path: Path) -> None:
    """At a terminal; the next one, at the prompt, ends the program. A pipe that nobody reads holds the answer up."""
    make_checkpoint(tmp_path / "model", max_position_embeddings=8192)
    succeed("llm", "compile", "model", "-o", "chat", folder=tmp_path)
    options = ["--temperature", "0", "--logit-bias", "1=-inf", "--logit-bias", f"{END}=-inf"]
    whole = succeed("llm", "run", "chat", *options, "--prompt", "Hello there", folder=tmp_path)
    capacity = 4096
    assert len(whole.encode()) > 3 * capacity

    terminal, inner = pty.openpty()
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, capacity)
    command = [PERPEND, "llm", "chat", "chat", *options]
    program = subprocess.Popen(command, stdin=inner, stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path)
    os.close(writer)
    assert program.stderr is not None
    try:
        assert program.stderr.read(2) == b"> "
        os.write(terminal, b"Hello there\n")
        answer = os.read(reader, 1)
        program.send_signal(signal.SIGINT)
        while reader in select.select([reader, program.stderr], [], [], 60)[0]:
            answer += os.read(reader, capacity)
        assert program.stderr.read(2) == b"> "
        assert len(answer) < 2 * capacity and whole.encode().startswith(answer[:-1])
        assert program.poll() is None
        program.send_signal(signal.SIGINT)
        assert program.wait(60) == -signal.SIGINT
    finally:
        program.kill()
        program.wait()
        for file in (terminal, inner, reader):
            os.close(file)
