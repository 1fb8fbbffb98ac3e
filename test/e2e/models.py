"""The perpend tool and the real models that end-to-end tests run.

The models are not part of the project: they lie in ../shared/models beside it, or where PERPEND_MODELS says, each
folder with ONNX Runtime's inputs and outputs in golden/. Tests are skipped where they are absent.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray[Any, Any]]

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PERPEND_BUILD", ROOT / "build")).resolve()
PERPEND = BUILD / "bin" / "perpend"
CLANG = Path(os.environ.get("LLVM_BIN", "/usr/lib/llvm-19/bin")) / "clang"
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
MODELS = Path(os.environ.get("PERPEND_MODELS", ROOT.parent / "shared" / "models"))

# The tool as a child of a small process: a child's peak memory includes that of the process that started it.
MEASURE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
print("peak", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(done.returncode)
"""


@dataclass(frozen=True)
class Model:
    """One ONNX file with golden inputs and outputs."""

    folder: str
    file: str
    batch: str = ""  # the input whose dimension 0 may be made symbolic

    @property
    def path(self) -> Path:
        return MODELS / self.folder / f"{self.file}.onnx"

    def golden(self) -> tuple[Arrays, Arrays]:
        """Inputs and outputs by name."""
        folder = MODELS / self.folder / "golden"
        record = json.loads((folder / f"{self.file}.json").read_text())

        def arrays(kind: str) -> Arrays:
            return {tensor["name"]: np.load(folder / tensor["file"]) for tensor in record[kind]}

        return arrays("inputs"), arrays("outputs")


GOLDEN = [
    Model("mnist-8", "mnist-8", "Input3"),
    Model("squeezenet-fp16", "SqueezeNet_fp16"),
    Model("speech-commands-squeezenet", "speech_recog", "input"),
    Model("ultraface-rfb320", "version-RFB-320", "input"),
    Model("ultraface-rfb320", "version-RFB-320_simplified", "input"),
    Model("yolox-nano", "yolox_nano", "images"),
    Model("fastestdet", "FastestDet"),
    Model("hyperlpr-cls", "litemodel_cls_96x_r1", "data"),
    Model("super-resolution", "pytorch_super_resolution", "input"),
    Model("selfie-segmentation", "selfie_segmentation_landscape"),
    Model("palm-detection", "palm_detection_barracuda"),
    Model("bodypix-mobilenetv1", "MobileNetV1-x050-stride16"),
    Model("vit-tracker", "vitTracker"),
    Model("magika-v3", "model", "bytes"),
    Model("micro-kws-int8", "micro_kws_m_static_fp32"),
    Model("basic-pitch", "nmp", "serving_default_input_2:0"),
    Model("ppocrv3-det", "text_detection_ch_ppocrv3_2023may"),
    Model("tbefn-lowlight", "tbefn_240x320"),
    Model("silero-vad", "silero_vad"),
    Model("silero-vad", "silero_vad_16k_op15"),
    Model("silero-vad", "silero_vad_op18_ifless"),
    Model("lstm-loop-tiny", "nuphar_tiny_model_with_loop"),
    Model("gtcrn", "gtcrn"),
    Model("gtcrn", "gtcrn_simple"),
    Model("micro-kws-int8", "micro_kws_m_static_qoperator"),
    Model("g2p-de", "g2p"),
    Model("libtashkeel", "tashkeel_fp32"),
    Model("libtashkeel", "tashkeel_int8_ort"),
]
# Has golden outputs too, of ONNX Runtime's fused integer operators, which its definition does not ask for.
DEQUANTISED = Model("micro-kws-int8", "micro_kws_m_static_qdq")
STYLE = Model("style-lamuse", "la_muse")  # without golden outputs


def run_tool(*arguments: object, folder: Path) -> str:
    command = [str(PERPEND), *(str(argument) for argument in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def peak_bytes(*arguments: object, folder: Path) -> int:
    """Runs the tool, and measures its peak memory."""
    command = [sys.executable, "-S", "-c", MEASURE, str(PERPEND), *(str(argument) for argument in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=600)
    assert done.returncode == 0, done.stderr
    return int(done.stdout.rsplit("peak", 1)[1]) * 1024


def run_library(library: Path, inputs: Arrays, outputs: list[str]) -> Arrays:
    """The outputs of a compiled model, run by the tool in a process of its own."""
    folder = library.parent / "arrays"
    folder.mkdir(exist_ok=True)
    arguments: list[object] = []
    for position, (name, array) in enumerate(inputs.items()):
        np.save(folder / f"input{position}.npy", array)
        arguments += ["--input", f"{name}={folder / f'input{position}.npy'}"]
    text = run_tool("run", library, *arguments, "--output-dir", folder, folder=folder)
    assert text.count("NaN: 0") == len(outputs), text
    return {name: np.load(folder / file_name(name)) for name in outputs}


def file_name(tensor: str) -> str:
    """The file that the tool writes a tensor to."""
    return f"{tensor.replace('/', '_')}.npy"


def assert_close(got: Arrays, expected: Arrays, other: Arrays | None = None) -> None:
    """Numbers to a part of the largest, integers exactly. Where another way to compute the expected numbers differs,
    they are allowed to be twice as far off.
    """
    assert got.keys() == expected.keys()
    for name, reference in expected.items():
        assert got[name].dtype == reference.dtype and got[name].shape == reference.shape, name
        if not np.issubdtype(reference.dtype, np.floating):
            np.testing.assert_array_equal(got[name], reference, err_msg=name)
            continue
        error = np.abs(got[name].astype(np.float64) - reference.astype(np.float64)).max()
        bound = 1e-4 * np.abs(reference.astype(np.float64)).max() + 1e-5
        if other:
            bound += 2 * np.abs(other[name].astype(np.float64) - reference).max()
        assert error <= bound, f"{name}: the largest error is {error:g}, allowed is {bound:g}"
