"""The command `eqlab`; and `python -m eqlab`, for whoever has the environment but not its commands on the path."""

import atexit
import gc
import os
import sys
import threading
from contextlib import suppress

_COLLECTED = (200_000, 20, 50)
"""How often Python looks for garbage in circles: not while a command loads. As it comes, after every 700 objects:
modules are all objects that stay, and looking at them takes a tenth of what loading them takes."""


def run() -> None:
    """Ends at once when everything is done and written: Python would take apart all that was loaded, piece by piece,
    which takes a quarter of what `import numpy` takes."""
    gc.set_threshold(*_COLLECTED)
    from eqlab.cli.main import main

    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, str):
            raise
        with suppress(OSError):  # output that nobody takes: Python's own end says so
            threading._shutdown()  # type: ignore[attr-defined]
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(end.code or 0)
        raise


if __name__ == "__main__":
    run()
