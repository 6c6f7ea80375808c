"""A benchmark's scores against scores from elsewhere."""
