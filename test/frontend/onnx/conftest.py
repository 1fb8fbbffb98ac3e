"""Lets test_operators.py import its list of cases."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
