#!/bin/sh
# Triage by a model. It sees what the patrol saw and answers with one line of JSON; anything else, and the mechanical
# decision counts. The patrol bounds its time, how often it is asked, and what of its answer is admitted.
exec claude -p "$(cat "$(dirname "$0")/triage-prompt.md")"
