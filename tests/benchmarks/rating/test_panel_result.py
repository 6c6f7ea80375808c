"""A panel of judges as one result: severity, worth, order without one judge, liking for its own, who answered."""

import numpy as np
import pytest

from eqlab.benchmarks.rating.panel import panel_result
from eqlab.benchmarks.rating.rated import RatedReply
from eqlab.benchmarks.rating.trials import single
from eqlab.core.answers import Answer
from eqlab.core.benchmark import ReplyRow

ARMS = ("gpt-4o", "llama-3")


def ratings(judge, rate, model=None, prompts=30, arms=ARMS, people=lambda number, arm: ()):
    found = []
    for number in range(prompts):
        for arm in arms:
            trial = single(ReplyRow(arm, f"p{number}", f"reply {number} of {arm}", human=people(number, arm)))
            value = rate(number, arm)
            if value is None:
                continue
            who = model(number) if model else judge
            answer = Answer("r", trial.id, f"judge:{judge}", 0, 0, "x", "ok", {"rating": value}, model=who)
            found.append(RatedReply(trial, 0, 1, answer))
    return found


def quality(seed, arms=ARMS):
    draw = np.random.default_rng(seed)
    worth = {(n, arm): draw.normal(0.4 * (arm == "gpt-4o"), 0.6) for n in range(30) for arm in arms}

    def judge(shift, noise, own=""):
        more = np.random.default_rng(int(1000 * shift) + 7000 + seed)
        return lambda n, arm: int(
            np.clip(np.round(2 + worth[n, arm] + shift + more.normal(0, noise) + (arm == own)), 1, 3)
        )

    return judge


def table(result, title):
    return next(one for one in result.tables if one.title == title)


def test_a_mild_judge_who_saw_one_arm_only_gains_it_nothing():
    judge = quality(1)
    strict, mild = judge(-0.5, 0.3), judge(0.5, 0.3)
    whole = {"strict": ratings("strict", strict), "mild": ratings("mild", mild)}
    part = {**whole, "mild": ratings("mild", lambda n, arm: mild(n, arm) if arm == "llama-3" or n < 15 else None)}
    full, lacking = panel_result(whole), panel_result(part)
    levels = {row[0]: row[1].value for row in table(full, "How mild each judge is").rows}
    assert levels["mild"] > 0.2 > -0.2 > levels["strict"]
    assert sum(levels.values()) == pytest.approx(0)
    for one, other in zip(full.estimates[:2], lacking.estimates[:2], strict=True):
        assert one.value == pytest.approx(other.value, abs=0.15)


def test_copies_of_one_judge_are_worth_one():
    rate = quality(2)(0.0, 0.4)
    rows = ratings("a", rate)
    same = panel_result({"a": rows, "b": rows, "c": rows})
    worth = table(same, "What the panel is worth").rows
    assert worth[0][1].value == pytest.approx(1)
    assert worth[1][1].value == pytest.approx(1)
    apart = panel_result(
        {name: ratings(name, quality(2)(shift, 0.9)) for name, shift in (("a", 0), ("b", 0.1), ("c", 0.2))}
    )
    assert table(apart, "What the panel is worth").rows[0][1].value > 1.2


@pytest.mark.parametrize(("raters", "said"), [(0, "at least"), (1, "at least"), (3, "of errors against people")])
def test_judges_who_err_by_themselves_are_three_however_few_people_rated_each_reply(raters, said):
    """Ratings by lot: what people err by themselves had made them 1.5 where each reply had one rating."""
    lots = np.random.default_rng(4)
    human = {
        (n, arm): [(f"{n}{arm}{k}", int(lots.integers(1, 4))) for k in range(raters)] for n in range(96) for arm in ARMS
    }
    given = {
        name: ratings(
            name, lambda n, arm: int(lots.integers(1, 4)), None, 96, people=lambda n, arm: tuple(human[n, arm])
        )
        for name in "abc"
    }
    worth = table(panel_result(given), "What the panel is worth").rows[0]
    assert worth[1].value > 2.5
    assert said in worth[2]


