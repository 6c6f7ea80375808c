"""llama.cpp's own `llama-bench`, run in the machine code of the wheel that runs the embedded model (Linux).

    python bench/llama_bench.py SOURCES [ARGUMENT …]

SOURCES is the unpacked source package of that wheel (`xllamacpp-….tar.gz` on the package index), of its version. Only
`llama-bench` itself is compiled from it, once; kernels, threads and model code are the wheel's. One word is added
to what it understands: `f32`, the cache that eqlab uses."""

import ctypes
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

KNOWS = 'if (s == "f16") {'
ADDED = 'if (s == "f32") { return GGML_TYPE_F32; }'
FLAGS = ("-O2", "-DNDEBUG", "-fPIC", "-shared", "-std=c++17", "-D_GLIBCXX_USE_CXX11_ABI=0")
"""The last: manylinux2014 builds for the strings of old compilers."""


def compiled(sources: Path) -> Path:
    made = sources / "llama-bench.so"
    if sources.resolve().name != (wanted := f"xllamacpp-{version('xllamacpp')}"):
        raise SystemExit(f"{sources}: {wanted} is needed.")
    if not made.exists():
        upstream = sources / "thirdparty" / "llama.cpp"
        text = (upstream / "tools" / "llama-bench" / "llama-bench.cpp").read_text()
        folders = [f"-I{upstream / folder}" for folder in ("include", "common", "ggml/include", "vendor")]
        text = text.replace(KNOWS, f"{ADDED}\n{KNOWS}", 1)
        command = ["g++", *FLAGS, *folders, "-x", "c++", "-", "-o", str(made)]
        subprocess.run(command, input=text, text=True, check=True)
    return made


def main() -> None:
    made = compiled(Path(sys.argv[1]))
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)
    import xllamacpp  # noqa: F401  its symbols are what the program is linked to

    words = [b"llama-bench", *map(os.fsencode, sys.argv[2:])]
    run = ctypes.CDLL(str(made.resolve()))["_Z11llama_benchiPPc"]
    sys.exit(run(len(words), (ctypes.c_char_p * (len(words) + 1))(*words)))


if __name__ == "__main__":
    main()
