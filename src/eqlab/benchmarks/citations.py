"""The papers that the benchmarks come from, as BibTeX: who asks a study's questions cites the study."""

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
  author = {Sabour, Sahand and others},
  booktitle = {Proceedings of the 62nd Annual Meeting of the Association for Computational Linguistics},
  year = {2024},
}""",
}
_SAME = {"rating": "empathy", "pairwise": "empathy"}
"""Benchmarks that use another's replies and scale."""


def bibtex(benchmark: str) -> str:
    """The paper behind a benchmark; empty for one of another package."""
    return _PAPERS.get(_SAME.get(benchmark, benchmark), "")
