/**
 * Shell functions that keep the claim of a run where its script does not reach it. A script may empty the
 * home, and with it the folder of its own run, so each claim is recorded outside as well: in `/var/tmp`,
 * which outlives a boot, and in `/dev/shm`, which scripts that empty `/var/tmp` leave alone. Variables:
 * `origin`, the folder that the run belongs to, `run` and `id`. A record has the lines `claim ...`,
 * `start ...` and `end ...` with the words of the files `pid`, `starts` and `rc`.
 *
 * - `find_outside [MAKE]` sets `outside` to the folders of the records, which it creates with an argument.
 * - `claim WORDS` is the one right to start the run; it fails if the run was claimed before.
 * - `release` gives the claim back: nothing was started. `record WORDS` adds a line to the records.
 * - `find_claim` sets `runs` to a folder outside, if the run was claimed and its own folder is gone: it puts
 *   the run's folder back there.
 */
export const claimFunctions = `
is_ours() { [ -d "$1" ] && [ -O "$1" ] && [ ! -L "$1" ]; }
own_uid() {
  { while read -r word uid others && [ "$word" != Uid: ]; do uid=; done; } 2>/dev/null < /proc/self/status
  [ -n "$uid" ] || uid=$(id -u 2>/dev/null)
}
find_outside() {
  [ -n "$uid" ] || own_uid
  make=$1 outside=
  [ -n "$uid" ] || return 0
  # The name of a folder of which there are several on a machine with several homes.
  IFS='/ *?['
  set -f
  set -- $origin
  IFS=-
  of=$*
  unset IFS
  set +f
  for place in \${MACHINE_CLAIMS:-/var/tmp /dev/shm}; do
    place=$place/heddle-$uid
    [ -z "$make" ] || [ -d "$place" ] || mkdir -m 700 "$place" 2>/dev/null
    is_ours "$place" || continue
    place=$place/runs-of$of
    [ -z "$make" ] || [ -d "$place" ] || mkdir -m 700 "$place" 2>/dev/null
    [ ! -d "$place" ] || outside="$outside $place"
  done
}
claim() {
  find_outside make
  set -C
  { true > pid; } 2>/dev/null
  taken=$?
  [ "$taken" -ne 0 ] || record_claim "$@"
  set +C
  return "$taken"
}
record_claim() {
  made=
  for place in $outside; do
    if { true > "$place/$run.claim"; } 2>/dev/null; then
      made="$made $place/$run.claim"
      # Without its words the record would be taken for that of a run that died.
      { echo "claim $*" >> "$place/$run.claim"; } 2>/dev/null || rm -f "$place/$run.claim"
    elif [ -e "$place/$run.claim" ]; then taken=1
    fi
  done
  # Claimed before, in a folder that is gone since.
  [ "$taken" -eq 0 ] || rm -f pid $made
}
release() {
  rm -f pid
  for place in $outside; do rm -f "$place/$run.claim"; done
  true > released
}
record() {
  for place in $outside; do { echo "$*" >> "$place/$run.claim"; } 2>/dev/null; done
}
find_claim() {
  find_outside
  for place in $outside; do
    [ -s "$place/$run/pid" ] || [ -s "$place/$run.claim" ] || continue
    # The claim is older than its record, so it may have been made a moment ago; otherwise it was removed.
    find_own
    [ ! -e "$runs/$run/pid" ] || return 0
    [ -s "$place/$run/pid" ] || put_back "$place"
    runs=$place
    return
  done
  find_own
}
find_own() {
  [ -e "$runs/$run/pid" ] || [ ! -e "$origin/$run/pid" ] || runs=$origin
}
put_back() {
  its_claim= its_start= its_end=
  while read -r word words; do
    case $word in claim) its_claim=$words;; start) its_start=$words;; end) its_end=$words;; esac
  done < "$1/$run.claim"
  (
    umask 077
    mkdir -p "$1/$run" && cd "$1/$run" || exit
    [ -z "$id" ] || keep id "$id"
    keep notes "the folder of this run was removed on the node; output may be missing"
    [ -z "$its_start" ] || keep starts "$its_start"
    [ -z "$its_end" ] || keep rc "$its_end"
    keep pid "\${its_claim:-0 0 -}"
  ) 2>/dev/null
}
keep() {
  [ -s "$1" ] || { echo "$2" > ".$1.$$" && mv -f ".$1.$$" "$1"; }
}
`;
