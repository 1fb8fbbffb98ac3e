"""What every test process does first, and every test."""

import gc
import os
import sys

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
