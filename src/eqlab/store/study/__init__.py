"""The SQL of studies with people: places, participants, participation, plans that are locked, erasure."""
