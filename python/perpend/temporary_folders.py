"""Folders that last as long as a compiled model, and do not outlast their process for long.

A process that is killed removes nothing, and a signal handler would take the place of the program's own. So a process
has one folder for all its models and holds a lock on a file in it, which the system releases however the process ends,
and the next process that needs a folder removes those without a holder.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import os
import shutil
import tempfile
import threading
from pathlib import Path

PREFIX, LOCK = "perpend-", "lock"


class TemporaryFolder:
    """A folder of its own; `cleanup`, or the end of a `with`, removes it."""

    def __init__(self) -> None:
        parent = tempfile.gettempdir()
        remove_abandoned(parent)
        self.name = tempfile.mkdtemp(dir=_process_folder(parent))

    def cleanup(self) -> None:
        shutil.rmtree(self.name, ignore_errors=True)

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_: object) -> None:
        self.cleanup()


_folders: dict[tuple[str, int], Path] = {}
_locks: list[int] = []  # open as long as the process lives
_guard = threading.Lock()


def _process_folder(parent: str) -> Path:
    """A child of this process, which inherits the lock, has a folder of its own."""
    key = (parent, os.getpid())
    with _guard:
        if key not in _folders or not _folders[key].exists():
            folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
            try:
                _locks.append(_hold(folder))
            except OSError:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            _folders[key] = folder
        return _folders[key]


def _hold(folder: Path) -> int:
    """The file gets its name when it is locked: nobody finds it unheld before. A file system may have no locks."""
    path = folder / f"new-{LOCK}"
    lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    if _is_locked(lock):
        path.rename(folder / LOCK)
    return lock


@atexit.register
def _remove_own() -> None:
    for (_, process), folder in _folders.items():
        if process == os.getpid():
            shutil.rmtree(folder, ignore_errors=True)


def _is_locked(lock: int) -> bool:
    """Whether this process has the lock from now on."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@functools.cache
def remove_abandoned(parent: str) -> None:
    """Removes the folders of processes that have ended; once in each process."""
    for folder in Path(parent).glob(f"{PREFIX}*"):
        try:
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:  # not ours
            continue
        try:
            is_own = not folder.is_symlink() and os.fstat(lock).st_uid == folder.stat().st_uid == os.geteuid()
            if is_own and _is_locked(lock):
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # it is being removed
            pass
        finally:
            os.close(lock)
