"""Small talk: somebody tells of their day in three lines, and another model, or nobody, answers in between. The items
are in this file, so a run knows them by the trials they make."""

from eqlab.analysis.intervals import mean_estimate
from eqlab.benchmarks.options import read_options
from eqlab.core.answers import Reading, final
from eqlab.core.benchmark import NO_CONTEXT, Asking, OptionHelp
from eqlab.core.forms import Form
from eqlab.core.results import ItemScore, Result
from eqlab.core.runs import ModelConfig
from eqlab.core.trials import Message, Trial

LINES = {f"day{number}": [f"Day {number}, line {line}." for line in range(1, 4)] for number in range(1, 7)}
OPTIONS = (OptionHelp("speaker", "none", "a model that says the later lines; none: they are fixed"),)


def so_far(turn):
    """What was said up to and with a turn."""
    return (*turn.trial.messages, Message("user", turn.trial.prompt), Message("assistant", turn.answer.text))


class SmallTalk:
    name, title, protocol = "smalltalk", "Small talk", 1

    def option_help(self):
        return OPTIONS

    def options(self, item_set, given):
        return {**read_options(self.name, OPTIONS, given), "item_set": item_set}

    def sources(self, item_set, options):
        return ()

    def plan(self, files, options, selection):
        for repeat in range(selection.repeats or 1):
            for item, lines in list(LINES.items())[: selection.limit]:
                yield Trial(self.name, (item,), "talk", lines[0], Form(), lines[0], key={"lines": lines}), repeat

    def next_turn(self, turns, options):
        """Listener, speaker (where a model is one), listener …, until the listener has replied three times."""
        last, heard = turns[-1], [turn for turn in turns if not turn.trial.seat]
        if last.answer.status != "ok" or (not last.trial.seat and len(heard) == 3):
            return None
        first, said = turns[0].trial, last.answer.text
        if last.trial.seat:  # the listener replies to what the speaker has said
            return Trial(self.name, first.items, "talk", said, Form(), said, key=first.key, messages=so_far(heard[-1]))
        if options["speaker"] != "none":
            asked = f"Go on. You heard: {said}"
            return Trial(self.name, first.items, "speak", asked, Form(), asked, key=first.key, seat="speaker")
        line = first.key["lines"][len(heard)]
        return Trial(self.name, first.items, "talk", line, Form(), line, key=first.key, messages=so_far(last))

    def seats(self, options):
        return {} if options["speaker"] == "none" else {"speaker": ModelConfig(options["speaker"])}

    def asking(self, trial, options):
        return Asking(2, 0.7, 0.0, 60)

    def read(self, trial, text, options):
        return Reading("ok", {"words": len(text.split())}) if text.strip() else Reading("unparseable", note="empty")

    def score(self, subject, scored, options, context=NO_CONTEXT):
        items = tuple(self.item(one, options) for one in scored if not one.trial.seat)
        words = mean_estimate("words per reply", [item.points for item in items if item.points is not None])
        counts = {"planned": len(items), "ok": sum(item.status == "ok" for item in items)}
        return Result(
            self.name, self.title, subject, dict(options), f"{subject} talked.", words, (0.0, 20.0), counts=counts,
            items=items, noun="talks",
        )  # fmt: skip

    def item(self, scored, options):
        answer = final(scored.attempts)
        words = float(answer.values["words"]) if answer and answer.status == "ok" else None
        return ItemScore(
            f"{scored.trial.items[0]}.{scored.trial.turn}", scored.trial.id, scored.repeat,
            answer.status if answer else None, words, points=words, text=answer.text if answer else "",
        )  # fmt: skip
