"""The loop of the original EQ-Bench code: one question at a time, a new connection each, all results written anew
after every answer, finished questions skipped on the next start."""

import json
import sys
import urllib.request
from pathlib import Path


def main(url: str, folder: Path) -> None:
    results = folder / "sequential.json"
    done = json.loads(results.read_text()) if results.exists() else {}
    for line in (folder / "prompts.jsonl").read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        if str(question["id"]) in done:
            continue
        message = {"role": "user", "content": question["input"]}
        body = {"model": "bench", "messages": [message], "temperature": 0.0, "max_tokens": 384}
        request = urllib.request.Request(
            f"{url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as response:
            done[str(question["id"])] = json.load(response)["choices"][0]["message"]["content"]
        results.write_text(json.dumps(done))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
