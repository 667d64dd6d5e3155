import { folderFunctions } from './folder.js';
import { identityFunctions } from './identity.js';

/**
 * The one remote program of a normal run: stores the upload, starts a supervisor that claims the run, and
 * reports the output and the end. If the run is already claimed, it only reports. It may be killed at any
 * point without effect on the run.
 *
 * It waits for the supervisor while its standard input is open, and from then on streams the output as it
 * grows: a short script costs no polling.
 *
 * Variables: those of the run folder; `sent` (1 when there is an upload, 0 to report only), `tag` (names the
 * upload), `outat`, `errat` (bytes of the output that are already known). Function: `upload`, which writes
 * the files of the upload with `put`. Argument: with sudo, the login's home.
 *
 * Prints the lines `NONCE o|e BYTES`, each followed by so many bytes of stdout or stderr; `NONCE O|E|R`,
 * followed by the rest of stdout, stderr or the result file and a line break; `NONCE note TEXT` for the log;
 * `NONCE tick` while nothing happens, `NONCE tick claimed` once the run is claimed; last `NONCE end REASON
 * CODE` or `NONCE fail WHY TEXT`. Anything before the first line comes from the login shell.
 */
export const launcherProgram = `
${folderFunctions}
${identityFunctions}
put() {
  printf "$2" "$3" >> "$up/$1" && return
  # Not every shell tells why its own command failed.
  printf "$2" "$3" | LC_ALL=C cat >> "$up/$1"
  exit 72
}
start() {
  upload
  detach sh "$up/runner" supervise "$up" "$mask" "$runs" "$turns"
}
piece() {
  [ "$3" -gt 0 ] || return 0
  say "$1" "$3"
  [ "$3" -lt 65536 ] || dd bs=65536 count=$(($3 / 65536)) <&"$2" 2>/dev/null || hang_up
  [ $(($3 % 65536)) -eq 0 ] || dd bs=$(($3 % 65536)) count=1 <&"$2" 2>/dev/null || hang_up
}
seek() {
  [ "$2" -lt 65536 ] || dd bs=65536 skip=$(($2 / 65536)) count=0 <&"$1" 2>/dev/null
  [ $(($2 % 65536)) -eq 0 ] || dd bs=1 skip=$(($2 % 65536)) count=0 <&"$1" 2>/dev/null
}
notes() {
  if [ -z "$noted" ] && [ -e notes ] && [ -e pid ]; then
    while read -r line; do say note "$line"; done < notes
    noted=1
  fi
}
show() {
  notes
  if [ -z "$shown" ]; then
    [ -e out ] && [ -e err ] || return 0
    exec 3< out 4< err
    seek 3 "$outat"
    seek 4 "$errat"
    shown=1
  fi
  set -- $(LC_ALL=C ls -ln err out 2>/dev/null)
  piece e 4 $(($5 - errat))
  piece o 3 $((\${14} - outat))
  [ "$5" -gt "$errat" ] && errat=$5 idle=0
  [ "\${14}" -gt "$outat" ] && outat=\${14} idle=0
}
show_all() {
  if [ -n "$shown" ] || [ "$outat$errat" != 00 ]; then show; return; fi
  notes
  if [ -s err ]; then say E; cat err; printf '\\n'; fi
  if [ -s out ]; then say O; cat out; printf '\\n'; fi
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
    if [ -e pid ]; then say tick claimed; else say tick; fi
    idle=0
  fi
}
result() {
  if [ -s result ]; then say R; dd bs=8193 count=1 < result 2>/dev/null; printf '\\n'; fi
}
hang_up() {
  # The listener is gone. The launcher waits for its supervisor and would not notice.
  is_alive $$ "$launched" && kill -s KILL $$
  exit 0
}
refuse() {
  # 153: by SIGXFSZ, which says nothing itself.
  [ "$status" != 153 ] || trouble "File too large for the limits of the login"
  [ ! -s "$up.log" ] || trouble "$(cat "$up.log")"
  problem=$({ printf %4096s . | LC_ALL=C cat > probe; } 2>&1) || { rm -rf "$up" probe; trouble "$problem"; }
  fail start "the supervisor ended before it claimed the run"
}
follow() {
  trap over=1 TERM
  trap hang_up PIPE
  # The supervisor's end is told by a signal.
  shown= noted= idle=0 naps="- 0.1 0.2 0.3 0.5"
  while :; do
    ended=$over
    if [ ! -s rc ]; then
      fate
      case $fate in
        none) if [ -n "$ended" ] && [ ! -e pid ]; then refuse; fi;;
        died|reboot) if [ ! -s rc ]; then dead; fi;;
      esac
      [ -s rc ] || { show; nap; continue; }
    fi
    code= reason=
    read -r code reason < rc
    show_all
    result
    # An upload whose sender was killed.
    set -- up-*
    [ ! -e "$1" ] || rm -rf "$@"
    say end "$reason" "$code"
    exit 0
  done
}
follow_later() {
  read -r line
  follow
}
dead() {
  show_all
  if [ "$fate" = died ]; then end_group; fi
  { printf %4096s . > probe; } 2>/dev/null || fate=full
  rm -rf up-* probe
  say end "$fate"
  exit 0
}
launch() {
  printf '\\n'
  say hello
  up=
  [ "$sent" -eq 0 ] || up=up-$tag
  find_runs
  enter_run "$up"
  # The login's mask, for the script; read from a file, because a substitution would cost a process.
  mask=022
  if [ -n "$up" ]; then { umask > "$up/mask" && read -r mask < "$up/mask"; } 2>/dev/null; fi
  umask 077
  note_id
  # Runs of the login and runs of root take turns with each other where the login made room for that.
  turns=$runs/.turns
  case $1 in /*) [ ! -d "$1/.heddle/runs/.turns" ] || turns=$1/.heddle/runs/.turns;; esac
  child= over= status=
  look $$
  launched=$started
  if [ ! -s rc ] && [ ! -e pid ] && [ -n "$up" ]; then
    start < /dev/null > /dev/null 2> "$up.log" &
    child=$!
  fi
  if [ ! -s rc ] && [ ! -e pid ] && [ -z "$child" ]; then say end absent; exit 0; fi
  if [ -z "$child" ]; then follow; fi
  exec 5<&0
  follow_later <&5 &
  follower=$!
  wait "$child"
  status=$?
  # It is our own child and not waited for yet, so the number cannot belong to another process.
  kill -s TERM "$follower" 2>/dev/null
  wait "$follower"
  # It was still waiting, so it has shown nothing yet.
  [ $? -le 128 ] || { over=1; follow; }
}
launch "$@"
`;
