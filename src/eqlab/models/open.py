"""From models' specs to something that can be asked: in process, over HTTP, or through litellm.

Whatever litellm reaches (Bedrock, Vertex, Cohere, watsonx …) is asked through it in this process: `litellm/NAME`. It
takes and gives what OpenAI's chat completions do, so that wire format reads it; only the way there differs."""

import json
import os
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from eqlab.core.errors import ModelError
from eqlab.core.runs import ModelConfig
from eqlab.models.chat import Chat
from eqlab.models.timeouts import Timeouts
from eqlab.models.wire.contract import Endpoint, Hopeless, Incoming, Outgoing, TryAgain

if TYPE_CHECKING:
    from eqlab.models.transport import Transport

_BELOW = (ArithmeticError, AttributeError, ImportError, LookupError, OSError, RuntimeError, TypeError, ValueError)
"""litellm's own exceptions are OpenAI's; the libraries below it raise whatever they raise."""


def is_local(model: ModelConfig) -> bool:
    return not model.base_url and (model.spec == "embedded" or model.spec.startswith("gguf:"))


def open_chats(
    models: Iterable[ModelConfig], *, concurrency: int, timeouts: Timeouts, say: Callable[[str], None]
) -> dict[str, Chat]:
    """A chat for each model by its subject. Raises UsageError or ModelError before anything is asked."""
    from eqlab.models.chat import sort_settings
    from eqlab.models.providers import locate
    from eqlab.models.transport import Transport

    models = list(models)
    addresses: dict[str, str] = {}
    for model in models:
        sort_settings(model.settings)
        if not is_local(model):
            addresses[model.subject] = model.spec if _in_litellm(model) else locate(model.spec, model.base_url).base_url
    transports = {
        address: Transport.with_timeouts(concurrency, timeouts) for address in dict.fromkeys(addresses.values())
    }
    return {
        model.subject: open_chat(model, transports.get(addresses.get(model.subject, "")), say=say) for model in models
    }


def open_chat(
    model: ModelConfig,
    transport: "Transport | None",
    *,
    key_variable: str = "",
    say: Callable[[str], None] = lambda _: None,
) -> Chat:
    """One model; at an address that may be shared, or in process without one."""
    if transport is None:
        from eqlab.models.local import open_local

        return open_local(model.spec, say)
    from eqlab.models.http import HttpChat
    from eqlab.models.providers import LITELLM, resolve

    if _in_litellm(model):
        return HttpChat(
            litellm_endpoint(model.spec.removeprefix(f"{LITELLM}/")),
            transport,
            say,
            LitellmPost(transport.timeouts.silence),
        )
    dialect = str(model.settings.get("dialect") or "")
    return HttpChat(resolve(model.spec, model.base_url, key_variable, dialect), transport, say)


def _in_litellm(model: ModelConfig) -> bool:
    return not model.base_url and model.spec.startswith("litellm/")


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
            return TryAgain(f"no reply within {self._timeout:g} s", overload=True, timed_out=True, billed=True)
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
        return TryAgain(text[:300], overload=True, timed_out=True, billed=True)
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
