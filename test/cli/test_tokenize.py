"""perpend tokenize: text to ids and back."""

import subprocess
from pathlib import Path

from cli.tool import PERPEND, ROOT, USAGE_ERROR, reject, succeed

TOKENIZER = ROOT / "test" / "tokenizer" / "fixtures" / "byte-level.json"


def test_text_to_ids_and_back(tmp_path: Path) -> None:
    ids = succeed("tokenize", TOKENIZER, "--text", "Hello world", folder=tmp_path)
    plain = succeed("tokenize", TOKENIZER, "--text=Hello world", "--plain", folder=tmp_path)
    assert ids.split()[1:-1] == plain.split() and len(ids.splitlines()) == 1
    assert succeed("tokenize", TOKENIZER, "--decode", "--text", ids, folder=tmp_path) == "<s>Hello world</s>"
    assert succeed("tokenize", TOKENIZER, "--decode", "--plain", "--text", ids, folder=tmp_path) == "Hello world"
    lines = succeed("tokenize", TOKENIZER, "--text", "a b", "--pieces", folder=tmp_path).splitlines()
    assert [line.split("\t")[1] for line in lines] == ["<s>", "a", "\u0120b", "</s>"]
    special = succeed("tokenize", TOKENIZER, "--text", "</s>", "--plain", "--parse-special", folder=tmp_path)
    assert len(special.split()) == 1
    assert len(succeed("tokenize", TOKENIZER, "--text", "</s>", "--plain", folder=tmp_path).split()) > 1


def test_standard_input_and_a_folder(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_bytes(TOKENIZER.read_bytes())
    given = b"a line\n\xff\x00 and bytes"
    done = subprocess.run([PERPEND, "tokenize", tmp_path, "--plain"], input=given, capture_output=True, check=True)
    back = subprocess.run(
        [PERPEND, "tokenize", tmp_path, "--decode", "--plain"], input=done.stdout, capture_output=True, check=True
    )
    assert back.stdout == given


def test_errors(tmp_path: Path) -> None:
    assert "a tokenizer is missing" in reject("tokenize", folder=tmp_path, code=USAGE_ERROR)
    assert "cannot read 'x.json'" in reject("tokenize", "x.json", "--text", "a", folder=tmp_path)
    message = reject("tokenize", TOKENIZER, "--decode", "--text", "1 x", folder=tmp_path)
    assert "expected ids of tokens, got 'x'" in message and "hint: separate whole numbers by spaces" in message
    assert "got 99999" in reject("tokenize", TOKENIZER, "--decode", "--text", "99999", folder=tmp_path)
    (tmp_path / "broken.json").write_text('{"model": {"type": "BPE"}}')
    message = reject("tokenize", "broken.json", "--text", "a", folder=tmp_path)
    assert "'broken.json': tokenizer.json: model: expected an object" in message and "hint: " in message
