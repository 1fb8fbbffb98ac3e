"""Twenty random models, compiled and compared with ONNX Runtime; differential.py runs as many as there is time for."""

import pytest
from differential import check_model
from random_models import random_model


@pytest.mark.parametrize("seed", range(20))
def test_random_model(seed, tmp_path):
    model, feeds, symbols = random_model(seed)
    configurations = [("host", 3), ("x86-64-v3", 3 * (seed % 2))]
    assert not check_model(model, feeds, symbols, configurations, tmp_path)
