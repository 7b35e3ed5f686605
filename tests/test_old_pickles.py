"""Pickles of releases that 0.1.0 wrote, as it wrote them: whoever loads one is told why it is not read."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import shortlist as sl
from shortlist.mechanisms import OneshotTopK

OLD = Path(__file__).parent / "golden_releases" / "0.1.0.pickle"
"""Of `sl.top_k([900, 20, 500], 2, epsilon=1.0, monotone=True)`."""


def test_a_release_of_0_1_0_is_refused_in_words():
    with pytest.raises(ValueError, match="pickled by another version of shortlist"):
        pickle.loads(OLD.read_bytes())
    with pytest.raises(ValueError, match="pickled by another version of shortlist"):
        pickle._loads(OLD.read_bytes())  # type: ignore[attr-defined]  # Python's own, which looks names up otherwise


def test_also_by_a_program_that_has_imported_nothing():
    code = f"import pickle; pickle.load(open({str(OLD)!r}, 'rb'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ValueError: this release was pickled by another version")


def test_those_of_this_version_are_read():
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        release = OneshotTopK(k=2, epsilon=1.0).release([900, 20, 500], monotone=True)
        assert pickle.loads(pickle.dumps(release, protocol)) == release
        assert pickle.loads(pickle.dumps(sl.PureDP(1.0), protocol)) == sl.PureDP(1.0)
