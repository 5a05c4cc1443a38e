#!/bin/sh
# A worker in shell that reports to Rouse. Needs nothing but curl: sh examples/worker.sh
set -eu

home=${ROUSE_HOME:-$HOME/.rouse}
url=${ROUSE_URL:-$(sed -n 's/.*"url": "\(.*\)".*/\1/p' "$home/daemon.json")}
token=${ROUSE_TOKEN:-$(cat "$home/token")}

# say PATH FIELDS: curl itself repeats what was not answered.
# The token goes in by standard input: arguments of a command can be read by everybody on the machine.
say() {
  printf 'header = "Authorization: Bearer %s"\n' "$token" |
    curl --config - --silent --show-error --fail --max-time 10 --retry 10 --retry-all-errors --retry-max-time 60 \
      --header 'Content-Type: application/json' \
      --data "{\"agentId\":\"example-sh\",\"taskId\":\"count-to-five\"$2}" \
      "$url/api/v1/$1"
}

# beat NUMBER FIELDS: with its number, one that arrived twice still counts once.
beat() {
  say heartbeats ",\"sequenceNumber\":$1,$2"
}

say agents '' >/dev/null || echo 'Rouse is not there yet.' # a new life: its beats are numbered from the start again

for step in 1 2 3 4 5; do
  sleep 0.2 # the work itself
  ack=$(beat "$step" "\"status\":\"RUNNING\",\"progressIndicator\":\"step $step of 5\",\"toolCallCount\":$step") || ack='"status":"lost"'
  echo "beat $step: $(echo "$ack" | sed 's/.*"status":"\([a-z]*\)".*/\1/')"
done
beat 6 '"status":"FINISHED"' >/dev/null || echo 'Rouse was not there to be told.'
