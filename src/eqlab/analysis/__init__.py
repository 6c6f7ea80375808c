"""Statistics: arrays in, numbers out. Knows the vocabulary and nothing else of ours."""
