"""Studies with people, as verbs: begin one, make its design, rehearse it, analyse it. `people` serves it."""
