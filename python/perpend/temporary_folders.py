"""Folders that live as long as a compiled model, and are removed soon after their process ends.

A killed process removes nothing, and a signal handler would replace the program's own. So a process has one folder for
all its models and holds a lock on a file in it, which the system releases however the process ends; the next process
that needs a folder removes those without a holder.
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
    """A private folder; `cleanup`, or the end of a `with`, removes it."""

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
    """A forked child inherits the lock, but needs a folder of its own."""
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
    """Names the file only once it is locked, so that nobody finds it without a holder. Some file systems have no
    locks."""
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
    """Tries to take the lock; whether this process holds it now."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@functools.cache
def remove_abandoned(parent: str) -> None:
    """Removes the folders of processes that have ended; once per process."""
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
