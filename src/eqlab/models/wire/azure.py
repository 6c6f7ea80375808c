"""Azure OpenAI: chat completions at a deployment, with a key in a header of its own and the API's version in the query.
An address that ends in /openai/v1 is Azure's newer one, with the model in the body."""

from eqlab.models.chat import ChatRequest
from eqlab.models.fit import Fit
from eqlab.models.wire.contract import Endpoint, Incoming, Outgoing, Verdict
from eqlab.models.wire.openai_chat import chat_request, read_chat

API_VERSION = "2024-10-21"
"""The newest that is generally available at deployments; OPENAI_API_VERSION names another."""


class AzureOpenAi:
    name = "azure"
    thinks = False

    def build(self, endpoint: Endpoint, request: ChatRequest, fit: Fit) -> Outgoing:
        headers = {"Content-Type": "application/json", **endpoint.headers}
        version = headers.pop("api-version", API_VERSION)
        if endpoint.key and "Authorization" not in headers:
            headers["api-key"] = endpoint.key
        path = "/chat/completions"
        if not endpoint.base_url.endswith("/v1"):
            path = f"/deployments/{endpoint.model}/chat/completions?api-version={version}"
        return chat_request(self.name, path, headers, endpoint, request, fit)

    def read(self, outgoing: Outgoing, incoming: Incoming) -> Verdict:
        return read_chat(outgoing, incoming)
