"""OpenAI's Batch API: a file of requests, a batch over it, a file of responses and one of errors."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from eqlab.models.batch.contract import (
    Found,
    Key,
    Look,
    Result,
    Wanted,
    Way,
    as_raw,
    count_of,
    read_lines,
)
from eqlab.models.wire.contract import Incoming, Outgoing, mapping

_TAG = "eqlab"
"""The metadata key that holds our name for a batch."""
_KEPT = 30 * 24 * 3600
"""Seconds after which the provider deletes our files."""
_EARLIER = 3600
"""Seconds by which clocks may differ."""
_PAGE = 100
_WAITING = ("validating", "in_progress", "finalizing", "cancelling")


class OpenAiBatches:
    name = "openai"
    most_items = 10_000
    most_bytes = 100 * 2**20

    def line(self, key: Key, outgoing: Outgoing) -> bytes:
        body = {name: value for name, value in outgoing.body.items() if name not in ("stream", "stream_options")}
        return as_raw({"custom_id": key, "method": "POST", "url": f"/v1{outgoing.path}", "body": body})

    async def send(self, way: Way, batch: str, lines: Sequence[bytes], outgoing: Outgoing) -> str:
        kind, body = upload(f"{_TAG}-{batch}.jsonl", b"\n".join(lines) + b"\n")
        file = await way.call("POST", "/files", {**outgoing.headers, "Content-Type": kind}, body)  # twice does no harm
        wanted = created(batch, str(way.read(file)["id"]), outgoing)
        return await way.make("/batches", outgoing.headers, as_raw(wanted), "id")

    async def find(self, way: Way, wanted: Wanted) -> Found:
        after = ""
        while True:
            page = await way.get(f"/batches?limit={_PAGE}{after}", _bare(way))
            for one in page["data"]:
                if mapping(one.get("metadata")).get(_TAG) == wanted.id:
                    return Found(str(one["id"]))
            last = page["data"][-1] if page["data"] else None
            if last is None or not page.get("has_more") or int(last["created_at"]) < wanted.made_at - _EARLIER:
                return Found()
            after = f"&after={quote(str(last['id']))}"

    async def look(self, way: Way, remote: str) -> Look:
        return read_batch(await way.get(f"/batches/{quote(remote)}", _bare(way)))

    async def results(self, way: Way, look: Look) -> list[Result]:
        found: list[Result] = []
        for name in ("output_file_id", "error_file_id"):
            if file := look.body.get(name):
                came = await way.call("GET", f"/files/{quote(str(file))}/content", _bare(way))
                found += read_results(came.raw)
        return found


def upload(name: str, content: bytes) -> tuple[str, bytes]:
    """(content type, body) of the form that uploads a file of requests; the provider deletes it after a month."""
    boundary = uuid4().hex
    fields = {"purpose": "batch", "expires_after[anchor]": "created_at", "expires_after[seconds]": str(_KEPT)}
    parts = [f'Content-Disposition: form-data; name="{key}"\r\n\r\n{value}'.encode() for key, value in fields.items()]
    about = f'Content-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: application/jsonl\r\n\r\n'
    parts.append(about.encode() + content)
    mark = f"--{boundary}".encode()
    body = b"".join(mark + b"\r\n" + part + b"\r\n" for part in parts) + mark + b"--\r\n"
    return f"multipart/form-data; boundary={boundary}", body


def created(batch: str, file: str, outgoing: Outgoing) -> dict[str, Any]:
    """What a batch is made with."""
    return {
        "input_file_id": file,
        "endpoint": f"/v1{outgoing.path}",
        "completion_window": "24h",
        "metadata": {_TAG: batch},
        "output_expires_after": {"anchor": "created_at", "seconds": _KEPT},
    }


def read_batch(body: Mapping[str, Any]) -> Look:
    counts = mapping(body.get("request_counts"))
    done, total = count_of((counts.get("completed"), counts.get("failed"))), count_of((counts.get("total"),))
    if body["status"] in _WAITING:
        return Look("waiting", done, total, body=body)
    if body["status"] != "failed" or body.get("output_file_id") or body.get("error_file_id"):
        why = "" if body["status"] == "completed" else f"the batch was {body['status']}"
        return Look("ended", done, total, why, body=body)
    errors = mapping(body.get("errors")).get("data") or []
    why = "; ".join(dict.fromkeys(str(mapping(one).get("message") or mapping(one).get("code")) for one in errors[:3]))
    too_much = any(mapping(error).get("code") == "token_limit_exceeded" for error in errors)
    return Look("refused", done, total, why or "the batch failed", too_much, body)


def read_results(raw: bytes) -> list[Result]:
    found: list[Result] = []
    for line in read_lines(raw):
        key, response = str(line.get("custom_id") or ""), mapping(line.get("response"))
        if response:
            status = response.get("status_code")
            found.append((key, Incoming(status if isinstance(status, int) else 500, {}, as_raw(response.get("body")))))
        else:
            error = mapping(line.get("error"))
            found.append((key, str(error.get("message") or error.get("code") or "no response")))
    return found


def _bare(way: Way) -> dict[str, str]:
    key = way.endpoint.key
    return {**way.endpoint.headers, **({"Authorization": f"Bearer {key}"} if key else {})}
