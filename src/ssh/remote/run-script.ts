import { cutFunctions } from './cut.js';
import { endRunFunctions } from './end-run.js';
import { folderFunctions } from './folder.js';
import { bootWord, identityFunctions } from './identity.js';
import { pruneFunctions } from './prune.js';
import { reportFunctions } from './report.js';
import { fenceFunctions } from './fence.js';

/**
 * Shell functions of a shell that stays on a node and runs scripts one after the other. Each run is a
 * subshell, its supervisor, that calls `run_script` with the variables of the run folder and its bounds,
 * `tag` (names this attempt), `timeout` (seconds, or empty), `input` (the script's standard input), `needs`
 * (digests of the shared texts in its files), and two functions: `upload` writes the files by `put`, joined
 * by `&&`; `enter WORD...` sets the environment and becomes the interpreter, started by the words.
 *
 * `run_script` takes the node's fence and claims the run by creating `pid` exclusively. That is the one right
 * to start the script: of any number of supervisors one passes. It starts the script in another session,
 * waits, removes the files and writes `rc` ("CODE REASON") last. Between the claim and `rc` it prints one
 * line, `NONCE claimed`, with SIGPIPE ignored, so a connection that is lost cannot end it.
 *
 * Prints `NONCE tick` while it ends an earlier script, `NONCE note TEXT` for the log, `NONCE O|E|R`, followed
 * by stdout, stderr or the result file and a line break, and `NONCE skip o|e BYTES` for output that was not
 * kept; last `NONCE end REASON CODE`, `NONCE running` (claimed by another), `NONCE missing DIGEST...` (shared
 * texts that must be sent first), or `NONCE fail WHY TEXT`. `conclude STATUS` prints `NONCE lost STATUS` for
 * a supervisor that did none of these.
 */
