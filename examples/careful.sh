#!/bin/sh
# A careful worker in shell: it runs a command for each item, with a checkpoint after each and a circuit breaker before it.
# Needs nothing but curl. When Rouse brings it back it goes on after the last completed item:
#   rouse spawn --name careful --task copy-all --restart on-failure -- sh examples/careful.sh ./copy-one a b c
set -eu

home=${ROUSE_HOME:-$HOME/.rouse}
url=${ROUSE_URL:-$(sed -n 's/.*"url": "\(.*\)".*/\1/p' "$home/daemon.json")}
token=${ROUSE_TOKEN:-$(cat "$home/token")}
agent=${ROUSE_AGENT_ID:-example-careful}
task=${ROUSE_TASK_ID:-careful}
open_for=${BREAKER_SECONDS:-60}
command=$1
shift

# say PATH BODY: curl itself repeats what was not answered. The token goes in by standard input, where nobody sees it.
say() {
  printf 'header = "Authorization: Bearer %s"\n' "$token" |
    curl --config - --silent --show-error --fail --max-time 10 --retry 10 --retry-all-errors --retry-max-time 60 \
      --header 'Content-Type: application/json' --data "$2" "$url/api/v1/$1"
}

# beat FIELDS: without a number, so it is sent once; a Rouse that is away is no reason to stop working.
beat() {
  now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  ack=$(say heartbeats "{\"agentId\":\"$agent\",\"taskId\":\"$task\",\"timestamp\":\"$now\",$1}") || ack=
  # A person may have reset the breaker meanwhile; that it was heard is said with the next beat.
  reset=$(printf %s "$ack" | sed -n 's/.*"id":"\([^"]*\)","kind":"reset-breaker".*/\1/p')
  [ -z "$reset" ] || { state=CLOSED failures=0 open_until=0 && beat "\"seen\":[\"$reset\"]"; }
}

operation="tool_execution/$(basename "$command" | tr -c 'A-Za-z0-9._\n-' _)"
state=CLOSED failures=0 open_until=0
change() {
  state=$1
  echo "the breaker is $state"
  beat "\"status\":\"RUNNING\",\"breakers\":[{\"operation\":\"$operation\",\"state\":\"$state\",\"failures\":$failures,\"retryInSeconds\":$2}]"
}

# Three failures in a row open the breaker: nothing is called for a while, then one trial decides.
guarded() {
  while [ "$state" = OPEN ] && [ "$(date +%s)" -lt "$open_until" ]; do
    beat "\"status\":\"WAITING\",\"waitingFor\":\"schedule\""
    sleep 1
  done
  [ "$state" != OPEN ] || change HALF_OPEN 0
  if "$@"; then
    failures=0
    [ "$state" = CLOSED ] || change CLOSED 0
  else
    failures=$((failures + 1))
    if [ "$state" = HALF_OPEN ] || [ "$failures" -ge 3 ]; then
      open_until=$(($(date +%s) + open_for))
      change OPEN "$open_for"
    fi
    return 1
  fi
}

[ -n "${ROUSE_INCARNATION:-}" ] || say agents "{\"agentId\":\"$agent\",\"taskId\":\"$task\"}" >/dev/null
done=$(printf %s "${ROUSE_RECOVERY:-}" | sed -n 's/.*"step":\([0-9][0-9]*\).*/\1/p')
step=0
for item; do
  step=$((step + 1))
  [ "$step" -gt "${done:-0}" ] || continue
  until guarded "$command" "$item"; do sleep 0.2; done
  name=$(printf %s "$item" | tr -cd 'A-Za-z0-9 ._/-' | cut -c 1-200)
  say "tasks/$task/checkpoints" "{\"step\":$step,\"stepName\":\"$name\",\"agentId\":\"$agent\"}" >/dev/null
  beat "\"status\":\"RUNNING\",\"progressIndicator\":\"$step of $#\""
  echo "item $step: $name"
done
beat '"status":"FINISHED"'
