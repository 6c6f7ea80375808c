"""A language file to translate: every word of participants' pages and of the kinds' trials, in English or, as far as
there is a translation, in the language itself."""

import json
from collections.abc import Mapping

from eqlab.core.errors import UsageError
from eqlab.core.studied import Worded
from eqlab.study.kinds.registry import find_kind, kind_names
from eqlab.study.texts import EMOTION, english_words, languages, load


def language_text(language: str) -> str:
    """The file's text; what is not translated yet stands there in English."""
    known = load(language) if language in languages() else None
    words = known.words if known else english_words()
    lines = [
        "# The words on participants' pages. Translate what stands in quotes; keep the keys, and {…}, which the page",
        '# fills in. direction is "ltr" or "rtl".',
        *_lines({key: words[key] for key in english_words()}),
        "",
        "# Words inside the trials, by kind of study. What is left out stays English.",
    ]
    emotions: dict[str, str] = {}
    for name, english in kind_words().items():
        said = {**english, **(known.kind(name) if known else {})}
        emotions |= {key.removeprefix(EMOTION): text for key, text in said.items() if key.startswith(EMOTION)}
        own = {key: text for key, text in said.items() if not key.startswith(EMOTION) and key in english}
        lines += ["", f"[kinds.{name}]", *_lines(own)]
    lines += ["", "# The names of emotions, for all kinds.", "[emotions]", *_lines(emotions)]
    return "\n".join(lines) + "\n"


def kind_words() -> dict[str, Mapping[str, str]]:
    """The English words of every kind that has any."""
    kinds = ((name, find_kind(name)) for name in kind_names())
    return {name: kind.words for name, kind in kinds if isinstance(kind, Worded)}


def missing_words(language: str) -> dict[str, tuple[str, ...]]:
    """By kind the words that a language lacks; those stay English."""
    if language == "en":
        return {}
    texts = load(language)
    lacking = {name: tuple(key for key in words if key not in texts.kind(name)) for name, words in kind_words().items()}
    return {name: keys for name, keys in lacking.items() if keys}


def check_code(language: str) -> str:
    """A language's code: two or three letters, with a part after a hyphen at most."""
    first, _, rest = language.partition("-")
    if not (first.isascii() and first.isalpha() and first.islower() and 2 <= len(first) <= 3 and rest.isascii()):
        raise UsageError(f"'{language}' is not the code of a language.", "Write one such as es, pt-BR or fil.")
    return language


def _lines(words: Mapping[str, str]) -> list[str]:
    return [f"{key} = {json.dumps(text, ensure_ascii=False)}" for key, text in words.items()]
