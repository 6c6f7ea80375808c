"""The benchmarks inside other people's tools: as Inspect AI tasks, and as a task folder for lm-evaluation-harness."""
