"""A model as a subject: how it is reached and asked."""
