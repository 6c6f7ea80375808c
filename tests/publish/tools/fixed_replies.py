"""Fixed replies for comparing tools: what comes back depends on the prompt and on the temperature alone."""

import hashlib
import re

_WORDS = re.compile(r"at the end\?\n((?:[^\n]+\n){4})")
_LISTED = re.compile(r"^\d+\. (.+)$", re.MULTILINE)


def asked_for(prompt):
    """The four emotions of a dialogue, or the items of a questionnaire."""
    found = _WORDS.search(prompt)
    return found.group(1).split("\n")[:4] if found else _LISTED.findall(prompt)


def filled_in(prompt, low=0, high=10):
    """A form filled in with values that differ from prompt to prompt."""
    digest = hashlib.sha256(prompt.encode()).digest()
    names = asked_for(prompt)
    if not _WORDS.search(prompt):
        low, high = 1, 5
    return "\n".join(f"{name}: {low + digest[i % 32] % (high - low + 1) or 1}" for i, name in enumerate(names))


def mixed(prompt, temperature=0.0):
    """Most replies are good; some are only at the second try, some never, some come with thoughts or a preamble."""
    kind = hashlib.sha256(prompt.encode()).digest()[-1] % 10
    good = filled_in(prompt)
    if kind == 0:
        return "I'm sorry, but I can't rate feelings."
    if kind == 1 and temperature < 0.1:
        return "Let me see …"
    if kind == 2:
        return f"<think>Perhaps so:\n{filled_in(prompt[::-1]) or 'Joy: 3'}</think>\n{good}"
    if kind == 3:
        return f"Here are my scores.\n\n{good}"
    return good
