"""The template of a study file, kept beside the benchmark that it is for."""

from importlib.resources import files


def template(package: str, name: str = "study.toml") -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")
