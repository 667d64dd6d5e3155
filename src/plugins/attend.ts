/**
 * Shell function `attend WORDS`, for scripts: carries out a tool that gives each of its commands a session of
 * its own, where ending the script's process group does not reach them. When the script is told to end, all
 * that it started is ended: what carries this run's HEDDLE_RUN in its environment, which every process hands
 * on to those it starts. Asked first, then killed, in rounds, for new ones may appear between two looks;
 * within the five seconds that a script has to end.
 *
 * An SSH server is spared: one that the tool started anew is the way to the node. Without Linux's /proc only
 * the group is ended.
 */
export const attendFunction = `
attend() {
  trap end_started TERM
  "$@" < /dev/null &
  wait "$!"
  code=$?
  trap - TERM
  return "$code"
}
end_started() {
  trap '' TERM
  each_started TERM
  rounds=0
  while [ "$rounds" -lt 15 ] && each_started 0; do
    sleep 0.1 2> /dev/null || { sleep 1; rounds=$((rounds + 9)); }
    rounds=$((rounds + 1))
  done
  rounds=0
  while [ "$rounds" -lt 20 ] && each_started KILL; do rounds=$((rounds + 1)); done
  exit 143
}
each_started() {
  some=1
  for place in $(grep -slaF "HEDDLE_RUN=$HEDDLE_RUN" /proc/[0-9]*/environ); do
    place=\${place%/environ}
    [ "$place" != "/proc/$$" ] || continue
    name=
    { read -r name < "$place/comm"; } 2> /dev/null || continue
    case $name in sshd*|dropbear*) continue;; esac
    # The words may stand elsewhere in an environment, as a part of something.
    tr '\\0' '\\n' 2> /dev/null < "$place/environ" | grep -qxF "HEDDLE_RUN=$HEDDLE_RUN" || continue
    kill -s "$1" "\${place#/proc/}" 2> /dev/null && some=0
  done
  return "$some"
}
`;
