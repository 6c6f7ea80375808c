"""People who talk with models: the room in which a talk goes on, what a person sees of it, and what it may cost."""
