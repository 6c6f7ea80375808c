"""Dialogue: talks of several turns between a speaker, who has something on the mind, and a listener."""
