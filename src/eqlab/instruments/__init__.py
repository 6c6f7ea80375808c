"""Questionnaires: definition and scoring key (facts, shipped) and wording (loaded where it is not ours)."""
