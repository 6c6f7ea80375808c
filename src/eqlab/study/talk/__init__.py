"""People who talk with models: how a talk goes on, what a person sees of it, and what it may cost."""
