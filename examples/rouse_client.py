"""Rouse for agents in Python 3.8 and newer: one file, nothing to install. Copy it beside your agent.

    with Agent("worker-1", task="fix-42") as agent:
        done, state = agent.resume({"files": []})
        with agent.tool("grep", {"pattern": "def "}) as call:
            call.result = grep("def ")
        agent.checkpoint(done + 1, state)

In an agent that Rouse started, ROUSE_* in the environment says everything; elsewhere the data folder of a Rouse on this
machine does ($ROUSE_HOME, or ~/.rouse). A Rouse that is not there never disturbs the agent: nothing of that is raised.
What waits for it, checkpoints included, waits in the memory of this process: it is gone when the process ends first. At
most 1,000 checkpoints or 64 MiB wait; beyond that `checkpoint` answers "full", and that one is not kept.
"""

import collections
import contextlib
import datetime
import email.utils
import functools
import hashlib
import inspect
import json
import logging
import os
import pathlib
import random
import re
import threading
import time
import urllib.error
import urllib.request
import uuid
import weakref

log = logging.getLogger("rouse")


class BreakerOpen(Exception):
    """Not called at all: it has failed too often. Catch it to do without."""

    def __init__(self, name, retry_in):
        super().__init__(f"{name} has failed too often; it is tried again in {max(0, retry_in):.0f} s")
        self.name, self.retry_in = name, max(0, retry_in)


class Breaker:
    """CLOSED until `failures` calls in a row failed, then OPEN for `seconds`, then HALF_OPEN: `trials` calls decide."""

    def __init__(self, name, failures=3, seconds=60, trials=1, changed=lambda: None):
        self.name, self.changed = name, changed
        self.set_rules(failures, seconds, trials)
        self.state, self.failed, self.period, self.reopen_at, self.out, self.passed = "CLOSED", [], 0, 0.0, [], 0
        self.lock = threading.Lock()

    def set_rules(self, failures=3, seconds=60, trials=1):
        """From now on. How it stands stays as it is."""
        self.threshold, self.seconds, self.allowed = failures, seconds, trials

    @contextlib.contextmanager
    def guard(self, is_failure=lambda error: True):
        ticket = self._admit()
        try:
            yield
        except Exception as error:
            self._end(ticket, "failed" if is_failure(error) and not isinstance(error, BreakerOpen) else "aborted")
            raise
        except BaseException:
            self._end(ticket, "aborted")
            raise
        self._end(ticket, "succeeded")

    def reset(self):
        with self.lock:
            self.state, self.failed, self.period = "CLOSED", [], self.period + 1
        self.changed()

    def _admit(self):
        now = time.monotonic()
        with self.lock:
            if self.state == "OPEN" and now >= self.reopen_at:
                self.state, self.out, self.passed = "HALF_OPEN", [], 0
            if self.state == "OPEN":
                raise BreakerOpen(self.name, self.reopen_at - now)
            if self.state == "CLOSED":
                return self.period, None
            # A trial that never ends gives its place back.
            self.out = [began for began in self.out if began + self.seconds > now]
            # With no trial out one is always let try: rules may have become narrower than what has passed.
            if self.out and len(self.out) + self.passed >= self.allowed:
                raise BreakerOpen(self.name, min(self.out) + self.seconds - now)
            self.out.append(now)
            return self.period, now

    def _end(self, ticket, how):
        period, trial = ticket
        now, before = time.monotonic(), self.state
        with self.lock:
            if period != self.period or (trial is None) != (self.state == "CLOSED"):
                return  # It began before the last opening or reset: it says nothing about the time after.
            if trial in self.out:
                self.out.remove(trial)
            elif trial is not None and how != "failed":
                return  # It had given its place back already.
            if how == "failed":
                self.failed = [at for at in self.failed if at > now - 10 * self.seconds] + [now]
                if trial is not None or len(self.failed) >= self.threshold:
                    self.state, self.period, self.reopen_at, self.failed = "OPEN", period + 1, now + self.seconds, []
            elif how == "succeeded":
                self.failed, self.passed = [], self.passed + (trial is not None)
                if trial is not None and self.passed >= self.allowed:
                    self.state = "CLOSED"
            after = self.state
        if before != after:
            self.changed()

    def news(self):
        retry = {"retryInSeconds": round(max(0, self.reopen_at - time.monotonic()), 3)} if self.state == "OPEN" else {}
        return {"operation": self.name, "state": self.state, "failures": len(self.failed), **retry}


