"""Gemini's batches on loopback."""

import json
import re
from types import SimpleNamespace
from typing import Any

from aiohttp import web
from batch_house import KEY, House, Results, streamed
from strict_google import gemini
from strict_servers import Refused


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
            return streamed(gemini(self, request, json.loads(await request.read())))
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
