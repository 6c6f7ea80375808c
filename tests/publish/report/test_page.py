"""The HTML report: hostile text stays text, nothing is loaded, nothing undefined is a number, nothing is mixed."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from markupsafe import escape
from msgspec import structs

from eqlab.core import text
from eqlab.core.results import Baseline, Estimate, ItemScore, Result, Table
from eqlab.core.runs import BenchmarkConfig, ModelConfig, RunConfig
from eqlab.publish.groups import RunRecord
from eqlab.publish.report.page import render
from eqlab.tables import svg as figures

VOID = {"meta", "link", "img", "br", "hr", "input", "line", "rect", "circle", "path"}
HOSTILE = "<script>alert(1)</script></style></title>\"' onload=x ${7*7} {{ 7*7 }} \u202etxt.exe\x00\x1b[31m\u200b"


class Page(HTMLParser):
    """Tags, attributes and text per tag; fails on a page that does not nest."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.open, self.words, self.main = [], [], [], []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script") and data.strip():
            self.words.append(data.strip())
            if "main" in self.open:
                self.main.append(data.strip())

    @property
    def visible(self):
        return " ".join(self.words)


def item(number, score, **changes):
    made = ItemScore(
        f"i{number}", f"t{number}", 0, "ok", score, f"Dialogue {number}", f"Reply {number}",
        {"Angry": 3}, {"Angry": 5}, {"Angry": "she was calm"}, 1,
    )  # fmt: skip
    return structs.replace(made, **changes)


def result(subject="model:a/one", value=57.314, mode="text", **changes):
    head = Estimate("EQ-Bench score", value, 20, 3.0, value - 6, value + 6) if value is not None else None
    made = Result(
        "eqbench", "EQ-Bench", subject, {"name": "v2", "mode": mode}, f"{subject[6:]} reads feelings well.",
        head or Estimate("EQ-Bench score", None, 0), (0.0, 100.0),
        counts={"planned": 20, "ok": 13, "unparseable": 4, "refused": 2, "error": 0, "unanswered": 1},
        items=tuple(item(i, float(i) - 4) for i in range(20)),
        baselines=(Baseline("random answer", 11.3), Baseline("all fives", 38.5)),
    )  # fmt: skip
    return replace(made, **changes)


def record(*results, seed=0, limit=None, benchmarks=None, provenance=None):
    models = tuple(ModelConfig(one.subject[6:]) for one in results)
    asked = benchmarks or (BenchmarkConfig("eqbench", 1, "open", "ab" * 32, {"revision": True}),)
    config = RunConfig(models, asked, "full", limit, 1, seed)
    return RunRecord(config, 0.0, {"python": "3.11"} if provenance is None else provenance, results)


def page(*records):
    return render(records, generated_at=86400.0, version="0.1.0")


def score_tables(html):
    return re.findall(r'<table class="scores".*?</table>', html, re.DOTALL)


def test_conclusion_comes_first():
    parsed = Page(page(record(result())))
    assert parsed.main[0] == "a/one reads feelings well."


def test_conclusion_of_several_comes_first_and_is_tie_aware():
    html = page(record(result("model:a", 57.0), result("model:b", 55.0), result("model:c", 20.0)))
    first = Page(html).main[0]
    assert first.startswith("a (57.00) and b (55.00) cannot be told apart")
    assert "both are better than c" in first


def test_hostile_text_is_harmless_everywhere():
    evil = item(
        0, 1.0, item=HOSTILE, title=HOSTILE, text=HOSTILE, values={HOSTILE: HOSTILE}, reasons={HOSTILE: HOSTILE}
    )
    bad = result(
        subject=f"model:{HOSTILE}", items=(evil, item(1, 2.0)), caveats=(HOSTILE,), title=HOSTILE, sentence=HOSTILE,
        rules={"name": HOSTILE, "mode": HOSTILE, HOSTILE: HOSTILE}, baselines=(Baseline(HOSTILE, 3.0),),
        tables=(Table(HOSTILE, (HOSTILE,), ((HOSTILE,),), HOSTILE),),
        estimates=(Estimate(HOSTILE, 1.0, 2, note=HOSTILE),),
        headline=Estimate(HOSTILE, 5.0, 3, 1.0, 4.0, 6.0, HOSTILE, HOSTILE), counts={HOSTILE: 3},
    )  # fmt: skip
    options = {HOSTILE: HOSTILE}
    html = page(
        record(bad, benchmarks=(BenchmarkConfig("eqbench", 1, HOSTILE, HOSTILE, options),), provenance=options),
        record(bad, seed=1, provenance={"command": HOSTILE}),
    )
    tags = Page(html).tags
    assert [tag for tag, _ in tags if tag in ("script", "style")] == ["style", "script"]
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e\u2066-\u2069]", html)
    assert "⟨U+202E⟩" in html
    assert "␛[31m" in html
    assert "49" not in re.sub(r"<style>.*?</style>|sha256-\S+|[0-9a-f]{10}", "", html, flags=re.DOTALL)


