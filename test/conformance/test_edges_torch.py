"""PyTorch's table of operators at the edges of types: a sample of the groups in each run, all with PERPEND_LONG."""

from __future__ import annotations

import torch
from edge_conformance import complaints, sample
from edge_torch import TorchFrontEnd, makers_of, options_of
from torch_samples import full_name, op_db

PARTS = 200


def entry(name: str) -> object:
    return next(each for each in op_db if full_name(each) == name)


def test_options_are_those_of_the_schemas() -> None:
    options = options_of(entry("std"), 1)
    assert 0.5 in options["correction"] and 5 in options["correction"] and [-1] in options["dim"]


def test_calls_that_eager_pytorch_refuses_are_no_cases() -> None:
    made = {form: make() for form, make in makers_of(entry("softmax"), torch.float32).items()}
    assert any(made.values()) and not all(made.values())
    assert any(form.startswith("table") for form in made)


def test_edges() -> None:
    front = TorchFrontEnd()
    assert complaints(front, sample(front.groups(), PARTS)) == []
