import { endRunFunctions } from './end-run.js';
import { identityFunctions } from './identity.js';
import { pruneFunctions } from './prune.js';
import { turnFunctions } from './turn.js';

/**
 * What carries out one run, detached from any connection, in a session of its own. It comes as the last part
 * of the upload and is left beside it as `runner`, after its variables (`run`, `turn`, and `timeout` in
 * seconds or empty) and the function `enter`, which sets the script's environment and becomes its
 * interpreter. Cut short, it does nothing: its last line calls.
 *
 * `supervise UPLOAD MASK RUNS TURNS`: takes the node's turn, then claims the run by creating `pid`
 * exclusively. That is the one right to start the script, so however many supervisors are sent and however
 * late one wakes up, one of them starts it. It starts the script in another session, waits, and leaves `rc`
 * ("CODE REASON") last, under its name at once. `script MASK UPLOAD`: the first process of that other
 * session; notes itself in `starts`, then becomes the script.
 */
export const supervisorProgram = `
${identityFunctions}
${endRunFunctions}
${turnFunctions}
${pruneFunctions}
finish() {
  reason=$2
  # A disk that is full at the end has cut the output, whatever the script made of it.
  { printf %4096s . > "$up/probe"; } 2>/dev/null || reason=full
  set -- "$1" up-*
  for other in $stale; do set -- "$@" "$turns/$other"; done
  code=$1
  shift
  rm -rf "$@"
  leave_turn
  # One short write: readers see all of the line or an empty file, which does not count as an end.
  { echo "$code $reason" > rc; } 2>/dev/null
  [ -z "$first" ] || [ -z "$mine" ] || prune > /dev/null 2>&1 < /dev/null &
  exit 0
}
supervise() {
  up=$1 mask=$2 runs=$3 turns=$4
  machine
  look $$
  if [ "$group" != $$ ]; then echo "no way found to start a session or process group: install setsid (util-linux) or perl" >&2; exit 71; fi
  me="$$ $started $boot"
  echo "$me" > "$up/who" || exit 72
  take_turn
  set -C
  { true > pid; } 2> /dev/null || {
    # Another has it, and has sent or will send the script off.
    [ -e pid ] && { rm -rf "$up" "$up.log"; exit 0; }
    true > pid || exit 72
  }
  set +C
  have=
  { echo "$me" >> pid; } 2> /dev/null
  read -r have < pid
  if [ "$have" != "$me" ]; then rm -f pid; echo "No space left on device" >&2; exit 72; fi
  # The claim must outlive a power cut, else the script could be started again after it.
  sync pid 2>/dev/null
  if [ -e cancel ]; then finish 143 cancel; fi
  if [ -e superseded ]; then finish 143 superseded; fi
  detach sh "$up/runner" script "$mask" "$up" < "$up/stdin" > out 2> err &
  child=$!
  if [ -n "$timeout" ]; then
    (
      sleep "$timeout"
      echo > timeout
      until [ -e starts ]; do sleep 1; done
      end_group
    ) > /dev/null 2>&1 &
  fi
  wait "$child"
  code=$?
  reason=exit
  [ -e starts ] || reason=full
  [ -e superseded ] && reason=superseded
  [ -e cancel ] && reason=cancel
  [ -e timeout ] && reason=timeout
  case $reason in cancel|superseded|timeout) end_group;; esac
  # Ends the watchdog and its sleep, which are in our own group.
  trap "" TERM
  [ -n "$timeout" ] && kill -s TERM 0
  finish "$code" "$reason"
}
script() {
  look $$
  echo "$$ $started" >> starts || exit 126
  HEDDLE_RUN=$PWD/$2 HEDDLE_RESULT=$PWD/result HEDDLE_DATA=$PWD/$2/stdin
  export HEDDLE_RUN HEDDLE_RESULT HEDDLE_DATA
  umask "$1"
  cd "$HOME" 2>/dev/null || cd /
  enter
}
"$@"
`;
