"""Replies at a known distance from the published references."""


def answer(references, off):
    """Answers that miss the reference by 0 or `off`, by a rule that depends on the question alone."""

    def reply(body, number):
        prompt = body["messages"][-1]["content"]
        pairs = references[prompt.split("[End dialogue]")[0]]
        away = off if len(prompt) % 2 else 0
        return "\n".join(f"{name}: {min(10, value + away)}" for name, value in pairs.items())

    return reply
