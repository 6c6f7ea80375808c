"""Made-up SAGE result files."""

import json


def put(folder, simulator, model, finals, *, replies=3, path="sage/SAGE/dataset"):
    """finals: {persona: final emotion}, or (persona, final) pairs where a persona comes twice."""
    pairs = finals.items() if isinstance(finals, dict) else finals
    file = folder / path / f"{simulator}_based_simulator" / f"{model}_result.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(talk(persona, final, replies)) + "\n" for persona, final in pairs))
    return file


def talk(persona, final, replies=3):
    turns = [{"role": "user", "content": "a", "emotion-point": 40}]
    turns += [{"role": "assistant", "content": "b"}] * replies
    return {"id": persona, "emo_point": final, "history": turns}
