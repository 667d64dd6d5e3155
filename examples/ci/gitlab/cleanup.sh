#!/bin/sh
# cleanup_exec, also after failures: cancelling returns the node, or ends a request that still waits.
# It runs after a refusal of prepare.sh, too: then there is no request.
case ${CUSTOM_ENV_HEDDLE_POOL:-ci} in -*) exit 0 ;; esac
heddle request cancel "${CUSTOM_ENV_HEDDLE_POOL:-ci}" --requester "gitlab-job-$CUSTOM_ENV_CI_JOB_ID"
