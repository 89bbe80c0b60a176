"""What came over the wire: a Chat Completions body, plain or as server-sent events, read strictly into an answer.

Read from the raw bytes rather than through the SDK's models: those hand on HTML as text, take a cut stream as an end
and can't say how much was read.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field

from reflect_lab.core.chat import ChatReply
from reflect_lab.core.run import Notice
from reflect_lab.models.retry import AttemptFailed, Fault, Progress
from reflect_lab.models.tokens import read_usage

MAX_ANSWER_BYTES = 4_000_000
MAX_RAW_BYTES = 32_000_000
"""Of one plain body or one line of a stream: JSON escapes can make an answer several times longer."""
STREAM_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")
CONTENT_FILTERED = "The provider's content filter stopped the answer."


def bad_body(message: str) -> AttemptFailed:
    """An answer that is no completion: tried once more, then `bad_response`. What it cost is not known."""
    return AttemptFailed(Fault(kind="bad_response", message=message, again="bad_body"))


def lost_connection(message: str) -> AttemptFailed:
    """A stream that broke off; the provider may have charged for it."""
    return AttemptFailed(Fault(kind="provider_error", message=message, again="fault"))


@dataclass
class Answer:
    """The answer as read so far. `progress` gets what the ledger wants to know even if nothing follows."""

    progress: Progress
    on_text: Callable[[str], None]
    has_choice: bool = False
    is_done: bool = False
    """A stream said `[DONE]`."""
    is_over_cap: bool = False
    size: int = 0
    reasoning: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)

    def take(self, body: Mapping[str, object], part: str) -> None:
        """Read one object: a whole completion (`part` is `message`) or one chunk of a stream (`delta`)."""
        if isinstance(model := body.get("model"), str) and model:
            self.progress.answered = model
        if isinstance(usage := body.get("usage"), Mapping):
            read_usage(usage, self.progress)
        choices = body.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
            return
        choice = choices[0]
        message = choice.get(part)
        if isinstance(message, Mapping):
            self.has_choice = True
            self._take_message(message)
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self.has_choice = True
            self.progress.finish_reason = reason

    def _take_message(self, message: Mapping[str, object]) -> None:
        reasoning = message.get("reasoning_content")
        if reasoning is None:
            reasoning = message.get("reasoning")
        if kept := self._capped(_text(reasoning)):
            self.reasoning.append(kept)
        if kept := self._capped(_text(message.get("refusal"))):
            self.refusal.append(kept)
        if kept := self._capped(_text(message.get("content"))):
            self.progress.text.append(kept)
            self.on_text(kept)

    def _capped(self, text: str) -> str:
        data = text.encode("utf-8", "surrogatepass")
        room = MAX_ANSWER_BYTES - self.size
        if len(data) > room:
            self.is_over_cap = True
            # A character that the cap cuts in two is left out.
            text = data[:room].decode("utf-8", "ignore")
        self.size += min(len(data), room)
        return text

    def reply(self, *, is_stream: bool) -> ChatReply:
        """The whole answer. Raises AttemptFailed where there was none."""
        if not self.has_choice:
            raise bad_body("the server's answer holds no choice")
        finish = self.progress.finish_reason
        notices: tuple[Notice, ...] = ()
        is_cut = self.is_over_cap or (finish is None and is_stream)
        if is_cut:
            self.progress.is_cut = self.progress.output_tokens is None
        if finish is None and not self.is_over_cap:
            text = "the stream ended without a finish reason: the answer may be cut"
            text = text if is_stream else "the server gave no finish reason; its answer is taken as whole"
            notices = (Notice(kind="no_finish_reason", message=text),)
        refusal = "".join(self.refusal) or (CONTENT_FILTERED if finish == "content_filter" else None)
        return ChatReply(
            text="".join(self.progress.text),
            finish_reason=finish,
            reasoning="".join(self.reasoning) or None,
            refusal=refusal,
            answered=self.progress.answered,
            truncated=is_cut or finish == "length",
            notices=notices,
        )


def _text(value: object) -> str:
    """The text of a content field: a string, or the list of typed parts that some servers send."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, Mapping))
    return ""


async def read_answer(chunks: AsyncIterator[bytes], answer: Answer) -> ChatReply:
    """Read a body to its end, or to the cap. What it is, is told by how it begins, not by what its header claims.

    `chunks` raises AttemptFailed where the connection is lost. Raises AttemptFailed for a body that is no completion.
    """
    head = b""
    async for chunk in chunks:
        head += chunk
        if len(head.lstrip()) >= max(map(len, STREAM_STARTS)):
            break
    if head.lstrip().startswith(STREAM_STARTS):
        await _read_stream(head, chunks, answer)
        return answer.reply(is_stream=True)
    await _read_plain(head, chunks, answer)
    return answer.reply(is_stream=False)


async def _read_plain(head: bytes, chunks: AsyncIterator[bytes], answer: Answer) -> None:
    data = bytearray(head)
    async for chunk in chunks:
        data += chunk
        if len(data) > MAX_RAW_BYTES:
            raise bad_body(f"the server's answer is over {MAX_RAW_BYTES:,} bytes")
    if not data.strip():
        raise bad_body("the server's answer is empty")
    body = _object(bytes(data))
    if error := error_message(body):
        raise bad_body(f"the server answered 200 with an error: {error}")
    answer.take(body, "message")


async def _read_stream(head: bytes, chunks: AsyncIterator[bytes], answer: Answer) -> None:
    async for data in _events(head, chunks):
        if data.strip() == b"[DONE]":
            answer.is_done = True
            return
        body = _object(data)
        if error := error_message(body):
            raise lost_connection(f"the server reported an error within its stream: {error}")
        answer.take(body, "delta")
        if answer.is_over_cap:
            return


async def _events(head: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data of each server-sent event; comments and other fields are passed over."""
    data: list[bytes] = []
    async for line in _lines(head, chunks):
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            yield b"\n".join(data)
            data = []
    if data:
        yield b"\n".join(data)


async def _lines(head: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    *whole, rest = head.split(b"\n")
    for line in whole:
        yield line.removesuffix(b"\r")
    open_line = bytearray(rest)
    async for chunk in chunks:
        open_line += chunk
        if b"\n" in chunk:
            *whole, rest = bytes(open_line).split(b"\n")
            for line in whole:
                yield line.removesuffix(b"\r")
            open_line = bytearray(rest)
        elif len(open_line) > MAX_RAW_BYTES:
            raise bad_body(f"a line of the server's stream is over {MAX_RAW_BYTES:,} bytes")
    if open_line:
        yield bytes(open_line).removesuffix(b"\r")


def _object(data: bytes) -> Mapping[str, object]:
    """The JSON object that `data` holds. Raises AttemptFailed when it holds none."""
    try:
        body = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise bad_body("the server's answer is not UTF-8") from None
    except (ValueError, RecursionError):  # not JSON, or a number of more digits than Python reads
        raise bad_body(f"the server's answer is not JSON; it begins with {_beginning(data)}") from None
    if not isinstance(body, Mapping):
        raise bad_body(f"the server's answer is no JSON object; it begins with {_beginning(data)}")
    return body


def _beginning(data: bytes) -> str:
    return repr(data[:60].decode("utf-8", "replace"))


def error_message(body: object) -> str | None:
    """The words of an error body in any of the common shapes (`error`, `detail`, `message`), else None."""
    if not isinstance(body, Mapping):
        return None
    for key in ("error", "detail"):
        value = body.get(key)
        if isinstance(value, Mapping):
            return str(value.get("message") or value)
        if value:
            return str(value)
    return None