@pytest.mark.parametrize(
    "char", ["\u202e", "\u2066", "\u200b", "\ufeff", "\x07", "\x7f", "\x9b", "\u2028", "\ud800", "\U000e0041"]
)
def test_invisible_characters_are_shown(char):
    shown = text.visible(f"a{char}b")
    assert char not in shown
    assert len(shown) >= 3
    shown.encode()


def test_readable_text_is_kept():
    kept = "naïve 漢字 مرحبا می\u200cخواهم 👩\u200d🔬\tx\ny"
    assert text.visible(kept) == kept


def test_nothing_is_loaded_even_if_replies_name_addresses():
    link = 'see https://evil.example/x.png <img src="https://evil.example/y"> url(https://evil.example/z) @import'
    html = page(record(result(items=(item(0, 1.0, text=link),))))
    for tag, attributes in Page(html).tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "use", "image", "form")
        assert not {"src", "srcset", "xlink:href", "style", "action"} & set(attributes)
        assert attributes.get("href", "#").startswith("#")
    style = re.search("<style>(.*?)</style>", html, re.DOTALL).group(1)
    assert "url(" not in style
    assert "@import" not in style
    assert "url(" not in page(record(result()))


def test_policy_admits_only_our_own_style_and_script():
    html = page(record(result()))
    policy = next(a["content"] for t, a in Page(html).tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        inline = re.search(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL).group(1)
        digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_links_lead_to_sections():
    tags = Page(page(record(result("model:a"), result("model:b"))))
    ids = {attributes["id"] for _, attributes in tags.tags if "id" in attributes}
    targets = [attributes["href"][1:] for tag, attributes in tags.tags if tag == "a"]
    assert len(targets) == 6  # both pictures of the forest, and the table
    assert set(targets) <= ids


def test_undefined_is_a_word():
    nothing = result(
        value=None, valid=False, items=(item(0, None, status="unparseable"),), estimates=(Estimate("x", None, 0),)
    )
    html = page(record(nothing))
    (table,) = score_tables(html)
    assert '<td role="cell" class="num strong nowrap" data-label="score" data-value="">none yet</td>' in table
    assert '<strong class="bad">no</strong>' in table
    assert "None" not in Page(html).visible
    assert not re.search(r"\bnan\b", page(record(result(value=float("nan")))))


@pytest.mark.parametrize(("status", "count"), [("ok", 13), ("unparseable", 4), ("refused", 2), ("unanswered", 1)])
def test_counts_by_status_stand_beside_the_score(status, count):
    html = page(record(result()))
    (table,) = score_tables(html)
    assert re.search(f'data-label="{status}" data-value="{count}">{count}</td>', table)
    assert re.search(rf"</svg> {status}</dt><dd>{count}</dd>", html)


def test_a_status_that_nobody_has_takes_no_column():
    (table,) = score_tables(page(record(result())))
    assert 'data-label="error"' not in table


def test_interval_n_baselines_and_caveats_are_visible_text():
    words = Page(page(record(result(caveats=("Few answers.",))))).visible
    for expected in ("57.31", "51.31 to 63.31", "n = 20", "random answer: 11.30", "all fives: 38.50", "Few answers."):
        assert expected in words


def test_structured_and_free_text_are_never_in_one_table():
    html = page(record(result("model:a"), result("model:b", 50.0), result("model:a", 70.0, mode="json")))
    free, structured = score_tables(html)
    assert (free.count("<tbody"), structured.count("<tbody")) == (2, 1)
    assert "free-text answers" in free
    assert "structured (JSON) answers" not in free
    assert "structured (JSON) answers" in structured
    assert "Compare rows of this table only" in free


def test_rules_items_options_and_selection_separate_tables():
    one = result()
    other = BenchmarkConfig("eqbench", 1, "published", "cd" * 32, {"revision": True})
    plain = BenchmarkConfig("eqbench", 1, "open", "ab" * 32, {"revision": False})
    assert len(score_tables(page(record(one), record(one, seed=1)))) == 1
    assert len(score_tables(page(record(one), record(result(rules={"name": "v1", "mode": "text"}), seed=1)))) == 2
    assert len(score_tables(page(record(one), record(one, benchmarks=(other,))))) == 2
    assert len(score_tables(page(record(one), record(one, benchmarks=(plain,))))) == 2
    assert len(score_tables(page(record(one), record(one, limit=5)))) == 2
    assert len(score_tables(page(record(one, result(benchmark="empathy", title="Empathy"))))) == 2


def test_one_subject_in_two_runs_is_named_with_its_run():
    first, second = record(result()), record(result(), seed=1)
    words = Page(page(first, second)).visible
    for one in (first, second):
        assert f"a/one (run {one.config.id})" in words
        assert f"Run {one.config.id}" in words


def test_highest_first_and_unranked_last():
    html = page(record(result("model:low", 20.0), result("model:bad", 99.0, valid=False), result("model:top", 60.0)))
    assert re.findall(r'data-value="(top|low|bad)"', score_tables(html)[0]) == ["top", "low", "bad"]


def test_worst_and_best_items_with_their_words_and_no_item_twice():
    html = page(record(result(items=tuple(item(i, float(i) - 4) for i in range(7)))))
    cards = re.findall(r"<h4[^>]*>(Dialogue \d)</h4>", html)
    assert cards == [f"Dialogue {i}" for i in (0, 1, 2, 3, 6, 5, 4)]
    assert '<b class="score">-4.00</b>' in html
    assert "Reply 6</pre>" in html
    assert "she was calm" in html


def test_failed_replies_are_shown():
    failed = item(1, None, status="unparseable", text="I would rather not.")
    assert "I would rather not." in page(record(result(items=(item(0, 1.0), failed))))


def test_zero_items_and_zero_runs():
    words = Page(page(record(result(value=None, items=(), counts={}, baselines=())))).visible
    assert "No items." in words
    assert "No item has a score" in words
    assert Page(page()).main[0] == "There are no results yet."


def test_long_text_is_clipped_and_bounded():
    parts = [f"w{number:05d} " for number in range(20_000)]
    long = item(0, 1.0, text="".join(parts), title="T" * 5000, values={"k" * 5000: "v" * 5000})
    html = page(record(result(subject="model:" + "s" * 5000, items=(long,))))
    assert len(html) < 70_000
    head, rest = re.findall(r"<pre dir=\"auto\">(.*?)</pre>", html, re.DOTALL)
    assert 480 <= len(head) <= 601
    assert (head.rstrip("…") + rest.rstrip("…")) == "".join(parts)[: len(head) - 1 + 10_000]
    assert "--item i0" in html


def test_many_lines_are_clipped():
    head, rest = text.clip("a\n" * 100, 600)
    assert head.count("\n") == 40
    assert head + rest == "a\n" * 100
    assert text.clip("short", 600) == ("short", "")


def test_full_table_stops_at_a_hundred_and_says_so():
    one = record(result(items=tuple(item(i, 1.0) for i in range(130))))
    html = page(one)
    table = re.search(r'<details class="all".*?</details>', html, re.DOTALL).group()
    assert table.count("<tr>") == 101
    assert f"eqlab runs show {one.config.id} --limit 130" in table
    assert "--limit" not in page(record(result()))


def test_settings_and_provenance():
    given = {"versions": {"eqlab": "0.1.0"}, "command": "eqlab run a/one --seed 3"}
    one = record(result(), seed=3, limit=20, provenance=given)
    html = page(one)
    lines = {"Seed": 3, "Limit": 20, "Profile": "full", "Items sha256": "ab" * 32, "option revision": "yes"}
    lines |= {"versions · eqlab": "0.1.0", "Date": "1970-01-01T00:00:00Z"}
    for name, value in lines.items():
        assert f"<dt>{name}</dt><dd>{value}</dd>" in html
    assert "<code>eqlab run a/one --seed 3</code>" in html
    assert "1970-01-02T00:00:00Z" in html


def test_secrets_do_not_travel():
    model = ModelConfig(
        "a/one", "https://user:hunter2@host/v1?api_key=s3cret", settings={"api_key": "s3cret", "top_p": 1}
    )
    given = {"command": "eqlab run --store postgresql://me:hunter2@db/x --set api_key=s3cret", "token": "s3cret"}
    base = record(result(), provenance=given)
    html = page(replace(base, config=replace(base.config, models=(model,))))
    assert "hunter2" not in html
    assert "s3cret" not in html
    assert "setting top_p" in html
    assert "https://host/v1?api_key=(left out)" in html


def test_a_benchmarks_own_table():
    table = Table(
        "By emotion",
        ("Emotion", "n", "Score"),
        (("Joy", 3, Estimate("s", 1.5, 7, None, 1.0, 2.0)), ("Fear", None, None)),
    )
    html = page(record(result(tables=(table,))))
    assert '<td class="nowrap">1.50 (1.00 … 2.00, n = 7)</td>' in html
    assert '<tr><th scope="row">Fear</th><td class="num">undefined</td>' in html


def test_typical_report_is_small():
    reply = "First pass scores:\nAngry: 3\n" + "He sees that she has known for a while. " * 25
    html = page(record(result(items=tuple(item(i, float(i), text=reply) for i in range(20)))))
    assert len(html.encode()) < 60_000


def test_numbers_in_words():
    full = Estimate("s", 57.314, 58, 3.11, 51.2, 63.4)
    assert text.estimate_text(full) == "57.31 ± 3.11 SE (95 % CI 51.20 to 63.40, n = 58)"
    assert text.estimate_text(Estimate("s", None, 0)) == "undefined (n = 0)"
    assert text.estimate_text(Estimate("s", 0.5, 1, unit="%", digits=1)) == "0.5 % (too few for an interval, n = 1)"
    assert text.number(-0.001) == "0.00"
    assert text.number(float("inf")) == "undefined"


def test_whisker_places_score_and_baselines_on_one_axis():
    drawn = figures.whisker("<a>", Estimate("s", 50.0, 9, 1.0, 25.0, 75.0), (0.0, 100.0), [("rand", 0.0)])
    assert '<circle class="dot" cx="50.00%"' in drawn
    assert 'x1="27.50%" x2="72.50%"' in drawn
    assert '<line class="base" x1="5.00%"' in drawn
    assert "<title>baseline rand 0.00</title>" in drawn
    assert 'role="img" aria-label="&lt;a&gt;: 50.00 ± 1.00 SE' in drawn


def test_values_off_the_axis_are_drawn_at_the_edge_and_printed_in_full():
    drawn = figures.whisker("a", Estimate("s", -31.7, 9, 1.0, -40.0, -20.0), (0.0, 100.0), valid=False)
    assert "<circle" not in drawn
    assert '<svg x="5.00%"' in drawn
    assert "-31.70" in drawn
    assert "not valid" in drawn


def test_baselines_off_the_axis_are_said_not_piled_up_at_its_edge():
    low = (Baseline("always 0", -20.7), Baseline("always 4", 41.9))
    html = page(record(result(baselines=low)))
    (table,) = score_tables(html)
    assert re.findall("<g><title>baseline (.*?)</title>", table) == ["always 4 41.90"]
    assert "always 0: -20.70 (off the axis)" in Page(html).visible
    assert '<path class="base" d="M-9' in html


def test_histogram_counts_every_score_once():
    drawn = figures.histogram([-3.0, -0.1, 0.0, 0.99, 1.0, 10.0, 12.0], (0.0, 10.0))
    assert "below 0: 2, 0 to 1: 2, 1 to 2: 1, 9 to 10: 1, above 10: 1" in drawn
    assert "-10 to -9: 1, -1 to 0: 1, 0 to 1: 1" in figures.histogram([-9.5, -0.5, 0.0], (-10.0, 10.0))
    assert "no scored items" in figures.histogram([], (0.0, 0.0))


def test_a_scale_with_words_has_a_bar_for_each():
    words = ((1.0, "Bad"), (2.0, "Okay <b>"), (3.0, "Good"))
    drawn = figures.histogram([1.0, 3.0, 3.0], (1.0, 3.0), words)
    assert "Bad: 1, Okay &lt;b&gt;: 0, Good: 2" in drawn
    assert ">Okay &lt;b&gt;</text>" in drawn
    assert "1.2" not in drawn, "no numbers where there are words"
    assert "2.4 to 2.6: 1" in figures.histogram([1.0, 2.5], (1.0, 3.0), words), "a mean of repeats has no word"


def test_status_bar_widths_are_shares():
    drawn = figures.status_bar({"planned": 4, "ok": 3, "refused": 1})
    assert 'width="75.000%"' in drawn
    assert 'x="75.000%" width="25.000%"' in drawn
    assert "ok 3, unparseable 0, refused 1" in drawn


@pytest.mark.parametrize(("low", "high"), [(0, 100), (-10, 10), (0, 1), (0.5, 0.51), (-3.7, 5.2), (0, 12345)])
def test_ticks_are_few_and_inside(low, high):
    found = figures.ticks(low, high)
    assert 2 <= len(found) <= 6
    assert all(low <= tick <= high for tick in found)


def test_sentence_is_escaped():
    assert str(escape("a < b & 'c'")) in page(record(result(sentence="a < b & 'c'")))
