"""Benchmarks that know of eqlab only its contract."""
