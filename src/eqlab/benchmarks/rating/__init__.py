"""Ratings: a subject, model or person, rates somebody's replies."""
