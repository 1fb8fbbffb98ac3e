"""The programs in examples/, as modules."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load(example: str, program: str = "demo") -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{example}_{program}", EXAMPLES / example / f"{program}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
