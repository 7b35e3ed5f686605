"""axe-core, the checker of accessibility, from npm: one version, known by its hash."""

import base64
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

PACKAGE = json.loads((Path(__file__).parents[1] / "studio" / "package.json").read_text())
WANTED = f"axe-core@{PACKAGE['devDependencies']['axe-core']}"


def script():
    """(the script, "") or ("", why there is none)."""
    npm = shutil.which("npm")
    if npm is None:
        return "", "there is no npm here; on Debian: apt-get install npm"
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", WANTED, "--silent", "--pack-destination", folder]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
        packed = next(Path(folder).glob("*.tgz"), None)
        if done.returncode or packed is None:
            return "", f"npm could not fetch {WANTED}"
        raw = packed.read_bytes()
    found = "sha512-" + base64.b64encode(hashlib.sha512(raw).digest()).decode()
    assert found == PACKAGE["config"]["integrity"], f"{WANTED} is not what it was: {found}"
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        member = archive.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode(), ""


def violations(page, code):
    """What axe finds in a page, in words; all rules, those of good practice too."""
    page.evaluate(code)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] }).then((all) => all.violations)")
    return [f"{one['id']}: {node['target']} {node['failureSummary']}" for one in found for node in one["nodes"]]
