#!/bin/sh
# cleanup_exec, also after failures: cancelling returns the node, or ends a request that still waits.
heddle request cancel "${CUSTOM_ENV_HEDDLE_POOL:-ci}" --requester "gitlab-job-$CUSTOM_ENV_CI_JOB_ID"
