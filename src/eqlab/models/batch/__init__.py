"""Batches: many questions handed to a provider at once, answered within a day at half price. One file a provider."""
