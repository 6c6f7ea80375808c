"""Empathy (Welivita & Pu, arXiv 2406.05063 and 2403.05572): do people find a reply to somebody's story empathetic?"""
