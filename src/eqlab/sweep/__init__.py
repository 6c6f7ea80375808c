"""Many runs at once: a sweep over models, benchmarks and seeds, here or on a cluster."""
