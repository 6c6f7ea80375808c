"""What a run is made of: request, questions asked, answers scored; judges, imported ratings, probes."""
