"""A compiled model's files: what can be done with them wherever they run."""

from __future__ import annotations

import json
import os
import shutil
import struct
import threading
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

from . import _perpend
from ._perpend import Report
from .operators import Operator
from .temporary_folders import TemporaryFolder


class Artifact:
    """A shared library with what belongs to it."""

    path: Any
    descriptor: Any
    report: Report | None = None
    operators: Sequence[Operator] = ()
    folder: TemporaryFolder | None = None  # holds the file; kept as long as a model needs it

    weights = ""  # the folder in which files of weights are looked for first

    @property
    def description(self) -> dict[str, Any]:
        """The artifact's descriptor: inputs, outputs, symbols, target, versions, checksum."""
        parsed: dict[str, Any] = json.loads(self.descriptor)
        return parsed

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the shared library to `path`, and its C header and file of weights, if it has them, beside it. Files
        of the user that have weights (weights="as-is") stay where they are; links beside the library lead to them, so a
        copy for another machine has to follow links."""
        target = Path(path)
        if self.report and self.report.is_of_process:
            raise ValueError(
                "save: the model's weights are in this process, as torch.compile leaves them, and not in its file\n"
                "hint: perpend.compile(net, example_inputs=...) makes a model to save"
            )
        if self.operators:
            names = ", ".join(operator.label for operator in self.operators)
            raise ValueError(
                f"save: the model calls Python functions of this process ({names}), which a file cannot hold\n"
                "hint: bring a C function (docs/howto/bring-an-operator.md)"
            )
        if target.suffix != ".so":
            raise ValueError(
                f"save: expected a path that ends in .so, got '{target}'\nhint: use `perpend compile` for .a"
            )
        links = self._links_beside(target)
        _copy(Path(self.path), target)
        for source in self._packed_weights():
            _copy(source, target.with_suffix(".weights"))
        for link, file in links.items():
            link.symlink_to(file)
        header = Path(self.path).with_suffix(".h")
        if header.exists():
            _copy(header, target.with_suffix(".h"))

    def _weights_files(self, packed: bool) -> dict[str, Path]:
        """By the names that the library has for them: what the compiler has packed, or files of the user."""
        listed = [entry["file"] for entry in self.description.get("weightsFiles", ())]
        own = Path(self.path)
        folders = [self.weights, str(own.parent), *os.environ.get("PERPEND_WEIGHTS", "").split(":")]
        files = {}
        for name in listed:
            if (name.endswith(".weights") and "/" not in name) == packed:
                others = own.with_suffix(".weights").name if packed else Path(name).name
                found = [Path(folder) / each for folder in filter(None, folders) for each in (name, others)]
                files[name] = next((path for path in found if path.exists()), found[0])
        return files

    def _packed_weights(self) -> list[Path]:
        """The file that the compiler has written beside the library, if there is one."""
        return list(self._weights_files(packed=True).values())

    def _links_beside(self, target: Path) -> dict[Path, Path]:
        """Links that are wanted for the files of the user that a library in another folder would not find."""
        links: dict[Path, Path] = {}
        for name, file in self._weights_files(packed=False).items():
            link = target.parent / Path(name).name
            if any(path.exists() and path.samefile(file) for path in (target.parent / name, link)):
                continue
            if link.exists() or link.is_symlink() or links.get(link, file.resolve()) != file.resolve():
                raise FileExistsError(
                    f"save: '{link}' is not '{file}', from which the model reads weights\n"
                    "hint: save into another folder, or remove that file; of two files with one name, rename one"
                )
            links[link] = file.resolve()
        return links


class ForeignModel(Artifact):
    """A model for another architecture than this machine's: it can be saved and described, but not called here."""

    def __init__(self, path: str, refusal: str) -> None:
        self.path, self.refusal = path, refusal

    @property
    def descriptor(self) -> str:
        return self.report.descriptor if self.report else "{}"

    def __call__(self, *inputs: Any, **named: Any) -> NoReturn:
        """Errors: RuntimeError, always."""
        name = self.description.get("name", "model")
        raise RuntimeError(
            f"the model is for {self.description.get('target', 'another machine')} and cannot be called here: "
            f"{self.refusal}\nhint: model.save('{name}.so'); `perpend run {name}.so` and `perpend check {name}.so` run "
            "it in an emulator or through --runner"
        )

    def __repr__(self) -> str:
        facts = self.description
        return f"<perpend.ForeignModel '{facts.get('name', '')}' for {facts.get('target', '')}>"


def refusal_of(path: str) -> str:
    """Why a library cannot be loaded, if it is of another architecture than this process; or an empty text."""
    if _machine_of(path) == _machine_of(_perpend.__file__):
        return ""
    try:
        _perpend.Model(path)
    except RuntimeError as error:
        return str(error).removeprefix(f"'{path}': ").split("; hint: ")[0]
    return ""


def _machine_of(path: str) -> int:
    """The number of an ELF file's architecture."""
    with Path(path).open("rb") as file:
        header = file.read(20)
    number: int = struct.unpack_from("<H", header, 18)[0]
    return number


def _copy(source: Path, target: Path) -> None:
    """Replaces the file and does not overwrite it: models that were loaded from it keep working."""
    written = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        shutil.copyfile(source, written)
        written.replace(target)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(target)) from None
    finally:
        written.unlink(missing_ok=True)