def retry_after(value, now=None):
    """Seconds that a Retry-After header asks to wait, given as seconds or as a date; None when it says neither."""
    if value is None or re.fullmatch(r"\s*\d{1,9}\s*", value):
        return None if value is None else float(value)
    try:
        date = email.utils.parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=datetime.timezone.utc)
    return max(0.0, date.timestamp() - (time.time() if now is None else now))


def may_help(error):
    """Whether a failed call is worth another try: no connection, no answer in time, too many requests, a sick server."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code in (408, 425, 429, 500, 502, 503, 504)
    return isinstance(error, OSError)


def retry(call, attempts=5, first=0.5, longest=30.0, worth=may_help, waiting=None, most=3600.0):
    """Calls again, later each time, with jitter, and no sooner than a server says with Retry-After."""
    for attempt in range(1, attempts + 1):
        try:
            return call()
        except Exception as error:
            asked = retry_after((getattr(error, "headers", None) or {}).get("Retry-After"))
            if attempt == attempts or not worth(error) or (asked or 0) > most:
                raise
        pause = random.uniform(0.5, 1) * min(longest, first * 2 ** (attempt - 1))
        with waiting(asked) if waiting and asked else contextlib.nullcontext():
            time.sleep(max(asked or 0, pause))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None  # The token is for Rouse alone.


_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)
_agents = weakref.WeakSet()
_rules = {"tool_execution": {"failures": 5, "seconds": 30}}
_settings = (  # Of `circuit_breaker` in Rouse's config.yaml: what it is here, the most, and whether it is a whole number.
    ("failure_threshold", "failures", 1_000_000, True),
    ("recovery_timeout_seconds", "seconds", 2_592_000, False),
    ("half_open_requests", "trials", 1_000_000, True),
)
_most_saves, _most_bytes = 1000, 64 * 1024 * 1024


class _Over(Exception):
    """Nothing more is said: a later life of this agent has begun."""


class Agent:
    """An agent as Rouse sees it, from the inside. `on_nudge(nudge)` may return a text: that is the answer."""

    def __init__(self, id=None, task=None, type=None, every=5.0, on_nudge=None, breakers=None):
        env = os.environ.get
        # In an agent that Rouse started the environment decides: its token speaks for that agent and task alone.
        told = env("ROUSE_AGENT_ID") if env("ROUSE_TOKEN") else None
        self.id = told or id or env("ROUSE_AGENT_ID")
        self.task = (env("ROUSE_TASK_ID") or task if told else task or env("ROUSE_TASK_ID")) or None
        if not self.id:
            raise ValueError("an agent needs an id: Agent(\"worker-1\"), or ROUSE_AGENT_ID")
        self.type, self.every, self.on_nudge, self.rules = type, every, on_nudge, breakers or {}
        # Rouse numbers the lives of the agents it started; any other announces each life.
        life, self.recovered = env("ROUSE_INCARNATION", ""), None
        self.life = int(life) if life.isdigit() and told else 0
        self.guest = _speak_for(self.id)
        with contextlib.suppress(ValueError):
            self.recovered = json.loads(env("ROUSE_RECOVERY") or "null") if self.life else None
        self.facts, self.totals = {"status": "RUNNING"}, collections.Counter()
        self.breakers, self.told, self.open, self.warned, self.known = {}, {}, {}, set(), set()
        self.steps, self.unread, self.seen, self.answers = (collections.deque(maxlen=1000) for _ in range(4))
        self.saves, self.saves_bytes = collections.deque(), 0  # None of them is ever dropped.
        self.owner, self.doubtful, self.learn_at = {}, True, 0.0  # The owner's rules of breakers; asked for when in doubt.
        self.number, self.beat, self.batch, self.dropped = 0, None, None, 0
        self.held_up, self.work_at = 0, 0.0  # How often in a row checkpoints or steps were not taken, and when they are tried again.
        self.parent = (self.recovered or {}).get("checkpoint")
        self.problem, self.silent, self.failures, self.urgent, self.closing = None, False, 0, True, False
        self._renew_locks()
        self.thread = threading.Thread(target=self._run, name="rouse", daemon=True)
        _agents.add(self)

    def _renew_locks(self):
        lock = threading.RLock()
        self.wake, self.tried = threading.Condition(lock), threading.Condition(lock)

    # What the agent says.

    def __enter__(self):
        self.thread.start()
        return self

    start = __enter__

    def __exit__(self, kind, error, _):
        if kind is None or (kind is SystemExit and not error.code):
            self.say(status="FINISHED")
        elif issubclass(kind, Exception):
            self.say(status="FAILED")
        self.close()

    def close(self, within=2.0):
        """Ends the beats. What waits is sent first, if that can be done in time."""
        if self.silent:
            return
        with self.wake:
            self.closing = True
        self._hurry()
        self.thread.join(within)

    def say(self, **facts):
        with self.wake:
            self.facts.update(facts)

    def phase(self, name):
        self.say(phase=_clean(name, 200), status="RUNNING")

    def progress(self, text):
        self.say(progressIndicator=_clean(text, 1000), status="RUNNING")

    def tokens(self, used):
        self._count(tokenCount=used)

    def idle(self):
        self.say(status="IDLE")
        self._hurry()

    @contextlib.contextmanager
    def waiting(self, what="provider", seconds=None):
        """Inside it the agent waits for `input`, `provider`, `children` or `schedule`: that is no silence."""
        until = {} if seconds is None else {"waitingUntil": _time(time.time() + seconds)}
        known = what if what in ("input", "provider", "children") else "schedule"
        self.say(status="WAITING", waitingFor=known, **until)
        self._hurry()
        try:
            yield
        finally:
            self.say(status="RUNNING", waitingFor=None, waitingUntil=None)
            self._hurry()

    def tool(self, name, args=None, timeout=None):
        """`with agent.tool("grep", args) as call:` or `@agent.tool("grep")`: told as digests, behind its breakers."""
        return _Tool(self, name, args, timeout)

    def request(self, name, call, **how):
        """A request to a model or service: behind the breaker external_api/NAME, tried again, and no longer than asked."""
        breaker = self.breaker(f"external_api/{name}")

        def once():
            with breaker.guard(lambda error: getattr(error, "code", None) != 429):
                return call()

        return retry(once, waiting=lambda seconds: self.waiting("provider", seconds), **how)

    def breaker(self, name):
        # A beat with any other name would be refused, and so would every beat after it.
        name = re.sub(r"[^\w.:@+/-]", "_", name, flags=re.ASCII)
        name = re.sub(r"^[^A-Za-z0-9]+", "", name)[:200] or "operation"
        with self.wake:
            return self.breakers.setdefault(name, Breaker(name, changed=self._hurry, **self._rules_of(name)))

    def _rules_of(self, name):
        """What the author wrote goes before what Rouse's owner set, and that before the usual."""
        root, rules = name.split("/")[0], {}
        for layer in (_rules.get(root), *map(self.owner.get, ("", root, name)), self.rules.get(root), self.rules.get(name)):
            rules.update(layer or {})
        return rules

    def checkpoint(self, step, state=None, name="", wait=2.0):
        """`step` is completed. "saved": on Rouse's disk; "queued": kept here, in memory and in order, until Rouse can take
        it; "refused": it never will; "full": too much waits already, so this one is not kept, and a later one may be."""
        text = json.dumps({"step": step, "stepName": _clean(name, 200), "state": state}, allow_nan=False)
        if len(text) > 16 * 1024 * 1024:
            raise ValueError("the state of a checkpoint is larger than 16 MiB: keep large data in files")
        save = [text, "queued"]
        if self.task is None or self.silent:
            return "queued"
        with self.wake:
            if len(self.saves) >= _most_saves or self.saves_bytes + len(text) > _most_bytes:
                self._warn("full", f"{len(self.saves)} checkpoints of {self.id} wait for Rouse: no more are kept until it takes some")
                return "full"
            self.saves.append(save)
            self.saves_bytes += len(text)
            self.facts["status"] = "RUNNING"
            self._hurry()
            self.tried.wait_for(lambda: save[1] != "queued" or self.failures + self.held_up > 0, wait)
        return save[1]

    def resume(self, initial=None):
        """How many steps are completed, and the state after them: what the last life saved, if Rouse brought it back."""
        told = self.recovered
        if not told or told.get("step") is None:
            return 0, initial
        with contextlib.suppress(OSError, ValueError, TypeError):
            return told["step"], json.loads(pathlib.Path(told["stateFile"]).read_text("utf8"))
        try:
            return told["step"], retry(lambda: self._ask(f"checkpoints/{told['checkpoint']}"))["state"]
        except Exception as problem:
            self._warn("resume", f"nobody can say where task {self.task} stands, so it starts over: {problem}")
            return 0, initial

    def nudges(self):
        """Nudges that were not read yet, for an agent without `on_nudge`. They count as seen by the agent from now on."""
        with self.wake:
            read = list(self.unread)
            self.unread.clear()
            self.seen.extend((nudge["id"], True) for nudge in read)
        self._hurry()
        return read

    def answer(self, nudge, text="", kind="update"):
        kind = kind if kind in ("handoff", "blocker") else "update"
        with self.wake:
            self.answers.append({"to": nudge["id"], "kind": kind, "text": _clean(text, 1000)})
        self._hurry()

    # What is sent, in a thread of its own.

    def _open(self, id, work):
        """Of calls side by side the oldest is told."""
        with self.wake:
            self.open.update({id: work})
            self.open = {id: work for id, work in self.open.items() if work is not None}
            self.say(status="RUNNING", open=next(iter(self.open.values()), None))

    def _count(self, **more):
        with self.wake:
            self.totals.update(more)

    def _hurry(self):
        with self.wake:
            self.urgent = True
            if self.closing:
                self.failures = 0
            self.wake.notify_all()

    def _warn(self, kind, text):
        self.problem = text
        if kind not in self.warned:
            self.warned.add(kind)
            log.warning("%s (said once)", text)

    def _run(self):
        pause, done = 0.0, False
        while not done:
            with self.wake:
                self.wake.wait_for(lambda: self.urgent and self.failures == 0, pause)
                self.urgent, last = False, self.closing
            try:
                trouble = self._say_all()
                self.problem, pause, done = None, self.every, last and not self.saves and not self.steps
                if self.held_up:
                    pause = min(pause, max(0.0, self.work_at - time.monotonic()))
                if trouble is not None:
                    self._warn("work", f"Rouse takes no checkpoints or steps of {self.id}: {trouble}; they wait, and work goes on")
            except _Over as over:
                self.silent = True
                self._warn("over", str(over))
                return
            except Exception as problem:
                self.failures, self.doubtful = self.failures + 1, True  # Whoever answers next may have other rules.
                self.held_up, self.work_at = 0, 0.0  # It takes nothing at all: with the first beat it takes comes the rest.
                pause = _pause(self.failures)
                self._warn(type(problem).__name__, f"Rouse does not hear of {self.id}: {problem}; work goes on")
            with self.wake:
                self.tried.notify_all()

    def _say_all(self):
        if self.life == 0 and not self.guest:
            said = {"agentId": self.id, "agentType": self.type, "taskId": self.task}
            self.life = self._ask("agents", {k: v for k, v in said.items() if v is not None})["incarnation"]
        trouble = self._say_work() if self.closing or time.monotonic() >= self.work_at else None
        if not self.guest:
            if self.beat is not None:  # It was not answered, so it is sent again as it was; then comes how things are now.
                self._hear(self._ask("heartbeats", self.beat[0]))
            self.beat = self._next_beat()
            self._hear(self._ask("heartbeats", self.beat[0]))
        self._learn_rules()
        return trouble

    def _learn_rules(self):
        """What the owner set for breakers, in passing: an older Rouse has nothing to say of it."""
        if not self.doubtful or self.closing or time.monotonic() < self.learn_at:
            return
        self.learn_at, self.doubtful = time.monotonic() + 60, False
        try:
            said = self._ask(f"agents/{self.id}/breaker-rules", timeout=2)
            self.owner = {**{name: _rule(one) for name, one in said["overrides"].items()}, "": _rule(said["default"])}
        except _Refused:
            self.doubtful = self.guest  # Nobody may have announced it yet.
        except Exception:
            self.doubtful = True
        with self.wake:
            for name, breaker in self.breakers.items():
                breaker.set_rules(**self._rules_of(name))

    def _say_work(self):
        """What of it Rouse does not take now waits: that is no reason to be silent, and taken for dead."""
        try:
            while self.saves:
                self._save(self.saves[0])
            self._say_steps()
            self.held_up = 0
            return None
        except _Over:
            raise
        except Exception as problem:
            self.held_up += 1
            self.work_at = time.monotonic() + _pause(self.held_up)
            return problem

    def _say_steps(self):
        while self.steps or self.batch:
            # The same steps under the same key: sent again, they count once.
            self.batch = self.batch or (str(uuid.uuid4()), [self.steps.popleft() for _ in range(min(500, len(self.steps)))])
            try:
                self._ask(f"agents/{self.id}/steps", self.batch[1], key=self.batch[0])
            except _Refused as refused:
                self._warn("steps", f"Rouse refused steps of {self.id}: {refused}")
            self.batch = None

    def _save(self, save):
        try:
            more = {"agentId": self.id, "parent": self.parent}
            self.parent = self._ask(f"tasks/{self.task}/checkpoints", {**json.loads(save[0]), **more}, timeout=30)["id"]
            save[1] = "saved"
            self.say(lastCheckpoint=self.parent)
        except _Refused as refused:
            save[1] = "refused"
            self._warn("checkpoint", f"Rouse refused a checkpoint of {self.task}: {refused}")
        with self.wake:
            self.saves.popleft()
            self.saves_bytes -= len(save[0])

    def _next_beat(self):
        with self.wake:
            news = [one.news() for one in self.breakers.values() if one.state != self.told.get(one.name, "CLOSED")][:100]
            seen = list(self.seen)[:20]
            answer = self.answers[0] if self.answers else None
            self.number += 1
            said = {**self.facts, **self.totals, "agentId": self.id, "incarnation": self.life, "taskId": self.task}
            said.update(sequenceNumber=self.number, timestamp=_time(time.time()), breakers=news or None, answer=answer)
            said.update(seen=[id for id, _ in seen] or None, seenBy="agent" if any(by for _, by in seen) else None)
            said = {name: value for name, value in said.items() if value is not None}
            return {**said, "checksum": checksum(said)}, news, seen, answer

    def _hear(self, ack):
        _, news, seen, answer = self.beat
        with self.wake:
            self.beat = None
            self.told.update((one["operation"], one["state"]) for one in news)
            for one in seen:
                self.seen.remove(one)
            if answer is not None:
                self.answers.popleft()
        for command in ack.get("commands", []):
            self._obey(command)

    def _obey(self, command):
        kind, id = command.get("kind"), command.get("id")
        if kind == "check-in":
            self.doubtful = True
            self._hurry()
        elif kind == "recovery":
            self.recovered = self.recovered or command.get("recovery")
            self.parent = self.parent or (self.recovered or {}).get("checkpoint")
        elif id in self.known:
            return  # It comes with every answer until a beat that names it has arrived.
        elif kind == "reset-breaker":
            self.known.add(id)
            self.breaker(command["breaker"]).reset()
            self.told.pop(command["breaker"], None)
            self.seen.append((id, False))
            self._hurry()
        elif kind == "nudge":
            self.known.add(id)
            if self.on_nudge is None:
                self.unread.append(command)
            else:
                threading.Thread(target=self._call_back, args=(command,), name="rouse-nudge", daemon=True).start()

    def _call_back(self, nudge):
        try:
            text = self.on_nudge(nudge)
        except Exception:
            return log.exception("on_nudge failed")
        with self.wake:
            self.seen.append((nudge["id"], True))
        if isinstance(text, str):
            self.answer(nudge, text)
        self._hurry()

    def _ask(self, path, body=None, key=None, timeout=10):
        """The answer. Raises `_Refused` when asking again would not help, `_Over` when this life is over."""
        url, token = _find_rouse()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        headers.update({"Idempotency-Key": key} if key else {})
        data = None if body is None else json.dumps(body).encode()
        try:
            with _opener.open(urllib.request.Request(f"{url}/api/v1/{path}", data, headers), timeout=timeout) as answer:
                said, self.failures = json.load(answer), 0
                return said
        except urllib.error.HTTPError as error:
            said = {}
            with contextlib.suppress(ValueError, OSError, TypeError):
                said = dict(json.load(error))
            why = f"{error.code}: {said.get('detail') or said.get('problem') or said.get('because')}"[:300]
            if said.get("because") == "old-incarnation":
                raise _Over(f"a later life of {self.id} has begun; this one says nothing more") from None
            if said and error.code in (400, 403, 404, 409, 413, 422):
                self.beat = None if path == "heartbeats" else self.beat
                raise _Refused(why) from None
            raise OSError(why) from None


