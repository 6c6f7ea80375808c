"""Results for readers: the HTML report, its figures and its words. Pure: values in, text out."""