const functions = `
${folderFunctions}
${identityFunctions}
${endRunFunctions}
${fenceFunctions}
${pruneFunctions}
${cutFunctions}
${reportFunctions}
put() {
  printf "$2" "$3" > "up/$1" && return
  # Not every shell tells why its own command failed.
  problem=$({ printf "$2" "$3" | LC_ALL=C cat > "up/$1"; } 2>&1)
}
identify() {
  { read -r self rest < /proc/self/stat; } 2>/dev/null || self=$(exec sh -c 'echo $PPID')
  look "$self"
}
refuse() {
  problem=$({ printf %4096s . | LC_ALL=C cat > probe; } 2>&1) || { rm -rf up probe; trouble "$problem"; }
  rm -f probe
  fail start "$1"
}
finish() {
  code=$1 reason=$2
  if [ ! -e out ] && [ -n "$opened" ]; then { cat <&6 > out; cat <&7 > err; } 2>/dev/null; fi
  large=
  if [ -n "$opened" ]; then cut_large out 8; cut_large err 9; fi
  # A disk that is full at the end has cut the output, whatever the script made of it.
  { printf %4096s . > probe; } 2>/dev/null || [ ! -e pid ] || reason=full
  set -- up probe
  for other in $stale; do set -- "$@" "$fences/$other"; done
  rm -rf "$@"
  leave_fence
  record end "$code $reason"
  # One short write: readers see all of the line or an empty file, which does not count as an end.
  { echo "$code $reason" > rc; } 2>/dev/null
  prune_if_due $fence
}
start_script() {
  identify
  echo "$self $started" >> starts || exit 126
  record start "$self $started"
  HEDDLE_RUN=$PWD/up HEDDLE_RESULT=$PWD/result HEDDLE_DATA=$input
  case $input in up/*) HEDDLE_DATA=$PWD/$input;; esac
  export HEDDLE_RUN HEDDLE_RESULT HEDDLE_DATA
  umask "$mask"
  cd "$HOME" 2>/dev/null || cd /
  enter "$@"
}
start_in_session() {
  # Nothing that ends the login reaches the script. Always called in the background: the process that it becomes
  # is then the one whose number the caller sees.
  case $session in
    *setsid) start_script "$session";;
    *perl) start_script "$session" -e 'use POSIX; POSIX::setsid() > 0 or die "no session\\n"; exec { $ARGV[0] } @ARGV';;
    *)
      set -m
      start_script <&0 &
      wait $!;;
  esac
}
watch_time() {
  stop=
  trap stop=1 TERM
  sleep "$timeout" &
  sleeper=$!
  [ -n "$stop" ] || wait "$sleeper"
  if [ -n "$stop" ]; then kill -s TERM "$sleeper" 2>/dev/null; return; fi
  stay
  echo > timeout
  until [ -e starts ]; do sleep 1; done
  end_group
}
stay() {
  # The script has removed the folder of its run: the supervisor goes on where the claim is recorded.
  [ ! -e pid ] || return 0
  find_claim
  if [ ! -e "$runs/$run/pid" ]; then
    # No record is left either.
    runs=$origin
    mkdir -p "$runs/$run"
    cd "$runs/$run" || return
    look "$child"
    [ -z "$started" ] || echo "$child $started" > starts
    echo "$me" > pid
    note_id
    find_outside make
    record claim "$me"
  fi 2>/dev/null
  moved=1
  cd "$runs/$run" 2>/dev/null
}
supervise() {
  [ -n "$session" ] || fail folder "no way found to start a session or process group: install setsid (util-linux) or perl"
  identify
  me="$self $started $boot $waiter"
  if ! { echo "$me" > "up/who-$tag"; } 2>/dev/null; then
    # Another attempt may have carried out the whole run meanwhile.
    [ -e pid ] || refuse "its folder cannot be written"
    return
  fi
  take_fence
  if ! claim "$me"; then
    rm -f "up/who-$tag"
    [ -e pid ] || find_claim
    [ -e "$runs/$run/pid" ] || refuse "it could not be claimed"
    cd "$runs/$run" 2>/dev/null
    return
  fi
  have=
  { echo "$me" >> pid; } 2>/dev/null
  read -r have < pid
  if [ "$have" != "$me" ]; then release; fail full "No space left on device"; fi
  # The shell reports children that were killed; the connection may be gone, and writing to it would end us.
  exec 2> /dev/null
  # The claim must outlive a power cut, else the script could be started again after it.
  sync pid
  trap "" PIPE
  printf '%s claimed\\n' "$nonce"
  trap - PIPE
  if [ -e cancel ]; then finish 143 cancel; return; fi
  if [ -e superseded ]; then finish 143 superseded; return; fi
  # A limit of the login on sizes of files shows as an error of the write.
  trap "" XFSZ
  upload
  uploaded=$?
  trap - XFSZ
  if [ "$uploaded" -ne 0 ]; then
    release
    [ -z "$problem" ] || trouble "$problem"
    refuse "its files could not be written"
  fi
  # So that what it prints can be reported if it removes these files.
  opened=
  { true > out && true > err; } 2>/dev/null
  if [ -e out ] && [ -e err ]; then exec 6< out 7< err 8> out 9> err; opened=1; else exec 8>&- 9>&-; fi
  start_in_session < "$input" >&8 2>&9 6<&- 7<&- 8>&- 9>&- &
  child=$!
  watcher=
  if [ -n "$timeout" ]; then
    watch_time > /dev/null 2>&1 6<&- 7<&- 8>&- 9>&- &
    watcher=$!
  fi
  wait "$child"
  code=$?
  stay
  reason=exit
  [ -e starts ] || [ -n "$moved" ] || reason=full
  [ -e superseded ] && reason=superseded
  [ -e cancel ] && reason=cancel
  [ -e timeout ] && reason=timeout
  case $reason in cancel|superseded|timeout) end_group;; esac
  [ -z "$watcher" ] || kill -s TERM "$watcher"
  finish "$code" "$reason"
}
report() {
  noted=
  # Without rc nothing could be written any more.
  [ ! -s rc ] || read -r code reason < rc
  show_all
  result
  say end "$reason" "$code"
}
run_script() {
  umask 077
  code= reason= child= moved=
  find_runs
  enter_run up
  own=$runs
  # Runs of the login and of root share a fence if the login made its folder.
  fences=$runs/.fences
  case $login in /*) [ ! -d "$login/.heddle/runs/.fences" ] || fences=$login/.heddle/runs/.fences;; esac
  if [ ! -s rc ] && [ ! -e pid ]; then begin; fi
  if [ -s rc ] || [ -n "$reason" ]; then report; else say running; fi
  exit 0
}
begin() {
  missing=
  for need in $needs; do [ -s "$runs/.shared/$need" ] || missing="$missing $need"; done
  if [ -n "$missing" ]; then say "missing$missing"; exit 0; fi
  note_id
  supervise
}
conclude() {
  [ "$1" -eq 0 ] || say lost "$1"
}
`;

/**
 * What a shell that reads its program from standard input executes first. Variables: `nonce`, and `functions`
 * with the functions above. Arguments: the process that keeps the channel open; with sudo, the login's home.
 * Prints `NONCE hello BOOT`.
 */
export const runnerProgram = `
login=$2
eval "$functions"
mask=$(umask)
machine
waiter=
# If that process has ended, our parent is another one, maybe process 1.
if [ "$PPID" = "$1" ]; then
  look "$1"
  waiter="$1 $started"
fi
session=$(command -v setsid || command -v perl)
if [ -z "$session" ]; then
  # Does this shell give its children process groups without a terminal?
  session=$( ( set -m; ( identify; [ "$group" != "$self" ] || echo shell ) & wait $! ) 2>/dev/null)
fi
printf '\\n'
say hello ${bootWord}
`;

export const runnerFunctions = functions;
