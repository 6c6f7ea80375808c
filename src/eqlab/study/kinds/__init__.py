"""Kinds of study: the registry, the study file that `eqlab study init` writes, and the pages that every kind has."""
