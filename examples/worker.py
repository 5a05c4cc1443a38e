"""A worker in Python that reports to Rouse. Needs nothing but Python: python3 examples/worker.py"""

import json
import os
import pathlib
import time
import urllib.error
import urllib.request

home = pathlib.Path(os.environ.get("ROUSE_HOME") or pathlib.Path.home() / ".rouse")
url = os.environ.get("ROUSE_URL") or json.loads((home / "daemon.json").read_text())["url"]
token = os.environ.get("ROUSE_TOKEN") or (home / "token").read_text().strip()


def beat(sequence_number, **more):
    """Repeats a beat until it is answered: with its number, one that arrived twice still counts once."""
    message = {"agent_id": "example-py", "task_id": "count-to-five", "sequence_number": sequence_number, **more}
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/api/v1/heartbeats", json.dumps(message).encode(), headers)
    wait = 0.2
    while True:
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
        except OSError:
            pass  # Rouse is not there right now. That is no reason to stop working.
        time.sleep(wait)
        wait = min(2 * wait, 5)


for step in range(1, 6):
    time.sleep(0.2)  # the work itself
    ack = beat(step, status="RUNNING", progress_indicator=f"step {step} of 5", tool_call_count=step)
    print(f"beat {step}: {ack['status']}")
    for command in ack["commands"]:
        print(f"Rouse asks: {command['kind']}, {command['because']}")
beat(6, status="FINISHED")
