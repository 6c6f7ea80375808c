"""SECEU (Wang et al. 2023, arXiv 2307.09042): ten points dealt out over four feelings, against what 541 people gave."""
