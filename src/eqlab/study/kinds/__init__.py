"""The three ready kinds of study: their file as `eqlab study init` writes it, and their batches of trials."""
