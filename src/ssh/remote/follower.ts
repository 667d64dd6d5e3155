import { folderFunctions } from './folder.js';
import { identityFunctions } from './identity.js';
import { reportFunctions } from './report.js';

/**
 * Reports the output of a run that was claimed, as it grows, and its end. It may be killed at any point
 * without effect on the run.
 *
 * Variables: those of the run folder; `outat`, `errat` (bytes of the output that are already known).
 *
 * Prints the lines `NONCE o|e BYTES`, each followed by so many bytes of stdout or stderr; `NONCE O|E|R`,
 * followed by the rest of stdout, stderr or the result file and a line break; `NONCE skip o|e BYTES` for
 * output that was not kept; `NONCE note TEXT` for the log; `NONCE tick` first, and while nothing happens;
 * last `NONCE end REASON CODE`, `NONCE absent` (nothing shows that the run was claimed), `NONCE released`
 * (its claim was given back: nothing was started), or `NONCE fail WHY TEXT`. Anything before the first line
 * comes from the login shell.
 */
export const followerProgram = `
${folderFunctions}
${identityFunctions}
${reportFunctions}
piece() {
  [ "$3" -gt 0 ] || return 0
  say "$1" "$3"
  [ "$3" -lt 65536 ] || dd bs=65536 count=$(($3 / 65536)) <&"$2" 2>/dev/null || hang_up
  [ $(($3 % 65536)) -eq 0 ] || dd bs=$(($3 % 65536)) count=1 <&"$2" 2>/dev/null || hang_up
}
stretch() {
  # KIND FD FROM TO [HOLE], of which the hole is passed over.
  if [ $# -eq 4 ] || [ "$3" -ge "$6" ] || [ "$4" -le "$5" ]; then piece "$1" "$2" $(($4 - $3)); return; fi
  at=$3
  if [ "$at" -lt "$5" ]; then piece "$1" "$2" $(($5 - at)); at=$5; fi
  say skip "$1" $(($6 - at))
  seek "$2" $(($6 - at))
  piece "$1" "$2" $(($4 - $6))
}
seek() {
  [ "$2" -lt 65536 ] || dd bs=65536 skip=$(($2 / 65536)) count=0 <&"$1" 2>/dev/null
  [ $(($2 % 65536)) -eq 0 ] || dd bs=1 skip=$(($2 % 65536)) count=0 <&"$1" 2>/dev/null
}
show() {
  notes
  if [ -z "$shown" ]; then
    [ -e out ] && [ -e err ] || return 0
    exec 3< out 4< err
    # A run that has ended may have cut them before they were opened.
    find_hole out; outhole="$from $to"
    find_hole err; errhole="$from $to"
    seek 3 "$outat"
    seek 4 "$errat"
    shown=1
  fi
  set -- $(LC_ALL=C ls -ln err out 2>/dev/null)
  stretch e 4 "$errat" "$5" $errhole
  stretch o 3 "$outat" "\${14}" $outhole
  [ "$5" -gt "$errat" ] && errat=$5 idle=0
  [ "\${14}" -gt "$outat" ] && outat=\${14} idle=0
}
show_rest() {
  find_hole out
  find_hole err
  if [ -n "$shown" ] || [ "$outat$errat" != 00 ]; then show; else show_all; fi
}
nap() {
  case $naps in *" "*) naps=\${naps#* };; esac
  # Without our output: a sleep that is left over would hold the channel open.
  sleep "\${naps%% *}" < /dev/null > /dev/null 2>&1 &
  wait $!
  # 1 or 2: this sleep knows whole seconds only.
  case $? in 1|2) sleep 1;; esac
  idle=$((idle + 1))
  if [ "$idle" -ge 10 ]; then
    say tick
    idle=0
  fi
}
free_channel() {
  # The process that keeps the channel of the run's shell open: its reader has us now.
  ! is_alive $waiter || kill -s TERM "\${waiter% *}"
}
dead() {
  show_rest
  if [ "$fate" = died ]; then end_group; fi
  { printf %4096s . > probe; } 2>/dev/null || fate=full
  rm -rf up probe
  say end "$fate"
  exit 0
}
without_claim() {
  if [ -e released ]; then say released; else say absent; fi
  exit 0
}
look_outside() {
  # The folder of the run was removed, or its claim was given back.
  [ ! -e released ] || without_claim
  find_claim
  if [ -e "$runs/$run/pid" ]; then
    cd "$runs/$run"
    shown=
  elif is_alive "$pid" "$since"; then nap
  else without_claim
  fi
}
follow() {
  printf '\\n'
  find_runs
  cd "$runs/$run" 2>/dev/null || { say absent; exit 0; }
  [ -s rc ] || [ -e pid ] || without_claim
  say tick
  trap hang_up PIPE
  shown= noted= idle=0 naps="- 0.1 0.2 0.3 0.5" pid= since=
  if [ ! -s rc ]; then
    fate
    [ "$fate" != running ] || free_channel
  fi
  while [ ! -s rc ]; do
    if [ ! -e pid ]; then
      look_outside
      continue
    fi
    fate
    # It may have ended meanwhile.
    case $fate in
      died|reboot) [ -s rc ] || dead;;
      none) continue;;
    esac
    [ -s rc ] || { show; nap; }
  done
  code= reason=
  read -r code reason < rc
  show_rest
  result
  say end "$reason" "$code"
  exit 0
}
follow
`;
