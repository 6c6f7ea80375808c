"""What `eqlab study check` says: pages, minutes, money, and what to look at."""

from dataclasses import replace

import pytest
from small_study import rating_trial, small_design

from eqlab.core.design import Batch
from eqlab.core.study import Checks, Panel, Pay, QuizQuestion
from eqlab.runs.judge import open_prompts
from eqlab.study.overview import fair_reward, overview


def with_study(design, **changes):
    return replace(design, study=replace(design.study, **changes))


def test_arms_places_pages_and_money():
    design = with_study(small_design(people=3), pay=Pay("EUR", 12.0, 2.0, 0.25))
    found = overview(design)
    assert [(arm.name, arm.batches, arm.fewest, arm.most, arm.places) for arm in found.arms] == [
        ("a", 2, 2, 2, 6),
        ("b", 2, 2, 2, 6),
    ]
    assert found.pages == (6, 6)  # consent, quiz, two trials, one check, debrief
    assert (found.places, found.rewards, found.fees, found.cost) == (12, 24.0, 6.0, 30.0)
    assert found.hourly == pytest.approx(120 / found.minutes)
    assert overview(small_design()).hourly is None


def test_more_words_and_questions_take_longer():
    short = overview(small_design()).minutes
    assert overview(small_design(size=4)).minutes > short
    assert overview(with_study(small_design(), debrief="word " * 220)).minutes == pytest.approx(short + 1, abs=0.1)


def test_repeated_pages_are_counted_as_people_get_them():
    """Nine of six were counted, and people get those of the first half."""
    plain, asked = small_design(size=6), Checks(repeat=9)
    design = with_study(plain, checks=replace(asked, attention=plain.study.checks.attention))
    assert [found - before for found, before in zip(overview(design).pages, overview(plain).pages, strict=True)] == [
        3
    ] * 2
    assert overview(design).minutes < 1.5 * overview(plain).minutes


def test_words_without_blanks_take_their_time():
    """Minutes, and what people are paid for them, of Chinese items were half of what is right."""
    told = overview(with_study(small_design(), debrief="我很难过听到这个消息" * 44)).minutes
    assert told == pytest.approx(overview(small_design()).minutes + 1, abs=0.1)


def test_rules_that_can_exclude_nobody_are_told():
    design = small_design()
    plan = replace(design.study.analysis, exclude=("failed_gold", "inconsistent", "failed_attention"))
    found = overview(with_study(design, analysis=plan)).warnings
    assert [one.split(" can exclude")[0].split(": ")[1] for one in found if "can exclude nobody" in one] == [
        "failed_gold",
        "inconsistent",
    ]


def test_a_fair_reward_reaches_the_hourly_rate():
    study = with_study(small_design(), pay=Pay(per_hour=9.0)).study
    assert fair_reward(study, 10) == 1.5
    assert fair_reward(study, 10.1) == 1.6


def test_what_to_look_at():
    design = small_design()
    assert overview(design).warnings == ()
    cases = {
        "less than the 9.00 aimed at": {"pay": Pay(reward=0.01)},
        "people of a panel are paid": {"panel": Panel("p", "PID")},
        "none for: declined, failed, full": {"panel": Panel("p", "PID", codes=(("complete", "A"),))},
        "CHANGE-ME looks like a placeholder": {"panel": Panel("p", "PID", codes=(("complete", "CHANGE-ME"),))},
        "the same code": {"panel": Panel("p", "PID", codes=(("complete", "A"), ("full", "A")))},
        "title still says 'CHANGE ME'": {"title": "CHANGE ME"},
        "keep_until: 2020-01-31 is over": {"consent": replace(design.study.consent, keep_until="2020-01-31")},
        "'de': consent.keep_until, tutorial.questions.text, checks.instruction.": {
            "language": "de",
            "consent": replace(design.study.consent, keep_until="five years after the study has ended"),
        },
        "none in a study of about": {"debrief": "word " * 2000, "checks": Checks(0)},
    }
    for part, change in cases.items():
        found = overview(with_study(design, **change)).warnings
        assert any(part in warning for warning in found), (part, found)


def test_without_ids_nobody_is_recognised():
    design = with_study(small_design(), not_after=("pilot",))
    assert any("not_after: without a panel's ids" in warning for warning in overview(design).warnings)
    assert not any("not_after" in one for one in overview(with_study(design, panel=Panel("p", "PID"))).warnings)


def test_english_inside_lists_is_named_too():
    """Whoever failed an English quiz between German pages was sent away."""
    design = small_design()
    asked = QuizQuestion("What do you rate?", ("The story that somebody tells", "Die Antwort darauf"), 2)
    tutorial = replace(design.study.tutorial, questions=(asked,))
    found = overview(with_study(design, language="de", tutorial=tutorial, instruments=("TEQ",))).warnings
    assert "'de': tutorial.questions.text, tutorial.questions.options, checks.instruction." in found[0]
    assert any(warning.endswith("between pages in 'de': TEQ.") for warning in found)


def test_replies_that_decline_or_unblind_are_counted():
    batch = small_design().batches[0]
    spoilt = [
        replace(rating_trial("a", "p"), key={**rating_trial("a", "p").key, "reply": reply}, id="")
        for reply in ("As an AI, I feel with you.", "I'm unable to help with that.", "I am sorry.")
    ]
    design = replace(small_design(arms=("a",)), batches=(Batch("a", 0, (*batch.trials, *spoilt)),))
    said = " ".join(overview(design).warnings)
    assert "help is declined in 1 of 5 replies" in said
    assert "an AI is named as the writer in 1 of 5 replies" in said
    assert "There is one arm" in said


def test_only_open_items_are_called_english():
    """Of replies to other prompts it said so too, and of open prompts only where people were asked, not where their
    replies were rated."""
    warned = "The open items are English"

    def says(design):
        return any(warning.startswith(warned) for warning in overview(with_study(design, language="de")).warnings)

    design = small_design()
    ours = next(iter(open_prompts())).utterance
    assert not says(design)
    batch = design.batches[0]
    shown = [replace(trial, key={**trial.key, "utterance": ours}, id="") for trial in batch.trials]
    assert says(replace(design, batches=(replace(batch, trials=tuple(shown)), *design.batches[1:])))
