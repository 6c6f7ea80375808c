"""Wire formats: one file each, a pure pair of functions. Build a request; read what came back."""