class _Refused(Exception):
    pass


class _Tool:
    def __init__(self, agent, name, args, timeout):
        self.agent, self.name, self.args, self.timeout, self.result = agent, name, args, timeout, None

    def __call__(self, function):
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args, **named):
                with _Tool(self.agent, self.name, [args, named], self.timeout) as call:
                    call.result = await function(*args, **named)
                return call.result

            return awaited

        @functools.wraps(function)
        def called(*args, **named):
            with _Tool(self.agent, self.name, [args, named], self.timeout) as call:
                call.result = function(*args, **named)
            return call.result

        return called

    def __enter__(self):
        self.guards, self.id = contextlib.ExitStack(), uuid.uuid4().hex[:12]
        try:
            for name in (f"tool_execution/{self.name}".replace(" ", "_"), "tool_execution"):
                self.guards.enter_context(self.agent.breaker(name).guard())
        except BreakerOpen as error:
            self.guards.__exit__(type(error), error, None)
            raise
        self._tell(kind="tool_call", args_digest=_digest(self.args))
        timeout = {} if self.timeout is None else {"timeoutSeconds": self.timeout}
        self.agent._open(self.id, {"kind": "tool", "name": _clean(self.name, 200), **timeout})
        self.agent._count(toolCallCount=1)
        if self.timeout is not None:
            self.agent._hurry()
        return self

    def __exit__(self, kind, error, trace):
        text = _shown(self.result if error is None else error)
        mask = re.sub(r"\d+", "0", text)
        self._tell(kind="tool_result", failed=error is not None, text_digest=_digest(text), text_class=_digest(mask))
        self.agent._open(self.id, None)
        if error is not None:
            self.agent._count(errorCount=1)
        return self.guards.__exit__(kind, error, trace)

    def _tell(self, **event):
        agent = self.agent
        with agent.wake:
            agent.dropped += len(agent.steps) == agent.steps.maxlen
            agent.steps.append({"id": self.id, "tool": _clean(self.name, 200), **event})


