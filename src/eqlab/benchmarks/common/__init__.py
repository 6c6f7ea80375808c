"""What every benchmark shares: options, reading of replies, outcomes and baselines, people. Written once."""
