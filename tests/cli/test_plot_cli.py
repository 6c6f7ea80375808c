"""Pictures, summaries and citations, offline, of published results."""

import re
from xml.etree import ElementTree

import pytest

MODELS = ("published:gpt-4-0314", "published:gpt-4-0613")


@pytest.mark.parametrize("kind", ["forest", "heat"])
def test_svg_is_well_formed_and_names_everybody(eqlab, tmp_path, kind):
    done = eqlab("plot", *MODELS, "--kind", kind, "-o", "x.svg")
    assert done.code == 0, done.err
    root = ElementTree.parse(tmp_path / "x.svg").getroot()
    words = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"gpt-4-0314", "gpt-4-0613"} <= words
    assert any(word.startswith("85.73" if kind == "forest" else "0.") for word in words)


@pytest.mark.parametrize(("size", "wide", "high"), [("slide", 1280, 720), ("paper", 720, 540), ("square", 1080, 1080)])
def test_a_canvas_is_filled_and_says_what_it_shows(eqlab, tmp_path, size, wide, high):
    assert eqlab("plot", *MODELS, "--size", size, "-o", "x.svg").code == 0
    root = ElementTree.parse(tmp_path / "x.svg").getroot()
    assert (root.get("width"), root.get("height")) == (str(wide), str(high))
    _, _, across, down = (int(part) for part in root.get("viewBox").split())
    texts = list(root.iter("{http://www.w3.org/2000/svg}text"))
    assert {"EQ-Bench v2", "n = 171 · lines: 95 % intervals", "gpt-4-0314"} <= {text.text for text in texts}
    assert not any((text.text or "").startswith("lmsys") for text in texts), "nobody else was asked for"
    lowest = max(int(text.get("y")) for text in texts if (text.get("y") or "").isdecimal())
    assert lowest + 66 > 0.85 * down, "no empty quarter below"
    assert abs(across / down - wide / high) < 0.01
    heat = eqlab("plot", "heat", *MODELS, "--size", size, "-o", "y.svg")
    assert heat.code == 0, heat.err
    assert ElementTree.parse(tmp_path / "y.svg").getroot().get("height") == str(high)


def test_published_models_stand_beside_ones_own(eqlab, server, published, tmp_path):
    server.reply = lambda body, number: "\n".join(
        f"{word}: 3" for word in body["messages"][-1]["content"].partition("feel...\n")[2].split("\n")[:4]
    )
    asked = ("-b", "eqbench", "--items", "published", "--limit", 6, "--base-url", server.url)
    assert eqlab("run", "mine", *asked, EQLAB_DATA=published).code == 0
    for flags, count in (((), 13), (("--alone",), 1)):
        assert eqlab("plot", *flags, "-o", "x.svg").code == 0
        assert (tmp_path / "x.svg").read_text().count('r="5"') == count
    assert "mine" in (tmp_path / "x.svg").read_text()
    import eqlab as api

    with api.open_store("") as store:
        picture = api.plot(store, "last", size="slide")
    assert picture._repr_svg_().startswith("<svg")
    assert picture.save(tmp_path / "z.svg").read_text() == picture.svg


def test_open_and_published_questions_never_share_an_axis(eqlab, server, published):
    """One model answered both: each set has a chart of its own, and published models stand on their own questions."""
    server.reply = lambda body, number: "\n".join(
        f"{word}: {place}"
        for place, word in enumerate(
            re.search(r"(?:at the end\?|feel\.\.\.)\n((?:\w+\n){4})", body["messages"][-1]["content"])[1].split(), 2
        )
    )
    for items in ("open", "published"):
        asked = ("-b", "eqbench", "--items", items, "--limit", 6, "--base-url", server.url)
        assert eqlab("run", "mine", *asked, EQLAB_DATA=published).code == 0
    import eqlab as api

    with api.open_store("") as store:
        both = list(store.run_ids())
        for kind, marks in (("forest", ()), ("heat", ()), ("cost", ("tokens for one answer",))):
            picture = api.plot(store, both, kind=kind)
            assert picture.charts == 2, kind
            assert all(mark in picture.svg for mark in marks)
        forests = {one.title: [line.name for line in one.lines] for one in api.plot(store, both).forests}
        beside = {one.title: [line.name for line in one.lines] for one in api.plot(store, both, alone=True).forests}
    assert forests["EQ Lab open dialogues"] == ["mine"], "no published model answered these"
    assert {"mine", "gpt-4-0314", "lmsys/vicuna-7b-v1.1"} <= set(forests["EQ-Bench v2"])
    assert beside == {"EQ Lab open dialogues": ["mine"], "EQ-Bench v2": ["mine"]}
    assert eqlab("plot", *both, "-o", "-").out.count("mine ") == 2
    mixed = eqlab("plot", both[-1], "published:gpt-4-0314", "-o", "-").out
    assert len(re.findall(r"^(?:EQ Lab open dialogues|EQ-Bench v2)$", mixed, re.MULTILINE)) == 2


