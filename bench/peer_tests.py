"""`python -m bench.peer_tests`: the tests that need dp-accounting or OpenDP, which are skipped where these are missing.

Each peer is in an environment of its own (`bench/peers.py`), whose packages come after ours on the path.
"""

from __future__ import annotations

import subprocess
import sys

from bench.peers import ROOT, python_of

TESTS = {"dp-accounting": "tests/accounting/test_dp_events.py", "opendp": "tests/compat/test_opendp.py"}
WHERE = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
RUN = "import sys, pytest; sys.path.append(sys.argv[1]); sys.exit(pytest.main(['-q', '-rs', *sys.argv[2:]]))"


def main() -> int:
    failed = 0
    for peer, test in TESTS.items():
        place = subprocess.run([python_of(peer), "-c", WHERE], capture_output=True, text=True, check=True).stdout
        done = subprocess.run([sys.executable, "-c", RUN, place.strip(), test], check=False, cwd=ROOT)
        failed |= done.returncode
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
