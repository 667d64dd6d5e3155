#!/bin/sh
# run_exec: $1 is the script of one step of the job. prepare.sh has checked the variables of the job.
heddle request run "${CUSTOM_ENV_HEDDLE_POOL:-ci}" --requester "gitlab-job-$CUSTOM_ENV_CI_JOB_ID" \
  --copy "$1" -- "bash ./$(basename "$1") || exit 100"
case $? in
0) ;;
100) exit "$BUILD_FAILURE_EXIT_CODE" ;;
# The job did not fail by itself: no node, no server, or the lease ended.
*) exit "$SYSTEM_FAILURE_EXIT_CODE" ;;
esac
