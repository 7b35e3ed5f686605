"""OpenDP and diffprivlib at the same law, each in an environment of its own under .bench/ (and dp-accounting's)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PEERS = {
    "opendp": ["opendp==0.16.0", "numpy"],
    "dp-accounting": ["dp-accounting==0.6.0"],
    "diffprivlib": ["diffprivlib==0.6.6", "scikit-learn<1.7"],  # it imports names that later versions dropped
}

CASES = {"opendp": [(10**4, 1), (10**6, 1), (10**5, 100)], "diffprivlib": [(10**4, 1), (10**6, 1)]}


def python_of(peer: str) -> Path:
    """The interpreter of that peer's own environment, made on first use."""
    home = ROOT / ".bench" / peer
    if not (home / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        subprocess.run([home / "bin" / "pip", "install", "--quiet", *PEERS[peer]], check=True)
        (home / "ready").touch()
    return home / "bin" / "python"


def measure(peer: str, d: int, k: int) -> dict[str, float]:
    """Seconds of the peer and of numpy's float Gumbel argmax (G), minima of interleaved rounds in one process."""
    script = Path(__file__).with_name(f"peer_{peer}.py")
    done = subprocess.run([python_of(peer), script, str(d), str(k)], capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def peers_table():
    """Peers against G in their own process, and us against G in ours (exponential mechanism, Zipf counts)."""
    from bench.race import contestants
    from bench.shapes import shape
    from bench.timing import interleaved

    yield "| peer | d | k | peer, times G | shortlist, times G | shortlist / peer |"
    yield "|---|---|---|---|---|---|"
    for peer, cases in CASES.items():
        for d, k in cases:
            theirs = measure(peer, d, k)
            values = shape("zipf", d)
            times = interleaved(contestants(values, k, ["gumbel"]), 15, before=values.max)
            ours = min(times["gumbel"]) / min(times["G"])
            other = theirs["peer"] / theirs["G"]
            yield f"| {peer} | {d:,} | {k} | {other:,.3g} | {ours:.3g} | {ours / other:.2g} |"


TABLES = {"peers": peers_table}
