#!/bin/sh
# Stands for an agent: a cycle every minute, each begun with a heartbeat.
cycle=0
mkdir -p "$(dirname "$OSTLER_HEARTBEAT")"
ostler mail check --inject 2>/dev/null
while :; do
  cycle=$((cycle + 1))
  now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
  printf '{"timestamp":"%s","cycle":%d,"last_action":"patrol","healthy_agents":0,"unhealthy_agents":0}\n' \
    "$now" "$cycle" >"$OSTLER_HEARTBEAT.new" && mv "$OSTLER_HEARTBEAT.new" "$OSTLER_HEARTBEAT"
  echo "cycle $cycle"
  sleep 60
done
