"""Anthropic's Message Batches. A batch carries no name of ours: one that was perhaps sent is told by how many requests
it has and, once it has ended, by their names."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlsplit

from eqlab.models.batch.contract import Found, Key, Look, Result, Wanted, Way, as_raw, count_of, read_lines
from eqlab.models.wire.anthropic import VERSION
from eqlab.models.wire.contract import Incoming, Outgoing, mapping

_EARLIER = 3600
_PAGE = 100


class AnthropicBatches:
    name = "anthropic"
    most_items = 10_000
    most_bytes = 100 * 2**20

    def line(self, key: Key, outgoing: Outgoing) -> bytes:
        return as_raw({"custom_id": key, "params": {k: v for k, v in outgoing.body.items() if k != "stream"}})

    async def send(self, way: Way, batch: str, lines: Sequence[bytes], outgoing: Outgoing) -> str:
        body = b'{"requests":[' + b",".join(lines) + b"]}"
        return await way.make("/messages/batches", outgoing.headers, body, "id")

    async def find(self, way: Way, wanted: Wanted) -> Found:
        """Those with as many requests, made since, that are nobody else's; the names inside tell when one has ended."""
        undecided = False
        after = ""
        while True:
            page = await way.get(f"/messages/batches?limit={_PAGE}{after}", _bare(way))
            for one in page["data"]:
                if one["id"] in wanted.others or _size(one) != wanted.items or _made(one) < wanted.made_at - _EARLIER:
                    continue
                if one["processing_status"] != "ended":
                    undecided = True
                elif one.get("results_url") and await self._is_ours(way, one, wanted.id):
                    return Found(str(one["id"]))
            last = page["data"][-1] if page["data"] else None
            if last is None or not page.get("has_more") or _made(last) < wanted.made_at - _EARLIER:
                return Found(undecided=undecided)
            after = f"&after_id={quote(str(last['id']))}"

    async def _is_ours(self, way: Way, batch: Mapping[str, Any], name: str) -> bool:
        results = await self.results(way, read_batch(batch))
        return any(key.startswith(f"{name}-") for key, _ in results)

    async def look(self, way: Way, remote: str) -> Look:
        return read_batch(await way.get(f"/messages/batches/{quote(remote)}", _bare(way)))

    async def results(self, way: Way, look: Look) -> list[Result]:
        # At the address we were given, whatever host the link names: the key goes nowhere else.
        ours = f"/messages/batches/{quote(str(look.body['id']))}/results"
        link = str(look.body.get("results_url") or "")
        same = urlsplit(link)[:2] == urlsplit(way.endpoint.base_url)[:2]
        return read_results((await way.call("GET", link if same else ours, _bare(way))).raw)


def read_batch(body: Mapping[str, Any]) -> Look:
    counts = dict(mapping(body.get("request_counts")))
    total = count_of(counts.values())
    done = total - count_of((counts.get("processing"),))
    return Look("ended" if body["processing_status"] == "ended" else "waiting", done, total, body=body)


def read_results(raw: bytes) -> list[Result]:
    found: list[Result] = []
    for line in read_lines(raw):
        key, result = str(line.get("custom_id") or ""), mapping(line.get("result"))
        match result.get("type"):
            case "succeeded":
                found.append((key, Incoming(200, {}, as_raw(result.get("message")))))
            case "errored":
                error = mapping(result.get("error"))
                whole = error if error.get("type") == "error" else {"type": "error", "error": error}
                found.append((key, Incoming(200, {}, as_raw(whole))))
            case other:
                found.append((key, f"the request was {other or 'not answered'}"))
    return found


def _size(batch: Mapping[str, Any]) -> int:
    return count_of(mapping(batch.get("request_counts")).values())


def _made(batch: Mapping[str, Any]) -> float:
    return datetime.fromisoformat(str(batch["created_at"]).replace("Z", "+00:00")).timestamp()


def _bare(way: Way) -> dict[str, str]:
    headers = {"anthropic-version": VERSION, **way.endpoint.headers}
    if way.endpoint.key and "Authorization" not in headers:
        headers["x-api-key"] = way.endpoint.key
    return headers
