"""A model of one layer with drawn weights whose words are bytes: it says nonsense, and says it at once.

A server can be asked hundreds of times in a minute, and its texts are as odd as texts can be: broken UTF-8, controls,
line ends of every kind."""

import struct
from pathlib import Path
from typing import Any

import numpy as np

_WIDTH, _HEADS, _CONTEXT = 64, 2, 4096
_MATRICES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
_UINT32, _INT32, _FLOAT32, _STRING, _ARRAY = 4, 5, 6, 8, 9
_F32, _ALIGNMENT = 0, 32
_NORMAL, _CONTROL = 1, 3
_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] + ': ' + message['content'] + '\n' }}{% endfor %}assistant: "
)


def write_tiny(target: Path, seed: int = 0) -> Path:
    """A GGUF file of half a megabyte."""
    words = [*_letters(), "<|end|>", "Ġt"]  # one merge, for the format wants some
    end = len(words) - 2
    metadata: dict[str, tuple[int, Any]] = {
        "general.architecture": (_STRING, "llama"),
        "general.name": (_STRING, "tiny"),
        "llama.context_length": (_UINT32, _CONTEXT),
        "llama.embedding_length": (_UINT32, _WIDTH),
        "llama.block_count": (_UINT32, 1),
        "llama.feed_forward_length": (_UINT32, _WIDTH),
        "llama.attention.head_count": (_UINT32, _HEADS),
        "llama.attention.head_count_kv": (_UINT32, _HEADS),
        "llama.attention.layer_norm_rms_epsilon": (_FLOAT32, 1e-5),
        "llama.rope.dimension_count": (_UINT32, _WIDTH // _HEADS),
        "llama.vocab_size": (_UINT32, len(words)),
        "tokenizer.ggml.model": (_STRING, "gpt2"),
        "tokenizer.ggml.pre": (_STRING, "gpt-2"),
        "tokenizer.ggml.tokens": (_STRING, words),
        "tokenizer.ggml.token_type": (_INT32, [_CONTROL if i == end else _NORMAL for i in range(len(words))]),
        "tokenizer.ggml.merges": (_STRING, ["Ġ t"]),
        "tokenizer.ggml.bos_token_id": (_UINT32, end),
        "tokenizer.ggml.eos_token_id": (_UINT32, end),
        "tokenizer.chat_template": (_STRING, _TEMPLATE),
    }
    draw = np.random.default_rng(seed)
    layer = {f"blk.0.{name}.weight": draw.normal(0, 0.3, (_WIDTH, _WIDTH)) for name in _MATRICES}
    norms = dict.fromkeys(("blk.0.attn_norm.weight", "blk.0.ffn_norm.weight", "output_norm.weight"), np.ones(_WIDTH))
    ends = {name: draw.normal(0, 1, (len(words), _WIDTH)) for name in ("token_embd.weight", "output.weight")}
    tensors = {**ends, **layer, **norms}
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    head += b"".join(_text(key) + _value(kind, value) for key, (kind, value) in metadata.items())
    body = b""
    for name, values in tensors.items():
        shape = values.shape[::-1]
        head += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, _F32, len(body))
        raw = values.astype("<f4").tobytes()
        body += raw + bytes(-len(raw) % _ALIGNMENT)
    target.write_bytes(head + bytes(-len(head) % _ALIGNMENT) + body)
    return target


def _letters() -> list[str]:
    """A visible letter for every byte, as byte-level tokenizers write them."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in plain else next(others)) for byte in range(256)]


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(kind: int, value: Any) -> bytes:
    if isinstance(value, list):
        return struct.pack("<IIQ", _ARRAY, kind, len(value)) + b"".join(_bare(kind, one) for one in value)
    return struct.pack("<I", kind) + _bare(kind, value)


def _bare(kind: int, value: Any) -> bytes:
    return _text(value) if kind == _STRING else struct.pack({_UINT32: "<I", _INT32: "<i", _FLOAT32: "<f"}[kind], value)