def _after_fork():
    """A child is not the agent: it beats for nobody, and no lock that a thread of its parent held is ever released."""
    for agent in list(_agents):
        agent.silent = True
        agent._renew_locks()
        for breaker in agent.breakers.values():
            breaker.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _speak_for(id):
    """Whether another process speaks for this agent: one that started us. Then our steps count, and we send no beats."""
    name, _, pid = os.environ.get("ROUSE_SPEAKER", "").rpartition("/")
    with contextlib.suppress(ValueError, OSError):
        if name == id and os.name == "posix" and int(pid) not in (0, os.getpid()):
            os.kill(int(pid), 0)  # It lives.
            log.warning("process %s speaks for %s already, so this one sends no beats; its steps and checkpoints count", pid, id)
            return True
    os.environ["ROUSE_SPEAKER"] = f"{id}/{os.getpid()}"
    return False


def _find_rouse():
    """Looked up each time: a Rouse that is started later, or again on another port, is found."""
    env = os.environ.get
    home = pathlib.Path(env("ROUSE_HOME") or pathlib.Path.home() / ".rouse")
    try:
        url = env("ROUSE_URL") or json.loads((home / "daemon.json").read_text())["url"]
        return url.rstrip("/"), env("ROUSE_TOKEN") or (home / "token").read_text().strip()
    except (OSError, ValueError, KeyError):
        raise OSError(f"there is neither ROUSE_URL with ROUSE_TOKEN nor a Rouse in {home}") from None


def _rule(said):
    """What is out of range is left out: a server has no say in whether breakers work."""
    rule = {}
    for setting, name, most, whole in _settings:
        value = said.get(setting)
        if type(value) in (int, float) and 0 < value <= most and (not whole or value == int(value)):
            rule[name] = value
    return rule


def _pause(failures):
    return random.uniform(0.5, 1) * min(30.0, 0.25 * 2 ** min(failures, 10))


def _clean(text, longest):
    return str(text).encode("utf8", "replace").decode("utf8")[:longest]


def _digest(value):
    try:
        text = json.dumps(value, sort_keys=True, default=repr)
    except Exception:  # It contains itself, its keys cannot be sorted, or it cannot be shown.
        text = _shown(value)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _shown(value):
    try:
        return repr(value)
    except Exception:
        return f"a {type(value).__name__} that cannot be shown"


def _time(seconds):
    date = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return date.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def canonical(value):
    """A whole float is written without its point, as RFC 8785 wants it; Python would write 1.0."""
    if isinstance(value, dict):
        return {key: canonical(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [canonical(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def checksum(beat):
    text = json.dumps(canonical(beat), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
