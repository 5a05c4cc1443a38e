"""An agent with rouse_client.py: it counts the words of files, a step each, and goes on after the last completed step.

    python3 examples/worker_sdk.py README.md CHANGELOG.md
    rouse spawn --name counter --task count-words -- python3 examples/worker_sdk.py README.md CHANGELOG.md
"""

import pathlib
import sys

from rouse_client import Agent

with Agent("example-sdk-py", task="count-words") as agent:

    @agent.tool("read")
    def read(name):
        return pathlib.Path(name).read_text("utf8")

    files = sys.argv[1:]
    done, words = agent.resume({})
    for step, name in enumerate(files[done:], done + 1):
        agent.phase(f"counting {name}")
        words[name] = len(read(name).split())
        agent.progress(f"{step} of {len(files)} files")
        agent.checkpoint(step, words, f"counted {name}")
        print(f"step {step}: {name}", flush=True)
    print(f"{sum(words.values())} words")
