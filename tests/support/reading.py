"""A model that answers EQ-Bench's open questions, for tests of several folders."""

import hashlib
import re


def reader(body, number=0):
    """A model that reads the questions more or less well by its name; answers differ from repeat to repeat, by the seed
    that is sent and not by who asked first."""
    words = re.search(r"at the end\?\n((?:\w+\n){4})", body["messages"][-1]["content"]).group(1).split()
    noise = hashlib.sha256(f"{body['model']} again {body['seed']} {words}".encode()).digest()
    top = 3 if body["model"] == "timid" else 10
    return "\n".join(f"{word}: {1 + noise[index] % top}" for index, word in enumerate(words))
