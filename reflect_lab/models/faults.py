"""What a failed HTTP exchange means: the SDK's and its transport's exceptions as `Fault`s (DESIGN 6.1).

The transport library differs between generations of the SDK and is never imported: its exceptions are known by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from reflect_lab.models.retry import Fault, is_retried_status, parse_retry_after
from reflect_lab.models.wire import error_message

if TYPE_CHECKING:
    from openai import APIError, APIStatusError

NEVER_CONNECTED = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError", "UnsupportedProtocol"})
_WORDS = {
    401: "refused the key",
    403: "forbids this",
    404: "does not know the model or the path",
    429: "asks to slow down",
}
_LONGEST_MESSAGE = 300


def status_fault(error: APIStatusError, server: str, model: str) -> Fault:
    """An HTTP error status; parameters and context overflow were looked for before."""
    status = error.status_code
    said = say(error)
    what = _WORDS.get(status, "failed" if status >= 500 else "refused the request")
    message = f"{server} {what} (HTTP {status}, model {model})" + (f": {said}" if said else "")
    if 300 <= status < 400:
        return Fault(kind="provider_refused", message=_redirected(error, server), is_free=True)
    if is_retried_status(status) and not _is_out_of_quota(error):
        return Fault(
            kind="rate_limited" if status == 429 else "provider_error",
            message=message,
            again="fault",
            retry_after=_retry_after(error),
            is_free=True,
        )
    return Fault(kind="provider_refused", message=message, is_free=True)


def connection_fault(error: BaseException, server: str) -> Fault:
    """A connection that was never made, or broke before or within the answer."""
    cause = error.__cause__ or error
    name = type(cause).__name__
    is_free = name in NEVER_CONNECTED
    if "Timeout" in name and not is_free:
        return Fault(kind="timeout", message=f"{server} did not answer in time ({name})", again="fault")
    what = "can't be reached" if is_free else "broke off the connection"
    detail = " ".join(str(cause).split())[:_LONGEST_MESSAGE]
    message = f"{server} {what} ({name}{': ' + detail if detail else ''})"
    return Fault(kind="provider_error", message=message, again="fault", is_free=is_free)


def say(error: APIError) -> str:
    """What the server said, in one line of at most 300 characters."""
    body = error.body
    words = body.get("message") if isinstance(body, Mapping) else None
    if not words:
        words = error_message(body) if isinstance(body, Mapping) else body
    return " ".join(str(words or "").split())[:_LONGEST_MESSAGE]


def _is_out_of_quota(error: APIStatusError) -> bool:
    body = error.body if isinstance(error.body, Mapping) else {}
    return "insufficient_quota" in (body.get("code"), body.get("type"))


def _retry_after(error: APIStatusError) -> float | None:
    headers = error.response.headers
    return parse_retry_after(headers.get("retry-after"), headers.get("retry-after-ms"), datetime.now(UTC))


def _redirected(error: APIStatusError, server: str) -> str:
    target = str(error.response.headers.get("location", "elsewhere")).partition("?")[0][:_LONGEST_MESSAGE]
    return (
        f"{server} redirects to {target} (HTTP {error.status_code}); redirects are not followed: set the base URL to it"
    )
