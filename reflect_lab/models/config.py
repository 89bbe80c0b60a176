"""The settings file: `reflect-lab.toml` of the nearest project root, then of the user's configuration folder."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from reflect_lab.core.errors import WrongUse
from reflect_lab.documents.project import SETTINGS_FILE, project_root
from reflect_lab.documents.suggest import did_you_mean, shown
from reflect_lab.models.counting import WAYS, TokenCount

TOP_KEYS = ("default_model", "endpoints", "sandbox")
SANDBOX_KEYS = ("command",)
ENDPOINT_KEYS = ("base_url", "api_key_env", "max_tokens", "timeout_s", "token_count")


@dataclass(frozen=True, kw_only=True)
class EndpointConfig:
    """One named server. `api_key_env` is the environment variable that holds its key, None for a keyless server.

    `max_tokens` are the output tokens asked for per call, `timeout_s` bounds one attempt; None: the defaults.
    `token_count` says how the server counts a prompt when asked; None: sizes are estimated.
    """

    name: str
    base_url: str
    api_key_env: str | None = None
    max_tokens: int | None = None
    timeout_s: float | None = None
    token_count: TokenCount | None = None
    file: str = ""


@dataclass(frozen=True, kw_only=True)
class ModelsConfig:
    """What the files say together; the project's file wins over the user's. `sandbox_command` is what level X of the
    sandbox starts, empty where none is named."""

    default_model: str | None = None
    endpoints: Mapping[str, EndpointConfig] = field(default_factory=dict)
    sandbox_command: tuple[str, ...] = ()


def config_folder(environ: Mapping[str, str]) -> Path:
    """The user's configuration folder for this package: XDG's, else `~/.config`."""
    home = environ.get("HOME") or os.path.expanduser("~")
    return Path(environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")) / "reflect-lab"


def load_config(folder: Path, environ: Mapping[str, str]) -> ModelsConfig:
    """Read the files that there are. Raises WrongUse naming file and key when one can't be used."""
    root = project_root(folder)
    files = [config_folder(environ) / SETTINGS_FILE, *([root / SETTINGS_FILE] if root else [])]
    default: str | None = None
    endpoints: dict[str, EndpointConfig] = {}
    command: tuple[str, ...] = ()
    for file in files:
        if file.is_file():
            config = read_config(file)
            default = config.default_model or default
            endpoints |= config.endpoints
            command = config.sandbox_command or command
    return ModelsConfig(default_model=default, endpoints=endpoints, sandbox_command=command)


def read_config(file: Path) -> ModelsConfig:
    """One file. Raises WrongUse."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise WrongUse(f"{file}: can't be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise WrongUse(f"{file}: not valid TOML: {error}") from None
    _known(content, TOP_KEYS, f"{file}")
    default = content.get("default_model")
    if default is not None and (not isinstance(default, str) or not default):
        raise WrongUse(f'{file}: `default_model` must be a name such as "NAME@ENDPOINT" or "local"')
    tables = content.get("endpoints", {})
    if not isinstance(tables, dict):
        raise WrongUse(f"{file}: `endpoints` must hold tables such as [endpoints.NAME]")
    sandbox = content.get("sandbox", {})
    if not isinstance(sandbox, dict):
        raise WrongUse(f"{file}: `sandbox` must be a table: [sandbox] with a `command`")
    _known(sandbox, SANDBOX_KEYS, f"{file}: [sandbox]")
    return ModelsConfig(
        default_model=default,
        endpoints={name: _endpoint(name, table, file) for name, table in tables.items()},
        sandbox_command=checked_command(sandbox.get("command", ()), f"{file}: [sandbox] `command`"),
    )


def checked_command(value: object, where: str) -> tuple[str, ...]:
    """A command as a program and its arguments, empty where there is none. Raises WrongUse for anything else."""
    words = value if isinstance(value, list | tuple) else None
    if words is None or not all(isinstance(word, str) and word and "\0" not in word for word in words):
        raise WrongUse(f'{where} must be a list of texts, the program first: ["docker", "run", "-i", …]')
    return tuple(words)


def _endpoint(name: str, table: object, file: Path) -> EndpointConfig:
    where = f"{file}: [endpoints.{name}]"
    if not isinstance(table, dict):
        raise WrongUse(f"{where} must be a table with a `base_url`")
    if "api_key" in table:
        raise WrongUse(f"{where}: keys don't belong in this file; name the variable that holds it: `api_key_env`")
    _known(table, ENDPOINT_KEYS, where)
    url, key_env = table.get("base_url"), table.get("api_key_env")
    if not isinstance(url, str):
        raise WrongUse(f'{where} needs a `base_url` such as "http://127.0.0.1:8000/v1"')
    if key_env is not None and (not isinstance(key_env, str) or not key_env):
        raise WrongUse(f"{where}: `api_key_env` must be the name of an environment variable")
    return EndpointConfig(
        name=name,
        base_url=checked_url(url, where),
        api_key_env=key_env,
        max_tokens=_positive_int(table.get("max_tokens"), f"{where}: `max_tokens`"),
        timeout_s=_positive(table.get("timeout_s"), f"{where}: `timeout_s`"),
        token_count=_way(table.get("token_count"), f"{where}: `token_count`"),
        file=str(file),
    )


def checked_url(url: str, where: str) -> str:
    """`url` without a trailing slash. Raises WrongUse when it is no http(s) URL or holds credentials."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise WrongUse(f"{where}: the base URL must begin with http:// or https:// and name a host")
    if parts.username or parts.password:
        raise WrongUse(f"{where}: the base URL must not hold a user or password")
    return url.rstrip("/")


def _way(value: object, where: str) -> TokenCount | None:
    if value is not None and value not in WAYS:
        raise WrongUse(f"{where} is {shown(value)}; {did_you_mean(str(value), WAYS)}")
    return cast(TokenCount | None, value)


def _positive(value: object, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise WrongUse(f"{where} must be a positive number")
    return float(value)


def _positive_int(value: object, where: str) -> int | None:
    if value is not None and not isinstance(value, int):
        raise WrongUse(f"{where} must be a positive whole number")
    number = _positive(value, where)
    return None if number is None else int(number)


def _known(table: Mapping[str, object], keys: Iterable[str], where: str) -> None:
    for key in table:
        if key not in keys:
            raise WrongUse(f"{where}: unknown key `{key}`; {did_you_mean(key, keys)}")
