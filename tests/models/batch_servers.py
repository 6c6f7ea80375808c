"""Batches on loopback, as strict as the providers' documentation: every body is held against the types of the
providers' own libraries, and so is every answer that these servers give. Each keeps a ledger of what it was asked.

`hold` names a moment at which the server falls silent until it is let go: the moment to kill a client."""

import asyncio
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from aiohttp import web
from strict_servers import Refused, anthropic_error, claude, gemini, gpt5, openai_error

KEY = "sk-strict-0123456789"
Results = list[dict[str, Any]]


class House:
    """One provider with its batches."""

    prefix = ""

    def __init__(self) -> None:
        self.batches: dict[str, dict[str, Any]] = {}
        self.files: dict[str, bytes] = {}
        self.sent: list[str] = []
        """Every request that a batch was made of, by its prompt."""
        self.keys: list[str] = []
        self.direct = 0
        self.looks = 0
        self.looks_needed = 2
        """How often a batch is looked at until it has ended."""
        self.hold = ""
        self.held = threading.Event()
        self.let_go = threading.Event()
        self.mischief: Callable[[Results, int], Results] = lambda results, number: results
        """What the results of the n-th batch really are."""
        self.ends = "completed"
        self.refuses_create: list[Refused] = []
        self.port = 0
        self.prompts: list[str] = []
        self.flagged_every = 10**9

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.prefix}"

    def flagged(self, prompt: str, every: int) -> bool:
        if prompt not in self.prompts:
            self.prompts.append(prompt)
        return self.prompts.index(prompt) % self.flagged_every == self.flagged_every - 1

    async def pause(self, moment: str, request: web.Request) -> bool:
        """Whether the client died here."""
        if self.hold != moment:
            return False
        self.hold = ""
        self.held.set()
        while not self.let_go.is_set():
            await asyncio.sleep(0.01)
            if request.transport is None or request.transport.is_closing():
                return True
        return False

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            self.check_key(request)
            said = await self.route(request)
        except Refused as refused:
            return web.json_response(refused.body, status=refused.status, headers=refused.headers)
        if isinstance(said, bytes):
            return web.Response(body=said, content_type="application/octet-stream")
        return said if isinstance(said, web.StreamResponse) else web.json_response(said)

    def check_key(self, request: web.Request) -> None:
        raise NotImplementedError

    async def route(self, request: web.Request) -> Any:
        raise NotImplementedError

    def answer(self, body: dict[str, Any]) -> tuple[int, Any]:
        """What the model says to one request of a batch."""
        try:
            return 200, self.one(body)
        except Refused as refused:
            return refused.status, refused.body

    def one(self, body: dict[str, Any]) -> Any:
        raise NotImplementedError

    def ended(self, batch: dict[str, Any]) -> bool:
        batch["looks"] += 1
        self.looks += 1
        return batch["looks"] >= self.looks_needed


def adapter(kind: Any, body: Any) -> None:
    import pydantic

    pydantic.TypeAdapter(kind).validate_python(body)


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
            return _streamed(gpt5(self, request, json.loads(await request.read())))
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
            return _streamed(claude(self, request, json.loads(await request.read())))
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


