"""Gemini's batches: a file of requests, uploaded, and a batch over it that carries our name for it.

A file and not requests in the body: inlined responses come back out of order and, with some, without their names
(googleapis/python-genai issues 1909 and 2008), while every line of a file has its key."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from eqlab.models.batch.contract import Found, Key, Look, Result, Wanted, Way, as_raw, count_of, read_lines
from eqlab.models.wire.contract import Incoming, Outgoing, mapping

_TAG = "eqlab"
_PAGE = 100
_WAITING = ("PENDING", "RUNNING", "QUEUED", "CANCELLING", "PAUSED", "UPDATING", "UNSPECIFIED")
_HTTP = {1: 499, 3: 400, 4: 504, 5: 404, 7: 403, 8: 429, 9: 400, 13: 500, 14: 503, 16: 401}
"""Google's own codes as HTTP has them."""


class GeminiBatches:
    name = "gemini"
    most_items = 10_000
    most_bytes = 100 * 2**20

    def line(self, key: Key, outgoing: Outgoing) -> bytes:
        return as_raw({"key": key, "request": dict(outgoing.body)})

    async def send(self, way: Way, batch: str, lines: Sequence[bytes], outgoing: Outgoing) -> str:
        file = await _upload(way, f"{_TAG}-{batch}", b"\n".join(lines) + b"\n", outgoing)
        model = way.endpoint.model.removeprefix("models/")
        path = f"/models/{model}:batchGenerateContent"
        return await way.make(path, outgoing.headers, as_raw(created(batch, file)), "name")

    async def find(self, way: Way, wanted: Wanted) -> Found:
        after = ""
        while True:
            page = await way.get(f"/batches?pageSize={_PAGE}{after}", _bare(way))
            for one in page.get("operations") or ():
                if mapping(one.get("metadata")).get("displayName") == f"{_TAG}-{wanted.id}":
                    return Found(str(one["name"]))
            if not page.get("nextPageToken"):
                return Found()
            after = f"&pageToken={quote(str(page['nextPageToken']))}"

    async def look(self, way: Way, remote: str) -> Look:
        return read_batch(await way.get(f"/{quote(remote)}", _bare(way)))

    async def results(self, way: Way, look: Look) -> list[Result]:
        output = _output(look.body)
        found = [_result(mapping(one)) for one in mapping(output.get("inlinedResponses")).get("inlinedResponses") or ()]
        if file := output.get("responsesFile"):
            came = await way.call("GET", f"/{quote(str(file))}:download?alt=media", _bare(way))
            found += [_result(line) for line in read_lines(came.raw)]
        return found


def created(batch: str, file: str) -> dict[str, Any]:
    """What a batch is made with."""
    return {"batch": {"displayName": f"{_TAG}-{batch}", "inputConfig": {"fileName": file}}}


def read_batch(body: Mapping[str, Any]) -> Look:
    if not body.get("name"):
        raise ValueError("no name")
    about = mapping(body.get("metadata"))
    stats = mapping(about.get("batchStats"))
    total = count_of((stats.get("requestCount"),))
    done = count_of((stats.get("successfulRequestCount"), stats.get("failedRequestCount")))
    state = str(about.get("state") or "").rpartition("STATE_")[2]
    if not body.get("done") and state in (*_WAITING, ""):
        return Look("waiting", done, total, body=body)
    error = mapping(body.get("error"))
    if _output(body) or state in ("SUCCEEDED", "PARTIALLY_SUCCEEDED", "EXPIRED", "CANCELLED"):
        why = "" if state.endswith("SUCCEEDED") else str(error.get("message") or f"the batch was {state.lower()}")
        return Look("ended", done, total, why, body=body)
    too_much = error.get("code") in (8, 429)
    return Look("refused", done, total, str(error.get("message") or f"the batch {state.lower()}"), too_much, body)


def _output(body: Mapping[str, Any]) -> Mapping[str, Any]:
    response = mapping(body.get("response"))
    found = {name: response[name] for name in ("inlinedResponses", "responsesFile") if response.get(name)}
    return found or mapping(mapping(body.get("metadata")).get("output"))


def _result(line: Mapping[str, Any]) -> Result:
    """A line with its key; one without a name belongs to nobody."""
    key = str(line.get("key") or mapping(line.get("metadata")).get("key") or "")
    if response := mapping(line.get("response")):
        return key, Incoming(200, {}, as_raw(response))
    error = mapping(line.get("error")) or mapping(line.get("status"))
    if not error:
        return key, "no response"
    code = error.get("code")
    status = _HTTP.get(code, code if code >= 400 else 500) if isinstance(code, int) else 500
    return key, Incoming(status, {}, as_raw({"error": dict(error)}))


async def _upload(way: Way, name: str, content: bytes, outgoing: Outgoing) -> str:
    """Google's resumable upload in two steps: ask where to, then send. Twice would do no harm."""
    base = way.endpoint.base_url
    root, _, version = base.rpartition("/")
    headers = {
        **outgoing.headers,
        "X-Goog-Upload-Protocol": "resumable",
        "X-Goog-Upload-Command": "start",
        "X-Goog-Upload-Header-Content-Length": str(len(content)),
        "X-Goog-Upload-Header-Content-Type": "application/jsonl",
    }
    start = await way.call("POST", f"{root}/upload/{version}/files", headers, as_raw({"file": {"displayName": name}}))
    where = str(start.headers.get("X-Goog-Upload-URL") or "")
    if urlsplit(where).scheme not in ("http", "https"):
        raise way.broken("it names no place for the file")
    same = urlsplit(where)[:2] == urlsplit(base)[:2]
    finish = {"X-Goog-Upload-Offset": "0", "X-Goog-Upload-Command": "upload, finalize"}
    incoming = await way.call("POST", where, {**(_bare(way) if same else {}), **finish}, content)
    return str(way.read(incoming)["file"]["name"])


def _bare(way: Way) -> dict[str, str]:
    key = way.endpoint.key
    return {**way.endpoint.headers, **({"x-goog-api-key": key} if key else {})}
