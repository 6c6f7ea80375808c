def views(a, b): return {}
