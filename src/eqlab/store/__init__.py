"""Runs, trials and answers in SQL: SQLite by default, PostgreSQL by URL, one code for both."""
