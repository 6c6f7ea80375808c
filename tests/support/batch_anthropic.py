"""Anthropic's message batches on loopback."""

import json
import re
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from aiohttp import web
from batch_house import KEY, House, Results, adapter, streamed
from strict_anthropic import anthropic_error, claude
from strict_servers import Refused


class Anthropic(House):
    prefix = "/anthropic/v1"
    model = "anthropic/claude-opus-5"

    def check_key(self, request: web.Request) -> None:
        if request.headers.get("x-api-key") != KEY:
            raise Refused(401, anthropic_error("invalid x-api-key", "authentication_error"))
        if "anthropic-version" not in request.headers:
            raise Refused(400, anthropic_error("anthropic-version: header is required"))

    async def route(self, request: web.Request) -> Any:
        path = request.path.removeprefix(self.prefix)
        if request.method == "POST" and path == "/messages":
            self.direct += 1
            return streamed(claude(self, request, json.loads(await request.read())))
        if request.method == "POST" and path == "/messages/batches":
            return await self.create(request)
        if request.method == "GET" and path == "/messages/batches":
            return self.listed(request)
        if request.method == "GET" and (found := re.fullmatch(r"/messages/batches/(\w+)(/results)?", path)):
            if found.group(1) not in self.batches:
                raise Refused(404, anthropic_error("Not found", "not_found_error"))
            return await (self.results(found.group(1), request) if found.group(2) else self.look(found.group(1)))
        raise Refused(404, anthropic_error("Not found", "not_found_error"))

    async def create(self, request: web.Request) -> Any:
        from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
        from anthropic.types.messages.batch_create_params import BatchCreateParams

        body = json.loads(await request.read())
        assert set(body) == {"requests"}
        assert set(body) <= set(BatchCreateParams.__annotations__)
        if self.refuses_create:
            raise self.refuses_create.pop(0)
        if await self.pause("create", request):
            return {}
        for one in body["requests"]:
            assert set(one) == {"custom_id", "params"}
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one["custom_id"])
            assert "stream" not in one["params"]
            adapter(MessageCreateParamsNonStreaming, one["params"])
        self.keys += [one["custom_id"] for one in body["requests"]]
        assert len(set(self.keys)) == len(self.keys)
        self.sent += [one["params"]["messages"][-1]["content"] for one in body["requests"]]
        name = f"msgbatch_{len(self.batches) + 1:03d}"
        self.batches[name] = {"lines": body["requests"], "looks": 0, "made": datetime.now(UTC), "ended": False}
        if await self.pause("created", request):
            return {}
        return self.shown(name)

    def shown(self, name: str) -> Any:
        from anthropic.types.messages import MessageBatch

        batch = self.batches[name]
        total, ended = len(batch["lines"]), batch["ended"]
        # As documented: everything counts as processing until the whole batch has ended.
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        counts["succeeded" if ended else "processing"] = total
        made = {
            "id": name,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts,
            "created_at": batch["made"].isoformat().replace("+00:00", "Z"),
            "expires_at": batch["made"].isoformat().replace("+00:00", "Z"),
            "ended_at": batch["made"].isoformat().replace("+00:00", "Z") if ended else None,
            "results_url": f"https://api.anthropic.com/v1/messages/batches/{name}/results" if ended else None,
        }
        MessageBatch.model_validate(made)
        return made

    def listed(self, request: web.Request) -> Any:
        limit = int(request.query.get("limit", 20))
        names = list(reversed(self.batches))
        if after := request.query.get("after_id"):
            names = names[names.index(after) + 1 :]
        for name in names:  # time goes by
            self.batches[name]["ended"] = self.ended(self.batches[name]) or self.batches[name]["ended"]
        page = [self.shown(name) for name in names[:limit]]
        ids = [one["id"] for one in page]
        return {
            "data": page,
            "has_more": len(names) > limit,
            "first_id": ids[0] if ids else None,
            "last_id": ids[-1] if ids else None,
        }

    async def look(self, name: str) -> Any:
        batch = self.batches[name]
        batch["ended"] = self.ended(batch) or batch["ended"]
        return self.shown(name)

    async def results(self, name: str, request: web.Request) -> Any:
        from anthropic.types.messages import MessageBatchIndividualResponse

        if await self.pause("results", request):
            return {}
        found: Results = []
        for line in self.batches[name]["lines"]:
            status, body = self.answer(line["params"])
            result = {"type": "succeeded", "message": body} if status == 200 else {"type": "errored", "error": body}
            found.append({"custom_id": line["custom_id"], "result": result})
        found = self.mischief(found, int(name[-3:]))
        for one in found:
            MessageBatchIndividualResponse.model_validate(one)
        return b"".join(json.dumps(one).encode() + b"\n" for one in found)

    def one(self, body: dict[str, Any]) -> Any:
        headers = {"x-api-key": KEY, "anthropic-version": "2023-06-01"}
        return claude(self, SimpleNamespace(headers=headers, path="/anthropic/v1/messages"), body)

    @staticmethod
    def expired(line: dict[str, Any]) -> dict[str, Any]:
        return {**line, "result": {"type": "expired"}}

    @staticmethod
    def errored(line: dict[str, Any]) -> dict[str, Any]:
        return {**line, "result": {"type": "errored", "error": anthropic_error("Overloaded", "overloaded_error")}}

    @staticmethod
    def filtered(line: dict[str, Any]) -> dict[str, Any]:
        message = {**line["result"]["message"], "content": [], "stop_reason": "refusal"}
        message["stop_details"] = {"type": "refusal", "category": "cyber", "explanation": None}
        return {**line, "result": {"type": "succeeded", "message": message}}
