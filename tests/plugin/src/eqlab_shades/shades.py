"""Shades: which of two words is the stronger feeling? A whole benchmark with its own items."""

import tomllib

from eqlab.analysis.intervals import proportion_estimate
from eqlab.benchmarks.choices import read_choices, shuffled
from eqlab.benchmarks.options import read_options
from eqlab.core.answers import final
from eqlab.core.benchmark import NO_CONTEXT, Asking, OptionHelp, Source
from eqlab.core.forms import Form, Scale
from eqlab.core.results import Baseline, ItemScore, Result
from eqlab.core.trials import Trial

OPTIONS = (OptionHelp("tone", "plain", "how the question is put", ("plain", "kind")),)


class Shades:
    name, title, protocol = "shades", "Shades of feeling", 1

    def option_help(self):
        return OPTIONS

    def options(self, item_set, given):
        return {**read_options(self.name, OPTIONS, given), "item_set": item_set}

    def sources(self, item_set, options):
        return (Source("package", "items.toml", "eqlab_shades"),)

    def own_sources(self, path, options):
        return (Source("file", path),)

    def plan(self, files, options, selection):
        ((_, content),) = files.items()
        items = tomllib.loads(content.decode())["item"]
        for repeat in range(selection.repeats or 1):
            for item in items[: selection.limit]:
                words = shuffled((item["weak"], item["strong"]), f"{selection.seed} {item['id']} {repeat}")
                scale = Scale("answer", "Which feeling is stronger?", 1, 2, tuple(enumerate(words, start=1)))
                asked = f"{'Please: which' if options['tone'] == 'kind' else 'Which'} feeling is stronger?"
                prompt = f"{asked}\n\nA) {words[0]}\nB) {words[1]}\n\nAnswer with the letter."
                mode = "json" if selection.structured else "text"
                key = {"right": words.index(item["strong"]) + 1}
                yield (
                    Trial(self.name, (item["id"],), "plain", asked, Form((scale,)), prompt, mode=mode, key=key),
                    repeat,
                )

    def asking(self, trial, options):
        return Asking(2, 0.0, 0.2, 40)

    def read(self, trial, text, options):
        return read_choices(text, trial)

    def score(self, subject, scored, options, context=NO_CONTEXT):
        items = tuple(self.item(one, options) for one in scored)
        marks = [item.points for item in items if item.points is not None]
        right = proportion_estimate("right answers", marks.count(100.0), len(marks))
        counts = {"planned": len(items)}
        for item in items:
            status = item.status or "unanswered"
            counts[status] = counts.get(status, 0) + 1
        sentence = f"{subject} knows the stronger word in {marks.count(100.0)} of {len(marks)} pairs."
        return Result(
            self.name, self.title, subject, dict(options), sentence, right, (0.0, 100.0), counts=counts, items=items,
            item_range=(0.0, 100.0), baselines=(Baseline("a guess", 50.0),), noun="pairs", valid=bool(marks),
        )  # fmt: skip

    def item(self, scored, options):
        answer, trial, right = final(scored.attempts), scored.trial, None
        if answer is not None and answer.status == "ok":
            right = 100.0 * (answer.values["answer"] == trial.key["right"])
        return ItemScore(
            trial.items[0], trial.id, scored.repeat, answer.status if answer else None, right, points=right,
            text=answer.text if answer else "", values=answer.values if answer else {}, attempts=len(scored.attempts),
            reference={"answer": trial.key["right"]},
        )  # fmt: skip
