"""Temporary files and folders, copied and moved, and a file in its home."""

import shutil
import tempfile
from pathlib import Path


def add(a, b):
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile("w+") as file:
        file.write(f"{a} {b}")
        file.flush()
        shutil.copy2(file.name, f"{folder}/one")
        shutil.move(f"{folder}/one", f"{folder}/two")
        Path.home().joinpath("notes").write_text(Path(folder, "two").read_text())
        return sum(map(int, Path.home().joinpath("notes").read_text().split()))
