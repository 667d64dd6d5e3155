/** Shell function `look PID`: sets `state`, `group` and `started` of a process, empty when there is none. */
export const identityFunction = `
look() {
  state= group= started=
  if [ -r /proc/self/stat ]; then
    { read -r stat < "/proc/$1/stat"; } 2>/dev/null || return 0
    # The name in parentheses may hold blanks.
    stat=\${stat##*") "}
    set -- $stat
    state=$1 group=$3 started=\${20}
  else
    set -- $(LC_ALL=C ps -o state= -o pgid= -o lstart= -p "$1" 2>/dev/null)
    [ $# -gt 2 ] || return 0
    state=$1 group=$2; shift 2
    started=$(IFS=_; echo "$*")
  fi
}
`;

/**
 * The boot of a machine as a probe reports it, after `machine`. Machines that share process 1, such as
 * folders, name their boot themselves.
 */
export const bootWord = '"$boot${MACHINE_BOOT_ID:+/$MACHINE_BOOT_ID}"';

/**
 * Shell functions that tell whether a process is still the one that was written down. Used by all programs
 * that run on a node; POSIX sh, no external command where /proc exists.
 *
 * - `machine` sets `boot`: the kernel's boot id and the start of process 1. A container shares the former
 *   with its
 *   host, so only the latter tells that the container was started again.
 * - `fate` reads `pid` of the run folder and sets `fate` to `none` (not claimed), `running`, `died` or
 *   `reboot`.
 * - `find_group` sets `leader` to the script's process group, if anything of it is left.
 * - `end_group` ends what is left of the script: TERM, and KILL after five seconds.
 */
export const identityFunctions = `
${identityFunction}
machine() {
  boot=-
  { read -r boot < /proc/sys/kernel/random/boot_id; } 2>/dev/null
  look 1
  boot=$boot/$started
}
is_alive() {
  look "$1"
  [ -n "$started" ] && [ "$started" = "$2" ] && [ "$state" != Z ]
}
fate() {
  fate=none
  [ -e pid ] || return 0
  machine
  pid= since= on= waiter=
  { read -r pid since on waiter < pid; } 2>/dev/null
  if [ -z "$pid" ]; then
    # Claimed, but killed while writing its name: every candidate left its name before.
    fate=died
    for who in up/who-*; do
      { read -r pid since on waiter < "$who"; } 2>/dev/null && [ "$on" = "$boot" ] && is_alive "$pid" "$since" && fate=running
    done
  elif [ "$on" != "$boot" ]; then fate=reboot
  elif is_alive "$pid" "$since"; then fate=running
  else fate=died
  fi
  return 0
}
find_group() {
  leader= began=
  { read -r leader began < starts; } 2>/dev/null
  [ -n "$leader" ] || return 1
  look "$leader"
  # Another process with that number is none of ours.
  [ -z "$started" ] || [ "$started" = "$began" ] || return 1
  signal_group 0
}
signal_group() {
  # In this form for all shells: busybox knows no "--", dash no "-s" before a group. A script that has only just
  # been started is a process without a group of its own.
  kill "-$1" "-$leader" 2>/dev/null || { [ -n "$started" ] && kill "-$1" "$leader" 2>/dev/null; }
}
end_group() {
  find_group || return 0
  signal_group TERM || return 0
  tries=0
  while [ "$tries" -lt 50 ] && find_group; do
    sleep 0.1 2>/dev/null || { sleep 1; tries=$((tries + 9)); }
    tries=$((tries + 1))
  done
  find_group && signal_group KILL
  return 0
}
`;
