"""A person as subject: the design of a study, its places, its pages, its simulation and its exports."""
