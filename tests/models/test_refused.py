"""The memory of refused parameters, and the redaction of keys."""

from __future__ import annotations

import json
import logging
from datetime import date
from pathlib import Path

import pytest

from reflect_lab.models.refused import RefusedParams, cache_folder
from reflect_lab.models.secret import Secret, redact

MAY = date(2026, 5, 1)


def memory(file: Path | None, today: date = MAY) -> RefusedParams:
    return RefusedParams(file, today=lambda: today)


def test_what_was_refused_is_read_back_per_server_and_model(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "refused.json"
    memory(file).remember("http://a/v1", "m", frozenset({"seed"}))
    memory(file).remember("http://a/v1", "m", frozenset({"temperature"}))
    later = memory(file)
    assert later.of("http://a/v1", "m") == {"seed", "temperature"}
    assert later.of("http://a/v1", "n") == later.of("http://b/v1", "m") == frozenset()
    assert [p.name for p in file.parent.iterdir()] == ["refused.json"]  # no half-written file is left


def test_it_is_forgotten_after_thirty_days(tmp_path: Path) -> None:
    file = tmp_path / "refused.json"
    memory(file).remember("s", "m", frozenset({"seed"}))
    assert memory(file, date(2026, 5, 31)).of("s", "m") == {"seed"}
    assert memory(file, date(2026, 6, 1)).of("s", "m") == frozenset()


def test_what_is_not_lasting_stays_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "refused.json"
    known = memory(file)
    known.remember("s", "m", frozenset({"seed"}), is_lasting=False)
    assert known.of("s", "m") == {"seed"}
    assert not file.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"refused": [[1]]}', '{"refused": 3}'])
def test_a_file_that_cannot_be_read_is_logged_and_replaced(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "refused.json"
    file.write_text(text)
    known = memory(file)
    assert "refused.json" in caplog.text
    known.remember("s", "m", frozenset({"seed"}))
    assert json.loads(file.read_text())["refused"] == [["s", "m", "seed", "2026-05-01"]]


def test_a_folder_that_cannot_be_written_is_logged_and_the_memory_holds(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    known = memory(tmp_path / "file" / "refused.json")
    with caplog.at_level(logging.WARNING):
        known.remember("s", "m", frozenset({"seed"}))
    assert "can't write" in caplog.text
    assert known.of("s", "m") == {"seed"}


def test_the_cache_folder_follows_xdg() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "/c", "HOME": "/h"}) == Path("/c/reflect-lab")
    assert cache_folder({"HOME": "/h"}) == Path("/h/.cache/reflect-lab")


def test_known_keys_are_taken_out_of_a_text() -> None:
    keys = (Secret("sk-aaaa1111", "A_KEY"), Secret("tok-bbbb2222", "B_KEY"))
    assert redact("sk-aaaa1111 and tok-bbbb2222, sk-aaaa1111", keys) == (
        "[redacted:A_KEY] and [redacted:B_KEY], [redacted:A_KEY]"
    )


def test_placeholders_tear_no_words_apart() -> None:
    assert redact("none of it", (Secret("none"), Secret(""))) == "none of it"


def test_a_secret_shows_its_name_only() -> None:
    secret = Secret("sk-aaaa1111", "A_KEY")
    assert f"{secret} {secret!r} {[secret]}" == "[redacted:A_KEY] [redacted:A_KEY] [[redacted:A_KEY]]"
