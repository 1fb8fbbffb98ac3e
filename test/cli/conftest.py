"""A small model, and the library that it compiles to."""

from pathlib import Path

import pytest
from cli.tool import save_tiny, succeed


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return save_tiny(tmp_path)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    succeed("compile", save_tiny(folder), "-o", "tiny.so", folder=folder)
    return folder / "tiny.so"
