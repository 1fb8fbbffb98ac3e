"""What `./dev demo` runs: compiles digits.onnx into a native library, checks it on images that the training never saw,
and times it against ONNX Runtime in the same run."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import onnxruntime  # noqa: E402
import perpend  # noqa: E402
import turns  # noqa: E402
import worker  # noqa: E402
from dataset import load  # noqa: E402

MODEL = Path(__file__).with_name("digits.onnx")
LIBRARY = ROOT / "build" / "demo" / "digits.so"
PEER = "onnxruntime"
WORST_DEVIATION = 1e-4


def compile_model() -> None:
    LIBRARY.parent.mkdir(parents=True, exist_ok=True)
    arguments = [str(ROOT / "build/bin/perpend"), "compile", str(MODEL), "-o", str(LIBRARY)]
    print("$ perpend compile", MODEL.relative_to(ROOT), "-o", LIBRARY.relative_to(ROOT))
    start = time.perf_counter()
    subprocess.run(arguments, check=True)
    seconds = time.perf_counter() - start
    print(f"  {seconds:.1f} s; model {MODEL.stat().st_size:,} bytes, library {LIBRARY.stat().st_size:,} bytes\n")


def show_predictions(probabilities: NDArray[np.float32], labels: NDArray[np.int64]) -> None:
    print("image   predicted   confidence   truth")
    for i in range(10):
        digit = int(probabilities[i].argmax())
        mark = "" if digit == labels[i] else "   wrong"
        print(f"{i:5}   {digit:9}   {probabilities[i, digit]:10.1%}   {labels[i]:5}{mark}")
    accuracy = float((probabilities.argmax(axis=1) == labels).mean())
    print(f"accuracy on {len(labels)} held-back images: {accuracy:.2%}\n")


def compare_speed(images: NDArray[np.float32]) -> bool:
    """Prints one row; False when an engine failed or its output is wrong."""
    reference = onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"]).run(None, {"image": images})
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder) / "inputs.npz"
        np.savez(inputs, images)
        result = turns.measure(
            [
                turns.Candidate("perpend", worker.command("perpend", LIBRARY, inputs, 1)),
                turns.Candidate(PEER, worker.command(PEER, MODEL, inputs, 1)),
            ],
            deviation=lambda outputs: turns.largest_deviation(outputs, reference),
            progress=lambda text: turns.print_progress(f"batch {len(images)}: {text}" if text else ""),
        )
    ours, theirs = result["perpend"], result[PEER]
    failures = [f"{timing.name}: {timing.error}" for timing in (ours, theirs) if timing.error]
    if failures:
        print(f"{len(images):5}   " + "; ".join(failures))
        return False
    times = f"{ours.median_s * 1e6:12.1f} {theirs.median_s * 1e6:16.1f}"
    print(f"{len(images):5} {times}   {turns.ratio(theirs, ours)!s:20} {ours.deviation:9.1e}")
    if ours.deviation > WORST_DEVIATION:
        print(f"error: the outputs deviate from ONNX Runtime's by {ours.deviation:.1e}, at most {WORST_DEVIATION:.0e}")
    return ours.deviation <= WORST_DEVIATION


def main() -> int:
    compile_model()
    split = load()
    show_predictions(np.asarray(perpend.load(str(LIBRARY))(split.holdout_images)), split.holdout_labels)
    print(f"Time of one run on {turns.processor()}, 1 thread, in turns with ONNX Runtime {onnxruntime.__version__}")
    print("(median of medians; ratio: ONNX Runtime / Perpend, with its lowest and highest turn; above 1 is faster)")
    print("batch   Perpend µs   ONNX Runtime µs   ratio                deviation")
    right = [compare_speed(split.holdout_images[:batch]) for batch in (1, 64)]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
