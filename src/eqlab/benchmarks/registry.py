"""The benchmarks by name: ours, one line each, and those of other packages (entry point group `eqlab.benchmarks`); and
the papers they come from, as BibTeX: who asks a study's questions cites the study."""

from collections.abc import Mapping
from importlib import import_module

from eqlab.core.benchmark import Benchmark
from eqlab.core.environment import entry_points, package_about
from eqlab.core.errors import UsageError, did_you_mean

_OURS = {
    "eqbench": "eqlab.benchmarks.eqbench.benchmark:EqBench",
    "emotionbench": "eqlab.benchmarks.emotionbench.benchmark:EmotionBench",
    "empathy": "eqlab.benchmarks.empathy.benchmark:Empathy",
    "emobench": "eqlab.benchmarks.emobench.benchmark:EmoBench",
    "dialogue": "eqlab.benchmarks.dialogue.benchmark:Dialogue",
    "culemo": "eqlab.benchmarks.culemo:CuLEmo",
    "tombench": "eqlab.benchmarks.tombench:ToMBench",
    "seceu": "eqlab.benchmarks.seceu:Seceu",
}
_STARTED_BY_OTHERS = {
    "rating": "eqlab.benchmarks.rating.benchmark:Ratings",
}
"""Known by name and never part of `eqlab run`: their items are other subjects' replies (`eqlab judge`)."""


def names() -> list[str]:
    return [*_OURS, *(point.name for point in entry_points(group="eqlab.benchmarks") if point.name not in _OURS)]


def is_ours(name: str) -> bool:
    """Whether its open items were written for EQ Lab; another package brings its own."""
    return name in _OURS | _STARTED_BY_OTHERS


def usual() -> list[str]:
    """What `eqlab run` asks if nobody says what: the three studies that the project began with."""
    return list(_OURS)[:3]


def find(name: str) -> Benchmark | None:
    """A benchmark of a stored run; None where the package that brings it is not installed here."""
    try:
        return load(name)
    except UsageError:
        return None


def with_option(option: str) -> list[str]:
    """The benchmarks that have this option."""
    return [name for name in names() if any(option_help.name == option for option_help in load(name).option_help())]


def place(name: str) -> int:
    """Where a benchmark stands in lists; one that is not installed here comes last."""
    listed = [*names(), *_STARTED_BY_OTHERS]
    return listed.index(name) if name in listed else len(listed)


def load(name: str) -> Benchmark:
    ours = _OURS | _STARTED_BY_OTHERS
    if name in ours:
        module, _, attribute = ours[name].partition(":")
        benchmark: Benchmark = getattr(import_module(module), attribute)()
        return benchmark
    for point in entry_points(group="eqlab.benchmarks", name=name):
        theirs: Benchmark = point.load()()
        return theirs
    there_are = f"There are: {', '.join(names())}."
    raise UsageError(f"There is no benchmark '{name}'.", did_you_mean(name, names(), there_are))


_PAPERS = {
    "eqbench": """@misc{paech2023eqbench,
  title = {{EQ-Bench}: An Emotional Intelligence Benchmark for Large Language Models},
  author = {Paech, Samuel J.},
  year = {2023},
  eprint = {2312.06281},
  archivePrefix = {arXiv},
}""",
    "emotionbench": """@inproceedings{huang2024apathetic,
  title = {Apathetic or Empathetic? Evaluating {LLMs}' Emotional Alignments with Humans},
  author = {Huang, Jen-tse and Lam, Man Ho and Li, Eric John and Ren, Shujie and Wang, Wenxuan and Jiao, Wenxiang and
            Tu, Zhaopeng and Lyu, Michael R.},
  booktitle = {Advances in Neural Information Processing Systems 37},
  year = {2024},
  eprint = {2308.03656},
  archivePrefix = {arXiv},
}""",
    "empathy": """@misc{welivita2024empathetic,
  title = {Are Large Language Models More Empathetic than Humans?},
  author = {Welivita, Anuradha and Pu, Pearl},
  year = {2024},
  eprint = {2406.05063},
  archivePrefix = {arXiv},
}""",
    "emobench": """@inproceedings{sabour2024emobench,
  title = {{EmoBench}: Evaluating the Emotional Intelligence of Large Language Models},
  author = {Sabour, Sahand and Liu, Siyang and Zhang, Zheyuan and Liu, June and Zhou, Jinfeng and Sunaryo, Alvionna and
            Lee, Tatia and Mihalcea, Rada and Huang, Minlie},
  booktitle = {Proceedings of the 62nd Annual Meeting of the Association for Computational Linguistics},
  year = {2024},
  eprint = {2402.12071},
  archivePrefix = {arXiv},
}""",
    "seceu": """@misc{wang2023emotional,
  title = {Emotional Intelligence of Large Language Models},
  author = {Wang, Xuena and Li, Xueting and Yin, Zi and Wu, Yue and Liu, Jia},
  year = {2023},
  eprint = {2307.09042},
  archivePrefix = {arXiv},
}""",
    "culemo": """@misc{belay2025culemo,
  title = {{CuLEmo}: Cultural Lenses on Emotion},
  author = {Belay, Tadesse Destaw and others},
  year = {2025},
  eprint = {2503.10688},
  archivePrefix = {arXiv},
}""",
    "tombench": """@inproceedings{chen2024tombench,
  title = {{ToMBench}: Benchmarking Theory of Mind in Large Language Models},
  author = {Chen, Zhuang and others},
  booktitle = {Proceedings of the 62nd Annual Meeting of the Association for Computational Linguistics},
  year = {2024},
  eprint = {2402.15052},
  archivePrefix = {arXiv},
}""",
    "dialogue": """@misc{zhang2025sentient,
  title = {Sentient Agent as a Judge: Evaluating Higher-Order Social Cognition in Large Language Models},
  author = {Zhang, Bang and Ma, Ruotian and Jiang, Qingxuan and Wang, Peisong and Chen, Jiaqi and Xie, Zheng and Chen,
            Xingyu and Wang, Yue and Ye, Fanghua and Li, Jian and Yang, Yifan and Tu, Zhaopeng and Li, Xiaolong},
  year = {2025},
  eprint = {2505.02847},
  archivePrefix = {arXiv},
}""",
}
_SAME = {"rating": "empathy", "pairwise": "empathy"}
"""Benchmarks that use another's replies and scale."""


def bibtex(benchmark: str) -> str:
    """The paper behind a benchmark; one of another package gives its own (`bibtex`), or is cited as that package."""
    if paper := _PAPERS.get(_SAME.get(benchmark, benchmark)):
        return paper
    for point in entry_points(group="eqlab.benchmarks", name=benchmark):
        if entry := getattr(find(benchmark), "bibtex", ""):
            return str(entry).strip()
        package = point.dist.name if point.dist else point.value.partition(".")[0]
        about = package_about(package)
        rows = {
            "title": f"{{{package}}}: {about.get('title', benchmark)}",
            "author": f"{{{about['author']}}}" if "author" in about else "",
            "version": about.get("version", ""),
            "url": about.get("address", ""),
        }
        return bibtex_entry("software", package, rows)
    return ""


def bibtex_entry(kind: str, key: str, rows: Mapping[str, str]) -> str:
    return f"@{kind}{{{key},\n" + "".join(f"  {name} = {{{value}}},\n" for name, value in rows.items() if value) + "}"
