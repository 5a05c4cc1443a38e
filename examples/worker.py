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


def say(path, **more):
    """Repeats what it says until it is answered."""
    message = {"agentId": "example-py", "taskId": "count-to-five", **more}
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/api/v1/{path}", json.dumps(message).encode(), headers)
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


def beat(sequence_number, **more):
    """With its number, a beat that arrived twice still counts once."""
    return say("heartbeats", sequenceNumber=sequence_number, **more)


say("agents")  # a new life: its beats are numbered from the start again
for step in range(1, 6):
    time.sleep(0.2)  # the work itself
    ack = beat(step, status="RUNNING", progressIndicator=f"step {step} of 5", toolCallCount=step)
    print(f"beat {step}: {ack['status']}")
    for command in ack["commands"]:
        print(f"Rouse asks: {command['kind']}, {command['because']}")
beat(6, status="FINISHED")
