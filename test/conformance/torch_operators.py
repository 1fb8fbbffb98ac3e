"""How much of PyTorch compiles: python test/conformance/torch_operators.py [--what core|table|all] [-k PATTERN] ...

Two counts, each against eager PyTorch through torch.export and perpend.compile: the overloads that PyTorch tags as
core ATen, and the entries of PyTorch's own table of tests (op_db), whose first two samples of type float32 must be
right. Prints what is not right, grouped by the reason, then the totals. Operators that write into an argument get a
copy of it. A case whose results are random, or memory that nothing was written to, is compared by shapes and types;
complex results as pairs of real numbers; where signs or an order are free, as PyTorch's table says.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import pickle
import re
import signal
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import perpend
import torch
from torch.utils import _pytree as pytree
from torch_samples import Case, Sample, has_float_samples, of_core, of_table

RIGHT, WRONG, REFUSED, FAILED, NONE = "right", "wrong", "refused", "failed", "no samples"
LIMIT_S = 120
TOLERANCE = 1e-4
Outcome = tuple[str, str]
"""One of the words above, and the reason."""


def differ(first: torch.Tensor, second: torch.Tensor) -> bool:
    same = (first == second) | ((first != first) & (second != second))
    return not bool(same.all())


def is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def as_input(tensor: torch.Tensor) -> torch.Tensor:
    plain = tensor.detach().clone(memory_format=torch.preserve_format)
    return torch.view_as_real(plain.resolve_conj()) if tensor.is_complex() else plain


def comparable(values: Any) -> list[torch.Tensor]:
    """The tensors among results, complex ones as pairs of real numbers."""
    tensors = [value for value in pytree.tree_leaves(values) if is_tensor(value)]
    return [torch.view_as_real(value.resolve_conj()) if value.is_complex() else value for value in tensors]


class Called(torch.nn.Module):  # type: ignore[misc]
    """An operator with a sample's arguments, of which the tensors are inputs."""

    def __init__(self, sample: Sample) -> None:
        super().__init__()
        self.sample = sample
        self.function = sample.function
        self.leaves, self.spec = pytree.tree_flatten((tuple(sample.args), dict(sample.kwargs)))
        self.places = [place for place, leaf in enumerate(self.leaves) if is_tensor(leaf)]
        self.complex = {place for place in self.places if self.leaves[place].is_complex()}
        self.inputs = tuple(as_input(self.leaves[place]) for place in self.places)
        self.leaves = [None if is_tensor(leaf) else leaf for leaf in self.leaves]

    def forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = torch.view_as_complex(tensor) if place in self.complex else tensor.clone()
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return comparable(self.function(*args, **kwargs))


def run_sample(sample: Sample, opt_level: int) -> Outcome:
    net = Called(sample)
    with torch.no_grad():
        drawn = []
        for seed in range(2):
            torch.manual_seed(seed)
            drawn.append(net(*(tensor.clone() for tensor in net.inputs)))
    expected = drawn[0]
    if not expected:
        return NONE, "no tensor among the results"
    name = str(getattr(sample.function, "__name__", sample.function))
    is_random = "empty" in name or any(differ(*pair) for pair in zip(*drawn, strict=True))
    try:
        model = perpend.compile(net, example_inputs=tuple(map(torch.clone, net.inputs)), opt_level=opt_level)
    except perpend.CompileError as error:
        return REFUSED, reason_of(str(error))
    results = [value if is_tensor(value) else torch.from_numpy(value) for value in model(*net.inputs)]
    outcome = compared(results, expected, sample, is_random)
    return (RIGHT, "") if outcome[0] == WRONG and is_nearer(net, results, expected) else outcome


