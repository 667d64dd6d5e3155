#!/bin/sh
# Waits for the server and makes the namespace. May be run again. TEMPORAL_ADDRESS is read by the CLI itself.
set -eu

namespace=${NAMESPACE:-default}

attempt=1
until temporal operator cluster health; do
  if [ "$attempt" -ge 30 ]; then
    echo "the Temporal server at $TEMPORAL_ADDRESS does not serve; its log says why" >&2
    exit 1
  fi
  attempt=$((attempt + 1))
  sleep 2
done

if temporal operator namespace describe --namespace "$namespace" >/dev/null 2>&1; then
  echo "namespace $namespace is there"
else
  # A workflow that ended is kept that long: status and history of clusters that were deleted.
  temporal operator namespace create --namespace "$namespace" --retention "${RETENTION:-14d}"
fi
