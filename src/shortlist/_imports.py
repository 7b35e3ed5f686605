"""One lock around everything that is imported late, held while the process forks.

A fork in the middle of another thread's import leaves the child a module that nobody will ever finish: it would wait
for it for good. So late imports of the package happen under this lock, and a fork waits for the one under way.
"""

import os
from _thread import RLock

IMPORTS = RLock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=IMPORTS.acquire, after_in_parent=IMPORTS.release, after_in_child=IMPORTS.release)
