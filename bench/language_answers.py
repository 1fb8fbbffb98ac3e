"""Compares what language models answer in Perpend and in llama.cpp, token for token; writes JSON and a page.

usage: language_answers.py NAME=FILE.gguf ... [--peer PYTHON] [--tokens 64]

PYTHON: the interpreter of an environment that has llama-cpp-python; without it, Perpend's precisions are compared.
Perpend in f32, with a cache of f32, continues ten texts greedily. The other engines compute the logits of the same
texts, token by token behind their own caches of f32. A token differs if another one has the greatest logit; its margin
is what Perpend's f32 prefers its own token by, relative to the spread (standard deviation) of its logits. The deviation
is the root mean square of all differences of logits, relative to that of the logits about their mean.
"""

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

PEER = "llama.cpp"
TEXTS = (
    "The capital of France is",
    "To make bread, you need flour, water, yeast and",
    "def fibonacci(n):\n    if n < 2:\n        return n\n",
    "Once there was a lighthouse keeper who",
    "Water boils at 100 degrees Celsius because",
    "Dear Sir or Madam,\n\nI am writing to",
    "The three largest planets are",
    "Question: What is 17 plus 25?\nAnswer:",
    "In 1969, two astronauts",
    "Der schnelle braune Fuchs springt",
)
Logits = NDArray[np.float32]


def steps(engine: str, model: str, texts: list[list[int]], starts: list[int], greedy: int) -> tuple[Logits, list[int]]:
    """The logits behind each prefix of each text from `starts` on; of `greedy` tokens that the engine chooses itself,
    if that is not 0. Also these tokens."""
    logits, chosen = [], []
    logits_of = opened(engine, model, max(len(text) for text in texts) + greedy + 8)
    for text, start in zip(texts, starts, strict=True):
        tokens = list(text)
        end = len(tokens) if not greedy else start + greedy
        for length in range(start, end):
            logits.append(logits_of(tokens[:length]))
            if greedy:
                tokens.append(int(logits[-1].argmax()))
                chosen.append(tokens[-1])
    return np.stack(logits), chosen


def opened(engine: str, model: str, context: int) -> Any:
    """A function from tokens to the logits of the next one, which keeps a cache."""
    if engine != PEER:
        import perpend.llm

        return perpend.llm.load(model, threads=1).logits
    from language_worker import Llama

    llama = Llama(model, 1, "f32", context)
    known: list[int] = []

    def logits_of(tokens: list[int]) -> Logits:
        same = next((i for i, pair in enumerate(zip(known, tokens, strict=False)) if pair[0] != pair[1]), None)
        first = min(len(known), len(tokens) - 1) if same is None else same
        llama.cut(first)
        llama.add(tokens[first:], first)
        known[:] = tokens
        return llama.logits()

    return logits_of


class Answers(NamedTuple):
    """How an engine's logits relate to the reference's."""

    tokens: int
    differing: int
    largest_margin: float  # of the tokens that differ
    deviation: float

    @staticmethod
    def of(logits: Logits, reference: Logits) -> "Answers":
        spread = reference.std(1)
        places = np.arange(len(reference))
        best, other = reference.argmax(1), logits.argmax(1)
        margins = (reference[places, best] - reference[places, other]) / spread
        differences = (logits - logits.mean(1, keepdims=True)) - (reference - reference.mean(1, keepdims=True))
        deviation = np.sqrt(
            np.square(differences, dtype=np.float64).mean() / np.square(spread, dtype=np.float64).mean()
        )
        return Answers(len(best), int((best != other).sum()), float(margins.max()), float(deviation))


