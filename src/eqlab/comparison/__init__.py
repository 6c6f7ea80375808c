"""Subjects against each other: where results come from, which of them differ, and how to say it."""
