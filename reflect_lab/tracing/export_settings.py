"""Whether spans leave this process, by the standard OpenTelemetry environment variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DEFAULT_ENDPOINT = "http://localhost:4318"


@dataclass(frozen=True)
class ExportSettings:
    """`endpoint` is the full URL for traces, None where nothing is exported. `notices` name what is not supported."""

    endpoint: str | None = None
    is_disabled: bool = False
    notices: tuple[str, ...] = ()

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> ExportSettings:
        """OTLP export is asked for by an endpoint or by `OTEL_TRACES_EXPORTER=otlp`; `none` and
        `OTEL_SDK_DISABLED=true` forbid it. Nothing set means that nothing leaves the process."""

        def said(name: str) -> str:
            return environ.get(name, "").strip()

        if said("OTEL_SDK_DISABLED").lower() == "true":
            return cls(is_disabled=True, notices=("spans are off: OTEL_SDK_DISABLED is true",))
        exporters = {name.strip() for name in said("OTEL_TRACES_EXPORTER").lower().split(",") if name.strip()}
        notices = [
            f"OTEL_TRACES_EXPORTER={name} is not supported; spans are kept in the local file"
            for name in sorted(exporters - {"otlp", "none"})
        ]
        endpoint = said("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
        if not endpoint and (base := said("OTEL_EXPORTER_OTLP_ENDPOINT")):
            endpoint = f"{base.rstrip('/')}/v1/traces"
        if not endpoint and "otlp" in exporters:
            endpoint = f"{DEFAULT_ENDPOINT}/v1/traces"
        if exporters and "otlp" not in exporters:
            endpoint = ""
        protocol = said("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or said("OTEL_EXPORTER_OTLP_PROTOCOL")
        if endpoint and protocol and protocol != "http/protobuf":
            notices.append(f"OTLP over {protocol} is not supported (http/protobuf is); spans are not sent")
            endpoint = ""
        return cls(endpoint=endpoint or None, notices=tuple(notices))