def test_the_ladder_needs_no_run_and_is_drawn_in_letters(eqlab, tmp_path):
    done = eqlab("plot", "ladder", "-o", "-", COLUMNS="100")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert all(len(line) <= 100 for line in lines)
    best, worst = (next(line for line in lines if line.startswith(name)) for name in ("gpt-4-0314", "lmsys/vicuna"))
    assert best.index("●") > worst.index("●")
    assert best.endswith("85.73 (83.57 to 87.90)")
    assert any(line.startswith("your model") for line in lines)
    assert sum("●" in line for line in lines) == 12
    assert not list(tmp_path.glob("*.svg"))
    assert eqlab("plot", "ladder", "-o", "x.svg").code == 0
    assert (tmp_path / "x.svg").read_text().count('r="5"') == 12


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plot", "heat", *MODELS, "-o", "-"), "in letters"),
        (("plot", *MODELS, "--kind", "heet", "-o", "x.svg"), "Did you mean heat?"),
        (("plot", *MODELS, "--size", "slides", "-o", "x.svg"), "Did you mean slide?"),
        (("plot", *MODELS, "-o", "x.gif"), "ends with .svg, .png, .pdf"),
        (("plot", *MODELS, "-o", "nowhere/x.svg"), "no folder"),
        (("plot", *MODELS, "--kind", "pie", "-o", "x.svg"), "forest, profile, heat, cost, people, ladder"),
        (("plot", *MODELS, "--kind", "profile", "-o", "x.svg"), "nothing for --kind profile"),
        (("plot", *MODELS, "--kind", "cost", "-o", "x.svg"), "nothing for --kind cost"),
        (("plot", "people", *MODELS, "-o", "x.svg"), "nothing for --kind people"),
        (("report", *MODELS, "-o", "x.png"), "eqlab plot"),
        (("report", *MODELS, "-o", "x.docx"), "Write an .html"),
        (("report", *MODELS, "-o", "x.md", "--items"), "Drop --items"),
    ],
)
def test_what_cannot_be_made_is_refused_and_nothing_written(eqlab, tmp_path, arguments, said):
    done = eqlab(*arguments)
    assert done.code == 2
    assert said in done.err
    assert not [path for path in tmp_path.iterdir() if path.is_file() and path.suffix not in (".db", ".toml")]


def test_without_a_browser_the_way_out_is_said(eqlab, monkeypatch, tmp_path):
    monkeypatch.setattr("eqlab.publish.plot.shutil.which", lambda name: None)
    done = eqlab("plot", *MODELS, "-o", "x.png")
    assert done.code == 2
    assert "Install chromium" in done.err
    assert not (tmp_path / "x.png").exists()


def test_a_summary_in_markdown(eqlab, tmp_path):
    assert eqlab("report", *MODELS, "-o", "x.md").code == 0
    text = (tmp_path / "x.md").read_text()
    assert "cannot be told apart" in text
    assert "| gpt-4-0314 | 1–2 | 85.73 | 83.57 … 87.90 | 171 | 171 | 87 (" in text


def test_a_citation_names_product_study_and_items(eqlab):
    done = eqlab("cite", "published:gpt-4-0314")
    assert done.code == 0, done.err
    for said in ("@software{eqlab", "Paech, Samuel J.", "sha256 a43b8ad25b", "85.73 (95 % CI 83.57 to 87.90, n = 171)"):
        assert said in done.out.replace("\n% ", " ")
    assert done.out.count("@") == 2


def test_the_citation_file_names_the_papers_and_authors_that_cite_prints():
    import re

    from conftest import ROOT

    from eqlab.benchmarks.registry import bibtex

    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    kept = {}
    for block in text.partition("references:")[2].split("  - type: article\n")[1:]:
        names = re.findall(r"family-names: (.*)\n +given-names: (.*)", block)
        kept[re.search(r"arXiv:([\d.]+)", block).group(1)] = [f"{family}, {given}" for family, given in names]
    printed = {}
    for name in ("eqbench", "emotionbench", "empathy", "emobench", "seceu", "culemo", "tombench", "dialogue"):
        paper = bibtex(name)
        authors = re.search(r"author = \{(.*?)\},", paper, flags=re.DOTALL).group(1)
        named = " ".join(authors.split()).removesuffix(" and others").split(" and ")
        printed[re.search(r"eprint = \{(.*?)\}", paper).group(1)] = named
    assert kept == printed
    assert all(authors for authors in printed.values())
