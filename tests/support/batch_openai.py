"""OpenAI's batches on loopback."""

import json
import re
import time
from types import SimpleNamespace
from typing import Any

from aiohttp import web
from batch_house import KEY, House, Results, adapter, streamed
from strict_openai import gpt5, openai_error
from strict_servers import Refused


class OpenAi(House):
    prefix = "/v1"
    model = "openai/gpt-5"

    def check_key(self, request: web.Request) -> None:
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            raise Refused(401, openai_error("Incorrect API key provided.", None, "invalid_api_key"))

    async def route(self, request: web.Request) -> Any:
        path = request.path.removeprefix("/v1")
        if request.method == "POST" and path == "/chat/completions":
            self.direct += 1
            return streamed(gpt5(self, request, json.loads(await request.read())))
        if request.method == "POST" and path == "/files":
            return await self.upload(request)
        if request.method == "POST" and path == "/batches":
            return await self.create(request)
        if request.method == "GET" and path == "/batches":
            return self.listed(request)
        if request.method == "GET" and (found := re.fullmatch(r"/batches/(\w+)", path)):
            return await self.look(found.group(1))
        if request.method == "GET" and (found := re.fullmatch(r"/files/([\w-]+)/content", path)):
            if await self.pause("results", request):
                return {}
            return self.files[found.group(1)]
        raise Refused(404, openai_error(f"Invalid URL ({request.method} {request.path})", None, None))

    async def upload(self, request: web.Request) -> Any:
        from openai.types import FileObject

        form = await request.post()
        assert form["purpose"] == "batch", "the purpose is wrong"
        assert set(form) <= {"purpose", "file", "expires_after[anchor]", "expires_after[seconds]"}
        assert 3600 <= int(form["expires_after[seconds]"]) <= 2592000
        content = form["file"].file.read()
        name = f"file-{len(self.files) + 1}"
        self.files[name] = content
        made = {"id": name, "object": "file", "bytes": len(content), "created_at": int(time.time())}
        made |= {"filename": form["file"].filename, "purpose": "batch", "status": "processed"}
        FileObject.model_validate(made)
        return made

    async def create(self, request: web.Request) -> Any:
        from openai.types.batch_create_params import BatchCreateParams
        from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming

        body = json.loads(await request.read())
        adapter(BatchCreateParams, body)
        assert set(body) <= set(BatchCreateParams.__annotations__)
        assert all(len(key) <= 64 and len(value) <= 512 for key, value in body["metadata"].items())
        if self.refuses_create:
            raise self.refuses_create.pop(0)
        if await self.pause("create", request):
            return {}
        lines = [json.loads(line) for line in self.files[body["input_file_id"]].split(b"\n") if line]
        for line in lines:
            assert set(line) == {"custom_id", "method", "url", "body"}
            assert line["method"] == "POST"
            assert line["url"] == body["endpoint"] == "/v1/chat/completions"
            assert "stream" not in line["body"]
            adapter(CompletionCreateParamsNonStreaming, line["body"])
        assert len({line["custom_id"] for line in lines}) == len(lines)
        self.keys += [line["custom_id"] for line in lines]
        self.sent += [line["body"]["messages"][-1]["content"] for line in lines]
        name = f"batch_{len(self.batches) + 1:03d}"
        self.batches[name] = {"body": body, "lines": lines, "looks": 0, "made": int(time.time()), "files": {}}
        if await self.pause("created", request):
            return {}
        return self.shown(name, "validating")

    def shown(self, name: str, status: str) -> Any:
        from openai.types import Batch

        batch = self.batches[name]
        total = len(batch["lines"])
        done = total if status in ("completed", "expired") else batch["looks"] if status == "in_progress" else 0
        made = {
            "id": name,
            "object": "batch",
            "endpoint": batch["body"]["endpoint"],
            "input_file_id": batch["body"]["input_file_id"],
            "completion_window": "24h",
            "status": status,
            "created_at": batch["made"],
            "metadata": batch["body"]["metadata"],
            "request_counts": {"total": total, "completed": min(done, total), "failed": 0},
            "errors": batch.get("errors"),
            **batch["files"],
        }
        Batch.model_validate(made)
        return made

    def listed(self, request: web.Request) -> Any:
        limit = int(request.query.get("limit", 20))
        names = list(reversed(self.batches))
        if after := request.query.get("after"):
            names = names[names.index(after) + 1 :]
        page = [self.shown(name, self.batches[name].get("status", "in_progress")) for name in names[:limit]]
        ids = [one["id"] for one in page]
        return {
            "object": "list",
            "data": page,
            "first_id": ids[0] if ids else None,
            "last_id": ids[-1] if ids else None,
            "has_more": len(names) > limit,
        }

    async def look(self, name: str) -> Any:
        if name not in self.batches:
            raise Refused(404, openai_error(f"No batch found with id '{name}'.", None, None))
        batch = self.batches[name]
        if batch.get("errors"):
            return self.shown(name, "failed")
        if not self.ended(batch):
            if self.hold == "look":
                self.held.set()
            return self.shown(name, "in_progress")
        if not batch["files"]:
            self.finish(name, batch)
        batch["status"] = self.ends
        return self.shown(name, self.ends)

    def finish(self, name: str, batch: dict[str, Any]) -> None:
        results: Results = []
        for number, line in enumerate(batch["lines"]):
            status, body = self.answer(line["body"])
            response = {"status_code": status, "request_id": f"req_{number}", "body": body}
            results.append({"id": f"batch_req_{number}", "custom_id": line["custom_id"], "response": response})
            results[-1]["error"] = None
        results = self.mischief(results, int(name[-3:]))
        good = [one for one in results if one["response"] and one["response"]["status_code"] == 200]
        bad = [one for one in results if one not in good]
        for field, some in (("output_file_id", good), ("error_file_id", bad)):
            if some:
                file = f"file-{name}-{field}"
                self.files[file] = b"".join(json.dumps(one).encode() + b"\n" for one in some)
                batch["files"][field] = file

    def one(self, body: dict[str, Any]) -> Any:
        request = SimpleNamespace(headers={"Authorization": f"Bearer {KEY}"}, path="/v1/chat/completions")
        return gpt5(self, request, body)

    @staticmethod
    def expired(line: dict[str, Any]) -> dict[str, Any]:
        message = "This request could not be executed before the completion window expired."
        return {**line, "response": None, "error": {"code": "batch_expired", "message": message}}

    @staticmethod
    def errored(line: dict[str, Any]) -> dict[str, Any]:
        body = openai_error("The server had an error.", None, None, "server_error")
        return {**line, "response": {"status_code": 500, "request_id": "r", "body": body}}

    @staticmethod
    def filtered(line: dict[str, Any]) -> dict[str, Any]:
        body = openai_error(
            "This content was flagged as violating our usage policies.", None, "content_policy_violation"
        )
        return {**line, "response": {"status_code": 400, "request_id": "r", "body": body}}
