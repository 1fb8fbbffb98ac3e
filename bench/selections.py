"""Two small models that select: what follows a detector, and what follows a language model; for models.py.

detector_boxes takes the output of a detector of 8,400 candidates and 80 classes: the best class of each, the 300 best
candidates, their boxes, and those that overlap no better one of their class. sampler takes the logits of 50,257 tokens:
temperature, the 50 best tokens, of these the fewest whose probabilities are 0.9 together, and the token at a random
number, which is an input. Writes an ONNX file of each, with inputs and ONNX Runtime's outputs. MODULES has the same in
PyTorch, eager; it has no operator that suppresses boxes, so these are a matrix of overlaps and a loop.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch

CANDIDATES, CLASSES, BEST, IMAGE = 8400, 80, 300, 640.0
OVERLAP, LEAST_SCORE, MOST_BOXES = 0.45, 0.25, 100
VOCABULARY, TOP_K, TOP_P, TEMPERATURE = 50257, 50, 0.9, 0.8
OPSET = 18
Arrays = dict[str, np.ndarray]

BOXES = f"""<ir_version: 9, opset_import: ["" : {OPSET}]>
detector_boxes (float[1, {4 + CLASSES}, {CANDIDATES}] predictions)
    => (float[d, 4] found, float[d] scores, int64[d] classes) {{
  one = Constant <value_ints = [1]> ()   zero = Constant <value_ints = [0]> ()
  parts = Constant <value_ints = [4, {CLASSES}]> ()   best = Constant <value_ints = [{BEST}]> ()
  rows = Transpose <perm = [0, 2, 1]> (predictions)
  flat = Squeeze (rows, zero)
  boxes, likely = Split <axis = 1> (flat, parts)
  score = ReduceMax <keepdims = 0> (likely, one)
  kind = ArgMax <axis = 1, keepdims = 0> (likely)
  top, place = TopK (score, best)
  near = Gather <axis = 0> (boxes, place)
  kinds = Gather <axis = 0> (kind, place)
  apart = Constant <value_floats = [{2 * IMAGE}, {2 * IMAGE}, 0.0, 0.0]> ()
  number = Cast <to = 1> (kinds)
  column = Unsqueeze (number, one)
  shift = Mul (column, apart)
  shifted = Add (near, shift)
  images = Unsqueeze (shifted, zero)
  both = Constant <value_ints = [0, 1]> ()
  ranked = Unsqueeze (top, both)
  most = Constant <value_ints = [{MOST_BOXES}]> ()
  overlap = Constant <value_floats = [{OVERLAP}]> ()   least = Constant <value_floats = [{LEAST_SCORE}]> ()
  chosen = NonMaxSuppression <center_point_box = 1> (images, ranked, most, overlap, least)
  two = Constant <value_int = 2> ()
  index = Gather <axis = 1> (chosen, two)
  found = Gather <axis = 0> (near, index)
  scores = Gather <axis = 0> (top, index)
  classes = Gather <axis = 0> (kinds, index)
}}"""

SAMPLER = f"""<ir_version: 9, opset_import: ["" : {OPSET}]>
sampler (float[1, {VOCABULARY}] logits, float[1, 1] random) => (int64[1, 1] token) {{
  temperature = Constant <value_float = {TEMPERATURE}> ()
  warm = Div (logits, temperature)
  k = Constant <value_ints = [{TOP_K}]> ()
  top, place = TopK (warm, k)
  likely = Softmax <axis = 1> (top)
  axis = Constant <value_int = 1> ()
  before = CumSum <exclusive = 1> (likely, axis)
  p = Constant <value_float = {TOP_P}> ()
  zero = Constant <value_float = 0.0> ()
  isKept = Less (before, p)
  kept = Where (isKept, likely, zero)
  until = CumSum (kept, axis)
  ones = Constant <value_ints = [1]> ()
  total = ReduceSum (kept, ones)
  wanted = Mul (random, total)
  isBefore = LessOrEqual (until, wanted)
  counted = Cast <to = 7> (isBefore)
  count = ReduceSum (counted, ones)
  last = Constant <value_int = {TOP_K - 1}> ()
  chosen = Min (count, last)
  token = GatherElements <axis = 1> (place, chosen)
}}"""


class Boxes(torch.nn.Module):  # type: ignore[misc]
    def forward(self, predictions: torch.Tensor) -> tuple[torch.Tensor, ...]:
        flat = predictions[0].T
        score, kind = flat[:, 4:].max(1)
        top, place = score.topk(BEST)
        near, kinds = flat[:, :4][place], kind[place]
        offset = kinds.float()[:, None] * (2 * IMAGE)
        low, high = near[:, :2] + offset - near[:, 2:] / 2, near[:, :2] + offset + near[:, 2:] / 2
        area = (high - low).prod(1)
        common = (torch.minimum(high[:, None], high) - torch.maximum(low[:, None], low)).clamp(min=0).prod(2)
        overlaps = common / (area[:, None] + area - common) > OVERLAP
        alive = top > LEAST_SCORE
        chosen: list[int] = []
        while len(chosen) < MOST_BOXES and bool(alive.any()):
            first = int(alive.to(torch.uint8).argmax())
            chosen.append(first)
            alive &= ~overlaps[first]
            alive[first] = False
        index = torch.tensor(chosen, dtype=torch.int64)
        return near[index], top[index], kinds[index]


class Sampler(torch.nn.Module):  # type: ignore[misc]
    def forward(self, logits: torch.Tensor, random: torch.Tensor) -> tuple[torch.Tensor, ...]:
        top, place = (logits / TEMPERATURE).topk(TOP_K)
        likely = top.softmax(1)
        kept = torch.where(likely.cumsum(1) - likely < TOP_P, likely, 0.0)
        until = kept.cumsum(1)
        chosen = (until <= random * kept.sum(1, keepdim=True)).sum(1, keepdim=True).clamp(max=TOP_K - 1)
        return (place.gather(1, chosen),)


MODULES: dict[str, Callable[[], torch.nn.Module]] = {"detector_boxes": Boxes, "sampler": Sampler}


def predictions(generator: np.random.Generator) -> Arrays:
    """Boxes around 40 objects, each of one class, and of low score elsewhere."""
    objects = np.concatenate([generator.uniform(60, IMAGE - 60, (40, 2)), generator.uniform(20, 120, (40, 2))], axis=1)
    owner = generator.integers(0, 40, CANDIDATES)
    boxes = objects[owner] + generator.normal(0, 4, (CANDIDATES, 4))
    scores = generator.uniform(0, 0.2, (CANDIDATES, CLASSES))
    hits = generator.random(CANDIDATES) < 0.05
    scores[hits, owner[hits] % CLASSES] = generator.uniform(0.3, 1, hits.sum())
    return {"predictions": np.concatenate([boxes, scores], axis=1).T[None].astype(np.float32)}


def logits(generator: np.random.Generator) -> Arrays:
    values = generator.normal(0, 3, (1, VOCABULARY))
    return {"logits": values.astype(np.float32), "random": generator.random((1, 1)).astype(np.float32)}


def write(text: str, inputs: Arrays, folder: Path) -> None:
    """The model, and beside it its inputs and outputs as models.py finds them."""
    model = onnx.parser.parse_model(text)
    path = folder / f"{model.graph.name}.onnx"
    onnx.save(model, path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    outputs = dict(zip((o.name for o in session.get_outputs()), session.run(None, inputs), strict=True))
    golden = folder / "golden"
    golden.mkdir(exist_ok=True)
    facts: dict[str, object] = {"runtime": f"onnxruntime {onnxruntime.__version__}"}
    for kind, values in (("inputs", inputs), ("outputs", outputs)):
        facts[kind] = [{"file": f"{path.stem}-{name}.npy"} for name in values]
        for name, value in values.items():
            np.save(golden / f"{path.stem}-{name}.npy", value)
    (golden / f"{path.stem}.json").write_text(json.dumps(facts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(0)
    write(BOXES, predictions(generator), folder)
    write(SAMPLER, logits(generator), folder)


if __name__ == "__main__":
    main()
