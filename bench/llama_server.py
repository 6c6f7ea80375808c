"""llama.cpp's own HTTP server, out of the wheel that runs the embedded model: a real server for a sweep to start.

start = "python bench/llama_server.py MODEL.gguf {port} [SLOTS]"   in a sweep file, see docs/sweep.md"""

import os
import signal
import sys

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that spin starve whatever else runs here

_CONTEXT = 4096
"""Tokens of a slot."""


def main() -> None:
    import xllamacpp

    path, port, *slots = sys.argv[1:]
    wanted = xllamacpp.CommonParams()
    wanted.model.path = path
    wanted.hostnames = ["127.0.0.1"]
    wanted.port = int(port)
    wanted.n_parallel = int(slots[0]) if slots else 4
    wanted.n_ctx = _CONTEXT * wanted.n_parallel
    wanted.warmup = False
    server = xllamacpp.Server(wanted)
    print(f"llama.cpp listens at {server.listening_address}", flush=True)
    signal.pause()  # until SIGTERM


if __name__ == "__main__":
    main()
