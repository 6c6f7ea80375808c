"""Talks of several turns: somebody tells a trouble, a joy or a conflict, and the listener is measured."""
