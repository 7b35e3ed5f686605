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


LOOKS = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]
"""The rules whose answer depends on colours and sizes; the others read the elements and their words."""


def violations(page, code, rules=None):
    """What axe finds in a page, in words; by all rules, those of good practice too, or by these."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(code)
    how = {"resultTypes": ["violations"], **({} if rules is None else {"runOnly": rules})}
    found = page.evaluate("(how) => axe.run(document, how).then((all) => all.violations)", how)
    return [f"{one['id']}: {node['target']} {node['failureSummary']}" for one in found for node in one["nodes"]]
