#!/bin/sh
# prepare_exec: a node for the job. If GitLab Runner dies, the node returns when the lease ends; each step renews it.
heddle request create "${CUSTOM_ENV_HEDDLE_POOL:-ci}" "${CUSTOM_ENV_HEDDLE_LABEL:-small}" \
  --requester "gitlab-job-$CUSTOM_ENV_CI_JOB_ID" --lease 10m || exit "$SYSTEM_FAILURE_EXIT_CODE"
