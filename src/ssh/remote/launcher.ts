import { folderFunctions } from './folder.js';
import { identityFunctions } from './identity.js';

/**
 * The one remote program of a normal run: takes the upload from standard input, sends a supervisor off to
 * claim and start the run, and shows its output as it grows. Where the run is already claimed it only shows
 * (attaches). It may be killed at any point: nothing depends on it but the showing.
 *
 * Variables: those of the run folder; `sent` (1 when an upload follows, 0 to show only), `tag` (names the
 * upload, and is a line in it, between script and standard input, of `script_size` and `stdin_size` bytes,
 * and the supervisor's program), `outat`, `errat` (bytes of the output that are already known). Argument:
 * with sudo, the login's home.
 *
 * What it prints: lines `NONCE o|e|r BYTES`, each followed by so many bytes of stdout, stderr or result file;
 * `NONCE note TEXT` for the log; `NONCE tick` while nothing happens, `NONCE tick claimed` once the run is
 * claimed; last `NONCE end REASON CODE` or `NONCE fail WHY TEXT`. Anything before the first line is noise of
 * the login shell.
 */
export const launcherProgram = `
${folderFunctions}
${identityFunctions}
receive() {
  problem=$({ LC_ALL=C cat > "$up/all"; } 2>&1) || {
    # 153: by SIGXFSZ, which says nothing itself.
    [ $? -ne 153 ] || problem="File too large for the limits of the login"
    refuse_upload
  }
  exec 5< "$up/all"
  part script "$script_size" && part stdin "$stdin_size" || refuse_upload
  mark=
  read -r mark <&5
  # Cut short: the listener is gone.
  [ "$mark" = "$tag" ] || { problem="short the upload was cut on its way"; rm -rf "$up"; fail $problem; }
  problem=$({ LC_ALL=C cat <&5 > "$up/runner"; } 2>&1) || refuse_upload
  exec 5<&-
}
refuse_upload() {
  # Its end takes the uploads along that came late.
  if [ -e pid ]; then follow; fi
  rm -rf "$up"
  trouble "$problem"
}
part() {
  if [ "$2" -eq 0 ]; then true > "$up/$1"; return; fi
  problem=$({ LC_ALL=C dd bs="$2" count=1 <&5 > "$up/$1"; } 2>&1)
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
show() {
  if [ -z "$noted" ] && [ -e notes ] && [ -e pid ]; then
    while read -r line; do say note "$line"; done < notes
    noted=1
  fi
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
  [ -s result ] || return 0
  set -- $(LC_ALL=C ls -ln result)
  size=$5
  [ "$size" -le 8193 ] || size=8193
  exec 6< result
  piece r 6 "$size"
}
hang_up() {
  # The listener is gone. The launcher waits for its supervisor and would not notice.
  is_alive $$ "$launched" && kill -s KILL $$
  exit 0
}
follow() {
  trap over=1 TERM
  trap hang_up PIPE
  # No shorter ones: the supervisor's end is told by a signal.
  shown= noted= idle=0 naps="- 0.05 0.08 0.1 0.2 0.3 0.5"
  while :; do
    ended=$over
    if [ ! -e rc ]; then
      fate
      case $fate in
        none)
          if [ -n "$ended" ] && [ ! -e pid ]; then
            [ ! -s "$up.log" ] || trouble "$(cat "$up.log")"
            fail start "the supervisor ended before it claimed the run"
          fi;;
        died|reboot) if [ ! -e rc ]; then dead; fi;;
      esac
      [ -e rc ] || { show; nap; continue; }
    fi
    show
    code= reason=
    read -r code reason < rc
    # An empty file is what a power cut leaves of it.
    [ -n "$reason" ] || { fate; dead; }
    result
    # An upload whose sender was killed.
    set -- up-*
    [ ! -e "$1" ] || rm -rf "$@"
    say end "$reason" "$code"
    exit 0
  done
}
dead() {
  show
  if [ "$fate" = died ]; then end_group; fi
  { printf %4096s . > probe; } 2>/dev/null || fate=full
  rm -rf up-* probe
  say end "$fate"
  exit 0
}
launch() {
  mask=$(umask)
  umask 077
  printf '\\n'
  say hello
  up=
  [ "$sent" -eq 0 ] || up=up-$tag
  find_runs
  enter_run "$up"
  # Runs of the login and runs of root take turns with each other where the login made room for that.
  turns=$runs/.turns
  case $1 in /*) [ ! -d "$1/.heddle/runs/.turns" ] || turns=$1/.heddle/runs/.turns;; esac
  child= over=
  look $$
  launched=$started
  if [ ! -e rc ] && [ ! -e pid ] && [ -n "$up" ]; then
    receive
    detach sh "$up/runner" supervise "$up" "$mask" "$runs" "$turns" < /dev/null > /dev/null 2> "$up.log" &
    child=$!
  fi
  if [ ! -e rc ] && [ ! -e pid ] && [ -z "$child" ]; then say end absent; exit 0; fi
  if [ -z "$child" ]; then follow; fi
  follow &
  follower=$!
  wait "$child"
  # It is our own child and not waited for yet, so the number cannot belong to another process.
  kill -s TERM "$follower" 2>/dev/null
  wait "$follower"
  # The signal came before the follower was ready for it, so it has shown nothing yet.
  [ $? -le 128 ] || { over=1; follow; }
}
launch "$@"
`;
