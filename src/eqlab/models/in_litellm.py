"""Whatever litellm reaches (Bedrock, Vertex, Cohere, watsonx …), asked through it in this process: `litellm/NAME`.

litellm takes and gives what OpenAI's chat completions do, so that wire format reads it; only the way there differs."""

import json
import os
import time
from typing import Any

from eqlab.core.errors import ModelError
from eqlab.models.wire.contract import Endpoint, Hopeless, Incoming, Outgoing, TryAgain

_BELOW = (ArithmeticError, AttributeError, ImportError, LookupError, OSError, RuntimeError, TypeError, ValueError)
"""litellm's own exceptions are OpenAI's; the libraries below it raise whatever they raise."""


def litellm_endpoint(model: str) -> Endpoint:
    """litellm finds keys and addresses in the environment by itself."""
    return Endpoint(f"litellm://{model.partition('/')[0]}", model, provider="litellm")


class LitellmPost:
    """Sends what `openai_chat` built through litellm. Raises ModelError without the extra."""

    def __init__(self, timeout: float) -> None:
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else importing it asks the network for prices
        try:
            import litellm  # type: ignore[import-not-found, unused-ignore]
        except ModuleNotFoundError as error:
            raise ModelError("Models behind litellm need an extra.", "pip install 'eqlab[litellm]'") from error
        litellm.suppress_debug_info = True
        litellm.telemetry = False
        self._litellm: Any = litellm
        root = getattr(getattr(litellm, "exceptions", None), "APIError", RuntimeError)
        self._failures: tuple[type[Exception], ...] = (
            *(kind for kind in root.__mro__ if kind.__name__ == "OpenAIError"),
            *_BELOW,
        )
        self._timeout = timeout

    async def __call__(self, outgoing: Outgoing) -> Incoming | TryAgain | Hopeless:
        started = time.perf_counter()
        body = {name: value for name, value in outgoing.body.items() if name not in ("stream", "stream_options")}
        try:
            # Whatever litellm cannot pass on it must say: dropping it in silence would store what was never sent.
            reply = await self._litellm.acompletion(
                **body, timeout=self._timeout, num_retries=0, max_retries=0, drop_params=False
            )
        except TimeoutError:
            return TryAgain(f"no reply within {self._timeout:g} s", overload=True, timed_out=True)
        except self._failures as error:
            return _failure(error, time.perf_counter() - started)
        found = reply.model_dump() if hasattr(reply, "model_dump") else dict(reply)
        cost = (getattr(reply, "_hidden_params", None) or {}).get("response_cost")
        if cost and isinstance(found.get("usage"), dict):
            found["usage"] = {**found["usage"], "cost": cost}
        return Incoming(200, {}, json.dumps(found, default=str).encode(), time.perf_counter() - started)


def _failure(error: Exception, latency: float) -> Incoming | TryAgain | Hopeless:
    """litellm's exceptions carry the status that the provider answered with."""
    kind, status = type(error).__name__, getattr(error, "status_code", None)
    text = str(error)
    body: dict[str, Any]
    if kind in ("Timeout", "APITimeoutError"):
        return TryAgain(text[:300], overload=True, timed_out=True)
    if kind == "APIConnectionError":
        return TryAgain(text[:300], gone=True)
    if kind == "ContentPolicyViolationError":
        body = {"message": text, "code": "content_policy_violation"}
    elif kind == "UnsupportedParamsError":
        status, body = 400, {"message": text, "code": "unsupported_parameter"}
    else:
        body = {"message": text, "code": getattr(error, "code", None), "param": getattr(error, "param", None)}
    if not isinstance(status, int):
        return Hopeless(f"litellm fails ({kind}: {text[:300]})", "Check the model's name and its keys.")
    response = getattr(error, "response", None)
    headers = dict(getattr(response, "headers", None) or {})
    return Incoming(status, headers, json.dumps({"error": body}, default=str).encode(), latency)