class Gemini(House):
    prefix = "/v1beta"
    model = "google/gemini-3-pro"
    inlined = False
    """Whether results come back in the body, as they do from small batches now and then."""

    def check_key(self, request: web.Request) -> None:
        if request.headers.get("x-goog-api-key") != KEY:
            raise Refused(400, {"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}})

    async def route(self, request: web.Request) -> Any:
        if request.path == "/upload/v1beta/files":
            return await self.upload(request)
        path = request.path.removeprefix("/v1beta")
        if request.method == "POST" and re.fullmatch(r"/models/[\w.-]+:(streamG|g)enerateContent", path):
            self.direct += 1
            return _streamed(gemini(self, request, json.loads(await request.read())))
        if request.method == "POST" and re.fullmatch(r"/models/[\w.-]+:batchGenerateContent", path):
            return await self.create(request)
        if request.method == "GET" and path == "/batches":
            return self.listed(request)
        if request.method == "GET" and (found := re.fullmatch(r"/(batches/\w+)", path)):
            return self.look(found.group(1))
        if request.method == "GET" and (found := re.fullmatch(r"/(files/[\w-]+):download", path)):
            assert request.query["alt"] == "media"
            if await self.pause("results", request):
                return {}
            return self.files[found.group(1)]
        raise Refused(404, {"error": {"code": 404, "message": "Not found", "status": "NOT_FOUND"}})

    async def upload(self, request: web.Request) -> Any:
        headers = request.headers
        if headers.get("X-Goog-Upload-Command") == "start":
            assert headers["X-Goog-Upload-Protocol"] == "resumable"
            assert int(headers["X-Goog-Upload-Header-Content-Length"]) > 0
            assert set(json.loads(await request.read())["file"]) == {"displayName"}
            where = f"http://127.0.0.1:{self.port}{request.path}?upload_id=u{len(self.files)}"
            return web.json_response({}, headers={"X-Goog-Upload-URL": where, "X-Goog-Upload-Status": "active"})
        assert headers["X-Goog-Upload-Command"] == "upload, finalize"
        assert headers["X-Goog-Upload-Offset"] == "0"
        name = f"files/in-{len(self.files) + 1}"
        self.files[name] = await request.read()
        return {"file": {"name": name, "sizeBytes": str(len(self.files[name])), "state": "ACTIVE"}}

    async def create(self, request: web.Request) -> Any:
        from google.genai import types

        body = json.loads(await request.read())
        assert set(body) == {"batch"}
        assert set(body["batch"]) == {"displayName", "inputConfig"}
        assert set(body["batch"]["inputConfig"]) == {"fileName"}
        if self.refuses_create:
            raise self.refuses_create.pop(0)
        if await self.pause("create", request):
            return {}
        content = self.files[body["batch"]["inputConfig"]["fileName"]]
        lines = [json.loads(line) for line in content.split(b"\n") if line]
        for line in lines:
            assert set(line) == {"key", "request"}
            assert set(line["request"]) <= {"contents", "systemInstruction", "generationConfig"}
            types.GenerationConfig.model_validate(line["request"]["generationConfig"])
            for one in line["request"]["contents"]:
                types.Content.model_validate(one)
        self.keys += [line["key"] for line in lines]
        assert len(set(self.keys)) == len(self.keys)
        self.sent += [line["request"]["contents"][-1]["parts"][0]["text"] for line in lines]
        name = f"batches/b{len(self.batches) + 1:03d}"
        self.batches[name] = {"body": body["batch"], "lines": lines, "looks": 0, "path": request.path}
        if await self.pause("created", request):
            return {}
        return self.shown(name, "PENDING")

    def shown(self, name: str, state: str) -> Any:
        from google.genai.batches import _BatchJob_from_mldev
        from google.genai.types import BatchJob

        batch = self.batches[name]
        total = len(batch["lines"])
        kind = "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch"
        about = {
            "@type": kind,
            "model": "models/gemini-3-pro",
            "displayName": batch["body"]["displayName"],
            "state": f"BATCH_STATE_{state}",
            "createTime": "2026-11-15T10:00:00.000000Z",
            "batchStats": {"requestCount": str(total), "pendingRequestCount": str(total)},
            "name": name,
        }
        made = {"name": name, "metadata": about}
        if state == "SUCCEEDED":
            about["batchStats"] = {"requestCount": str(total), "successfulRequestCount": str(total)}
            made |= {"done": True, "response": {"@type": kind, **batch["output"]}}
            about["output"] = batch["output"]
        elif state in ("EXPIRED", "FAILED"):
            made |= {"done": True, "error": {"code": 4, "message": f"the batch {state.lower()}"}}
        BatchJob.model_validate(_BatchJob_from_mldev(made))
        return made

    def listed(self, request: web.Request) -> Any:
        size, at = int(request.query["pageSize"]), int(request.query.get("pageToken", 0))
        names = list(reversed(self.batches))
        page = [self.shown(name, "RUNNING") for name in names[at : at + size]]
        return {"operations": page} | ({"nextPageToken": str(at + size)} if len(names) > at + size else {})

    def look(self, name: str) -> Any:
        if name not in self.batches:
            raise Refused(404, {"error": {"code": 404, "message": "Batch not found", "status": "NOT_FOUND"}})
        batch = self.batches[name]
        if not self.ended(batch):
            return self.shown(name, "RUNNING")
        if self.ends == "expired":
            return self.shown(name, "EXPIRED")
        if "output" not in batch:
            results: Results = []
            for line in batch["lines"]:
                status, body = self.answer(line["request"])
                results.append(
                    {"key": line["key"], **({"response": body} if status == 200 else {"error": body["error"]})}
                )
            results = self.mischief(results, int(name[-3:]))
            if self.inlined:
                responses = [
                    {**{k: v for k, v in one.items() if k != "key"}, "metadata": {"key": one["key"]}} for one in results
                ]
                batch["output"] = {"inlinedResponses": {"inlinedResponses": responses}}
            else:
                self.files[f"files/out-{name[-3:]}"] = b"".join(json.dumps(one).encode() + b"\n" for one in results)
                batch["output"] = {"responsesFile": f"files/out-{name[-3:]}"}
        return self.shown(name, "SUCCEEDED")

    def one(self, body: dict[str, Any]) -> Any:
        path = "/v1beta/models/gemini-3-pro:generateContent"
        return gemini(self, SimpleNamespace(headers={"x-goog-api-key": KEY}, path=path, path_qs=path), body)

    @staticmethod
    def expired(line: dict[str, Any]) -> dict[str, Any]:
        return {"key": line["key"], "error": {"code": 4, "message": "Deadline exceeded"}}

    @staticmethod
    def errored(line: dict[str, Any]) -> dict[str, Any]:
        return {"key": line["key"], "error": {"code": 13, "message": "Internal error"}}

    @staticmethod
    def filtered(line: dict[str, Any]) -> dict[str, Any]:
        return {"key": line["key"], "response": {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}}


HOUSES = {"openai": OpenAi, "anthropic": Anthropic, "gemini": Gemini}


def _streamed(said: Any) -> Any:
    """A direct reply, streamed where that was asked for."""
    if not isinstance(said, list):
        return said
    text = ""
    for event in said:
        kind = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
        text += f"{kind}data: {event if isinstance(event, str) else json.dumps(event)}\n\n"
    return web.Response(text=text, content_type="text/event-stream")


@contextmanager
def housed(kind: str) -> Iterator[Any]:
    house = HOUSES[kind]()
    loop = asyncio.new_event_loop()
    started = threading.Event()

    async def start() -> web.AppRunner:
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", house.handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        house.port = runner.addresses[0][1]
        return runner

    def work() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(start())
        started.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    started.wait(10)
    try:
        yield house
    finally:
        house.let_go.set()
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
