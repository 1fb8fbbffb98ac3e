"""Models for other architectures than this process's: what they are good for, and what a call of one says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import perpend
import pytest
from cli.tool import BUILD, DIGITS, succeed
from conformance.onnx_foreign import missing

ARCHITECTURES = ["aarch64", "riscv64"]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_model_is_saved_and_runs_elsewhere(tmp_path: Path, architecture: str) -> None:
    if not (BUILD / "lib" / architecture / "libperpend_runtime.a").exists():
        pytest.skip(f"the runtime was not built for {architecture}")
    model = perpend.compile(str(DIGITS), target=architecture)
    assert isinstance(model, perpend.ForeignModel)
    assert repr(model) == f"<perpend.ForeignModel 'digits' for {architecture}>"
    assert model.description["target"] == architecture and model.report is not None
    image = np.zeros((2, 1, 8, 8), np.float32)
    for _ in range(2):
        with pytest.raises(RuntimeError) as raised:
            model(image)
        text = str(raised.value)
        assert text.startswith(
            f"the model is for {architecture} and cannot be called here: expected a 64-bit object for "
        )
        assert f"got one for {architecture}\nhint: model.save('digits.so'); `perpend run digits.so`" in text
        assert model.path not in text
    model.save(tmp_path / "digits.so")
    del model
    assert (tmp_path / "digits.h").exists()
    with pytest.raises(RuntimeError, match=f"got one for {architecture}"):
        perpend.load(tmp_path / "digits.so")
    if not missing(architecture):
        np.save(tmp_path / "image.npy", image)
        text = succeed("run", tmp_path / "digits.so", "--input", tmp_path / "image.npy", folder=tmp_path)
        assert f"code for {architecture}" in text


def test_a_model_for_this_machine_is_called() -> None:
    assert isinstance(perpend.compile(str(DIGITS)), perpend.Model)
