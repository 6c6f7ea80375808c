"""The vocabulary of EQ Lab: frozen, typed values without I/O. Imports nothing else of ours."""