def ask(engine: str, model: Path, request: dict[str, Any], python: str, folder: Path) -> tuple[Logits, list[int]]:
    """As steps(), in a process of its own."""
    question, answer = folder / "question.json", folder / "answer.npz"
    question.write_text(json.dumps(request))
    command = [python, __file__, "--worker", engine, str(model), str(question), str(answer)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise ValueError(f"{engine} fails on '{model.name}': {run.stderr.strip().splitlines()[-1:]}")
    with np.load(answer) as arrays:
        return arrays["logits"], [int(token) for token in arrays["chosen"]]


def work(engine: str, model: str, question: str, answer: str) -> None:
    request = json.loads(Path(question).read_text())
    logits, chosen = steps(engine, model, request["texts"], request["starts"], request["greedy"])
    np.savez(answer, logits=logits, chosen=np.array(chosen, np.int64))


def measure(checkpoint: Path, options: argparse.Namespace, folder: Path) -> dict[str, Answers]:
    import perpend.llm
    import turns

    lower = "bf16" if "bf16" in checkpoint.name else "int8"
    models = {}
    for precision in ("f32", lower):
        turns.print_progress(f"{checkpoint.name}: compiling for {precision}")
        models[precision] = folder / f"{precision}.so"
        perpend.llm.compile(checkpoint, models[precision], context=1024, cache_type="f32", precision=precision)
    prompts = [perpend.llm.load(models["f32"]).encode(text) for text in TEXTS]
    starts, count = [len(prompt) for prompt in prompts], options.tokens
    turns.print_progress(f"{checkpoint.name}: perpend f32")
    request = {"texts": prompts, "starts": starts, "greedy": count}
    reference, chosen = ask("perpend", models["f32"], request, sys.executable, folder)
    texts = [[*prompt, *chosen[i * count : (i + 1) * count]] for i, prompt in enumerate(prompts)]
    request = {"texts": texts, "starts": starts, "greedy": 0}
    turns.print_progress(f"{checkpoint.name}: perpend {lower}")
    answers = ask("perpend", models[lower], request, sys.executable, folder)[0]
    found = {f"perpend {lower}": Answers.of(answers, reference)}
    if options.peer:
        turns.print_progress(f"{checkpoint.name}: {PEER}")
        found[PEER] = Answers.of(ask(PEER, checkpoint, request, options.peer, folder)[0], reference)
    turns.print_progress("")
    return found


def page_of(results: dict[str, dict[str, Answers]], facts: dict[str, Any]) -> str:
    lines = [
        "# Answers of language models against llama.cpp's",
        "",
        f"Written by `{facts['command']}`, {facts['date']}. {facts['peer']}".rstrip(),
        f"Processor: {facts['processor']}. Caches of f32.",
        "",
        f"Perpend in f32 continues {len(TEXTS)} texts by {facts['tokens']} tokens each, greedily; the others compute",
        "the logits of the same texts. A token differs where another one has the greatest logit. Margin: the",
        "difference of the two in Perpend's f32, over the standard deviation of its logits. Deviation: root mean",
        "square of the differences of all logits, over that standard deviation. llama.cpp rounds what is multiplied",
        "with the weights to bytes (to bf16, for those of bf16), as Perpend does with `--precision int8`.",
        "",
        "| model | engine | tokens that differ | largest margin of these | deviation |",
        "|---|---|---|---|---|",
    ]
    for model, engines in results.items():
        for engine, answers in engines.items():
            margin = f"{answers.largest_margin:.3f}" if answers.differing else "—"
            lines.append(
                f"| {model} | {engine} | {answers.differing} of {answers.tokens} | {margin} | {answers.deviation:.2e} |"
            )
    return "\n".join(lines) + "\n"


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="NAME=FILE.gguf")
    parser.add_argument("--peer", default="", metavar="PYTHON")
    parser.add_argument("--tokens", type=int, default=64, help="of each text (default 64)")
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    options = parser.parse_args(arguments)
    options.models = [model.partition("=")[::2] for model in options.models]
    if not all(path for _, path in options.models) or options.tokens < 1:
        parser.error("expected NAME=FILE.gguf, and at least one token")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    import turns
    from language_engines import version_of_peer

    facts: dict[str, Any] = {
        "command": f"bench/{Path(__file__).name} " + " ".join(f"{n}={Path(path).name}" for n, path in options.models),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": turns.processor(),
        "peer": f"llama-cpp-python {version_of_peer(options.peer)}." if options.peer else "",
        "tokens": options.tokens,
    }
    with tempfile.TemporaryDirectory() as folder:
        results = {name: measure(Path(path), options, Path(folder)) for name, path in options.models}
    options.out.mkdir(parents=True, exist_ok=True)
    found = {name: {engine: each._asdict() for engine, each in engines.items()} for name, engines in results.items()}
    (options.out / "llm-answers.json").write_text(json.dumps(facts | {"models": found}, indent=1) + "\n")
    (options.out / "llm-answers.md").write_text(page_of(results, facts))
    print(page_of(results, facts))
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(*sys.argv[2:])
    else:
        sys.exit(main())
