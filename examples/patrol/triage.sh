#!/bin/sh
# Triage as a shell script: the observation comes as one JSON document, the decision goes out as one.
# It is asked only when a signal tripped, so it may be strict: an agent that waits at a question is a person's business.
observation=$(cat)
case $observation in
*"Do you want to proceed"* | *"(y/n)"*)
  echo '{"action":"escalate","reason":"it waits at a question on its screen"}'
  ;;
*"rate limit"* | *"usage limit"*)
  echo '{"action":"nothing","reason":"it waits for its quota"}'
  ;;
*)
  # What the core would do by itself.
  echo "$observation" | python3 -c 'import json, sys
asked = json.load(sys.stdin)
print(json.dumps({"action": asked["mechanical"]["step"], "reason": "nothing speaks against it"}))'
  ;;
esac
