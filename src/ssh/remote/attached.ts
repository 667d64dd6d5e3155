/**
 * Runs a command in the folder `folder` of the home, which it creates if necessary and deletes afterwards.
 * The command ends when standard input does: the connection was cut, or its client has ended or asks for it.
 * Variables: `folder`, `command` (shell text). Exits with the command's exit code.
 *
 * Everything that the command leaves in its session ends with it: TERM, and KILL after five seconds.
 */
export const attachedProgram = `
fail() { printf '%s\\n' "$*" >&2; exit 125; }
printf '\\n%s\\n' "$nonce"
printf '\\n%s\\n' "$nonce" >&2
cd || fail "the login user has no home folder"
(umask 077; mkdir -p "$folder") && cd "$folder" || fail "cannot make folder $folder"
export HEDDLE_COMMAND="$command"
# A variable, so that no list of processes shows the command's text.
body='text=$HEDDLE_COMMAND; unset HEDDLE_COMMAND; eval "$text"'
exec 5<&0
if command -v setsid >/dev/null; then setsid sh -c "$body" </dev/null 5<&- &
else sh -c "$body" </dev/null 5<&- & fi
leader=$!
# Only now: the command could not undo it.
trap '' HUP PIPE
signal_group() { kill "-$1" "-$leader" 2>/dev/null || kill "-$1" "$leader" 2>/dev/null; }
end_group() {
  signal_group TERM || return 0
  tries=0
  while [ "$tries" -lt 50 ] && signal_group 0; do
    sleep 0.1 2>/dev/null || { sleep 1; tries=$((tries + 9)); }
    tries=$((tries + 1))
  done
  signal_group KILL
  return 0
}
{ cat <&5; end_group; } >/dev/null 2>&1 &
watcher=$!
exec 5<&- </dev/null
wait "$leader"; code=$?
kill "$watcher" 2>/dev/null
end_group
cd; rm -rf "$folder"
exit "$code"
`;