def is_nearer(net: Called, results: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> bool:
    """Whether each result in f32 is at least as near to PyTorch's in f64 as PyTorch's own (matrix_exp)."""
    if any(x.shape != y.shape or x.dtype != y.dtype for x, y in zip(results, expected, strict=True)):
        return False
    try:
        with torch.no_grad():
            exact = net(*(x.double() if x.dtype == torch.float32 else x.clone() for x in net.inputs))
    except RuntimeError:
        return False

    def error(value: torch.Tensor, right: torch.Tensor) -> float:
        return float((value.double() - right.double()).abs().max()) if value.numel() else 0.0

    return all(error(x, right) <= error(y, right) for x, y, right in zip(results, expected, exact, strict=True))


def compared(results: Any, expected: Any, sample: Sample, is_random: bool) -> Outcome:
    for result, reference in zip(results, expected, strict=True):
        if result.shape != reference.shape or result.dtype != reference.dtype:
            got, wanted = (f"{value.dtype} {list(value.shape)}" for value in (result, reference))
            return WRONG, f"expected {wanted}, got {got}"
    if is_random:
        return RIGHT, ""
    if sample.process and not any(value.dim() and value.shape[-1] == 2 for value in expected):
        results, expected = (processed(sample, values) for values in (results, expected))
    for result, reference in zip(results, expected, strict=True):
        try:
            torch.testing.assert_close(result, reference, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
        except AssertionError as error:
            return WRONG, " ".join(str(error).split())[:160]
    return RIGHT, ""


def processed(sample: Sample, values: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    assert sample.process
    return comparable(sample.process(tuple(values) if len(values) > 1 else values[0]))


UNSUPPORTED = re.compile(r"operators? of this model (?:is|are) not supported:(.*?)(?:\nhint|$)", re.DOTALL)


def reason_of(text: str) -> str:
    """The operators that are missing, or the error without the names of nodes."""
    missing = UNSUPPORTED.search(text)
    if missing:
        names = re.findall(r"^  (\S+) \(", missing.group(1), re.MULTILINE)
        return "operator " + ", ".join(names)
    text = re.sub(r"^node '\w+' \(([^)]*)\)", r"\1", text.partition("\nhint")[0])
    return " ".join(text.split())[:200]


def run_case(case: Case, opt_level: int) -> Outcome:
    try:
        samples = list(case.samples())
    except Exception as error:
        return NONE, f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
    gc.collect()
    if not samples:
        return NONE, "PyTorch's table has none for this machine"
    for sample in samples:
        try:
            outcome = run_sample(sample, opt_level)
        except Exception as error:
            return FAILED, f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
        if outcome[0] != RIGHT:
            return outcome
    return RIGHT, ""


def in_process(case: Case, limit_s: int, opt_level: int) -> Outcome:
    """A crash or a hang costs one case."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reader)
        signal.alarm(limit_s)  # ends the process
        warnings.simplefilter("ignore")
        os.write(writer, pickle.dumps(run_case(case, opt_level)))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(process, 0)
    if data:
        outcome: Outcome = pickle.loads(data)
        return outcome
    number = os.WTERMSIG(status)
    return FAILED, f"more than {limit_s} s" if number == signal.SIGALRM else f"ended by signal {number}"


def run(title: str, cases: Sequence[Case], limit_s: int, opt_level: int) -> dict[str, Outcome]:
    start, outcomes = time.monotonic(), {}
    # Generators of samples, which PyTorch's table leaves in cycles, end with calls that an export would record.
    gc.collect()
    gc.freeze()
    for position, case in enumerate(cases):
        outcomes[case.name] = in_process(case, limit_s, opt_level)
        if sys.stderr.isatty():
            print(f"\r{title}: {position + 1}/{len(cases)} ", end="", file=sys.stderr, flush=True)
    print(f"\r{title}: {len(cases)} cases in {time.monotonic() - start:.0f} s", file=sys.stderr)
    return outcomes


def print_groups(title: str, outcomes: dict[str, Outcome]) -> None:
    groups: dict[Outcome, list[str]] = defaultdict(list)
    for name, outcome in outcomes.items():
        if outcome[0] != RIGHT:
            groups[outcome].append(name)
    print(f"\n{title}\n| cases | outcome | reason | names |\n| --- | --- | --- | --- |")
    for (status, reason), names in sorted(groups.items(), key=lambda group: (group[0][0], -len(group[1]), group[0][1])):
        print(f"| {len(names)} | {status} | {reason.replace('|', chr(92) + '|')} | {', '.join(names)} |")
    counts = Counter(status for status, _ in outcomes.values())
    print(f"{title}: {len(outcomes)} cases; " + ", ".join(f"{count} {status}" for status, count in counts.items()))


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", choices=["core", "table", "all"], default="all")
    parser.add_argument("-k", dest="pattern", default="", help="only cases whose name matches this regular expression")
    parser.add_argument("--limit", type=int, default=LIMIT_S, help="seconds for a case")
    parser.add_argument("--opt-level", type=int, default=3, help="of the compiler, 0 to 3")
    parser.add_argument("--part", default="0/1", help="i/n: every n-th case, from the i-th on")
    parser.add_argument("--json", type=Path, help="write every outcome to this file")
    return parser.parse_args(arguments)


def warm_up() -> None:
    """What every process would load and make for itself; without a compilation, which may start threads."""
    perpend.import_model(torch.nn.ReLU(), example_inputs=(torch.ones(2),))


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)
    torch.set_num_threads(1)
    warm_up()
    first, step = map(int, options.part.split("/"))
    results: dict[str, dict[str, Outcome]] = {}
    for what, collect in (("core", of_core), ("table", of_table)):
        if options.what in (what, "all"):
            cases = [case for case in collect() if re.search(options.pattern, case.name)]
            results[what] = run(what, cases[first::step], options.limit, options.opt_level)
            print_groups(what, results[what])
            if what == "table":
                others = [case.name for case in cases[first::step] if not has_float_samples(case)]
                print(f"of these, {len(others)} have no samples of type float32: {', '.join(others)}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
