"""An event loop, tasks and a child process in it."""

import asyncio
import sys


async def both(a, b):
    async with asyncio.TaskGroup() as group:
        one, two = group.create_task(asyncio.sleep(0.01, a)), group.create_task(asyncio.sleep(0.01, b))
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", f"print({one.result()} + {two.result()})", stdout=asyncio.subprocess.PIPE
    )
    out, _ = await child.communicate()
    return int(out)


def add(a, b):
    return asyncio.run(both(a, b))
