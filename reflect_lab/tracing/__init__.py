"""Spans: the projection of a run onto OpenTelemetry, a local span file and, where asked for, an OTLP collector."""
