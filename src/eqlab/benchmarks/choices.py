"""Multiple choice, under the name that packages made for 0.2 know it by."""

from eqlab.benchmarks.common.choices import choice, lettered, numbered, read_choices, shuffled

__all__ = ["choice", "lettered", "numbered", "read_choices", "shuffled"]
