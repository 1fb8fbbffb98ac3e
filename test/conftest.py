"""What every test process does first, and every test."""

import gc
import os
import sys
from pathlib import Path

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


# What tests run or import, beside what these are linked with.
BUILT = ["bin/perpend", "bin/count_allocations", "python/perpend/_perpend*.so"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """Behind failures of a build that is not complete, which is their usual cause."""
    build = Path(os.environ.get("PERPEND_BUILD", Path(__file__).resolve().parents[1] / "build"))
    missing = [f"{build}/{name}" for name in BUILT if not list(build.glob(name))]
    if missing and exitstatus != pytest.ExitCode.OK:
        terminalreporter.write_line(f"not built: {', '.join(missing)}\nhint: ./dev build")
