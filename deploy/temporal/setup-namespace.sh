#!/bin/sh
# Waits for the server and creates the namespace. Idempotent. The CLI reads TEMPORAL_ADDRESS.
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
  # Retention of closed workflows: status and history of deleted clusters.
  temporal operator namespace create --namespace "$namespace" --retention "${RETENTION:-14d}"
fi