def test_liking_for_ones_own_is_seen_and_the_order_hangs_on_it():
    arms = ("gpt-4o", "llama-3", "mistral-7b", "qwen-2")
    judge = quality(3, arms)
    given = {
        "llama-3": ratings("llama-3", judge(0.0, 0.2, own="llama-3"), arms=arms),
        "claude-x": ratings("claude-x", judge(0.1, 0.2), arms=arms),
        "gemini-y": ratings("gemini-y", judge(0.2, 0.2), arms=arms),
    }
    found = panel_result(given)
    liking = {(row[0], row[1]): row[2] for row in table(found, "Preference for oneself and one's family").rows}
    assert liking["llama-3", "self"].low > 0.2
    left = {row[0]: row[1:] for row in table(found, "Ranks if a judge were left out").rows}
    assert set(left) == {"nobody", "llama-3", "claude-x", "gemini-y"}
    assert left["nobody"] != left["llama-3"]


def test_a_liking_that_could_be_a_taste_is_not_called_one():
    """Two judges and two subjects: nothing shows how far tastes go, so no interval."""
    judge = quality(3)
    given = {
        "llama-3": ratings("llama-3", judge(0.0, 0.2, own="llama-3")),
        "claude-x": ratings("claude-x", judge(0.1, 0.2)),
    }
    ((_, _, liking, taste),) = table(panel_result(given), "Preference for oneself and one's family").rows
    assert liking.value > 0.5
    assert (liking.low, taste) == (None, None)
    assert "taste" in liking.note


def test_judges_who_disagree_about_two_do_not_tell_them_apart():
    """One of three sees a large difference on every prompt: over prompts alone that would be certain."""
    judge = quality(8)
    even = judge(0.0, 0.1)
    torn = {
        "a": ratings("a", lambda n, arm: 3 if arm == "gpt-4o" else 1),
        "b": ratings("b", lambda n, arm: even(n, arm) if n % 2 else 2),
        "c": ratings("c", lambda n, arm: even(n, arm) if n % 3 else 2),
    }
    found = panel_result(torn)
    assert "No two can be told apart" in found.sentence
    ((*_, gap, apart),) = table(found, "Pooled differences").rows
    assert gap.low < 0 < gap.high
    assert apart == "no"
    agreed = {name: ratings(name, lambda n, arm: 3 if arm == "gpt-4o" else 1 + n % 2) for name in "abc"}
    assert "gpt-4o is rated better than llama-3" in panel_result(agreed).sentence


def test_the_most_disputed_replies_are_there_in_full():
    judge = quality(4)
    odd = judge(0.0, 0.1)
    given = {
        "a": ratings("a", lambda n, arm: 1 if (n, arm) == (7, "gpt-4o") else odd(n, arm)),
        "b": ratings("b", lambda n, arm: 3 if (n, arm) == (7, "gpt-4o") else odd(n, arm)),
    }
    first = table(panel_result(given), "Most disputed replies").rows[0]
    assert first[:4] == ("p7", "gpt-4o", "reply 7 of gpt-4o", "a 1, b 3")


def test_a_judge_replaced_in_silence_is_noticed():
    rate = quality(5)(0.0, 0.3)
    given = {
        "gpt-4o": ratings("gpt-4o", rate, model=lambda n: "gpt-4o-2024-08-06" if n < 20 else "gpt-4o-mini-2024"),
        "claude-x": ratings("claude-x", rate, model=lambda n: "some-other-3"),
    }
    said = " ".join(panel_result(given).caveats)
    assert "gpt-4o was replaced during the run" in said
    assert "claude-x was asked, but some-other-3 answered" in said
    twins = {
        "gpt-a": ratings("gpt-a", rate, model=lambda n: "gpt-a"),
        "gpt-b": ratings("gpt-b", rate, model=lambda n: "gpt-a"),
    }
    assert "counted several times" in " ".join(panel_result(twins).caveats)


def test_no_panel_without_two_judges_who_share_replies():
    rate = quality(6)(0.0, 0.3)
    assert panel_result({"a": ratings("a", rate)}) is None
    early = ratings("a", lambda n, arm: rate(n, arm) if n < 10 else None)
    late = ratings("b", lambda n, arm: rate(n, arm) if n >= 10 else None)
    assert panel_result({"a": early, "b": late}) is None
