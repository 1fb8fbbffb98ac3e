"""What every test process does first, and every test."""

import gc
import os
import re
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

# Tests run in a process for each processor: libraries that are compared with need no threads of their own beside them.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# torch.export makes millions of objects that live on. Looking through them for garbage as often as Python does by
# default takes a sixth of the time of the tests of that front end.
gc.set_threshold(100_000, 20, 50)


@pytest.fixture(autouse=True)
def same_random_numbers_in_any_order() -> None:
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Skips a test of a target that is its parameter if this processor lacks what the target has."""
    try:
        return (yield)
    except Exception as error:
        refused = re.search(r"was compiled for the target (\S+) and needs (\S+), which this machine lacks", str(error))
        parameters = (
            item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
        )
        if refused and any(isinstance(value, str) and value == refused[1] for value in parameters):
            pytest.skip(f"{refused[1]} needs {refused[2]}, which this machine lacks")
        raise


# What tests run or import, beside what these are linked with.
BUILT = ["bin/perpend", "bin/count_allocations", "python/perpend/_perpend*.so"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """Behind failures of a build that is not complete, which is their usual cause."""
    build = Path(os.environ.get("PERPEND_BUILD", Path(__file__).resolve().parents[1] / "build"))
    missing = [f"{build}/{name}" for name in BUILT if not list(build.glob(name))]
    if missing and exitstatus != pytest.ExitCode.OK:
        terminalreporter.write_line(f"not built: {', '.join(missing)}\nhint: ./dev build")
