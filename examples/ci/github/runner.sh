#!/bin/sh
# Runs one job of GitHub Actions on a new node, with an ephemeral runner; start it again for the next job.
# The image of the label has the runner of https://github.com/actions/runner in RUNNER_FOLDER.
# Needs curl, jq and GITHUB_TOKEN (permission: administration of the repository).
set -eu
: "${GITHUB_TOKEN:?}" "${GITHUB_REPOSITORY:?such as acme/web}"
label=${HEDDLE_LABEL:-runner}
api=${GITHUB_API_URL:-https://api.github.com}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 143' HUP INT TERM
name=heddle-$(date +%s)-$$

# The token goes to curl by its standard input: command lines are visible to other users.
printf 'header = "Authorization: Bearer %s"\n' "$GITHUB_TOKEN" |
  curl --config - --fail --silent --show-error --header 'Accept: application/vnd.github+json' \
    --data "{\"name\": \"$name\", \"runner_group_id\": 1, \"labels\": [\"self-hosted\", \"$label\"]}" \
    "$api/repos/$GITHUB_REPOSITORY/actions/runners/generate-jitconfig" |
  jq --exit-status --raw-output .encoded_jit_config >"$folder/jitconfig"

heddle run "$label" --requester "$name" --copy "$folder" -- \
  "\"${RUNNER_FOLDER:-/opt/actions-runner}/run.sh\" --jitconfig \"\$(cat jitconfig)\""
