#!/bin/sh
# prepare_exec: a node for the job. If GitLab Runner dies, the node returns when the lease ends; each step renews it.
pool=${CUSTOM_ENV_HEDDLE_POOL:-ci} label=${CUSTOM_ENV_HEDDLE_LABEL:-small} job=$CUSTOM_ENV_CI_JOB_ID
# Jobs choose these: a value with a leading hyphen would be an option of heddle.
case "$pool,$label,$job" in
-* | *,-* | *[!A-Za-z0-9,_.-]*)
  echo "HEDDLE_POOL, HEDDLE_LABEL or CI_JOB_ID of the job is not a name" >&2
  exit "$BUILD_FAILURE_EXIT_CODE"
  ;;
esac
heddle request create "$pool" "$label" --requester "gitlab-job-$job" --lease 10m || exit "$SYSTEM_FAILURE_EXIT_CODE"
