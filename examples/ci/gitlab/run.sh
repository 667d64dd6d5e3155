#!/bin/sh
# run_exec: $1 is the script of one step of the job.
heddle request run "${CUSTOM_ENV_HEDDLE_POOL:-ci}" --requester "gitlab-job-$CUSTOM_ENV_CI_JOB_ID" \
  --copy "$1" -- "bash ./$(basename "$1")"
case $? in
0) ;;
# Without an answer of the node, or a server: the job did not fail by itself.
5 | 255) exit "$SYSTEM_FAILURE_EXIT_CODE" ;;
*) exit "$BUILD_FAILURE_EXIT_CODE" ;;
esac
