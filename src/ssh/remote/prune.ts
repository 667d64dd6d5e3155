/**
 * Shell functions that remove old run folders after the end of a run. Variables: `own`, the folder of all
 * runs; `fences`, `origin`, `outside`; `large`, set after a run with much output; and the bounds of the
 * folder: `keepdays`, `keepruns` (number) and `keepkib` (size in KiB). Need the identity and claim functions.
 *
 * - `prune_if_due NODE TIME OPERATION` does so in the background: once an hour, by the times of tasks, after
 *   a large run, and whenever there are more than 200 folders.
 * - `prune`, in the folder of runs: the oldest folders beyond the bounds go. Those of a node's latest
 *   operation go only where the record of the claim has the outcome, since an attempt may still come for it,
 *   or after three months. Of operations that have given way to a later one of their node, only the last 100
 *   folders stay, at most a week, and none with more than 1 MiB in a file.
 */
export const pruneFunctions = `
prune_if_due() {
  [ $# -eq 3 ] && [ -d "$own" ] || return 0
  # In units of 10 s. The digit in front keeps it from being octal.
  now=1\${2%????} last=
  { read -r last < "$own/.pruned"; } 2>/dev/null
  case $last in *[!0-9]*) last=;; esac
  set -- "$own"/*
  if [ -n "$last" ]; then
    [ -n "$large" ] || [ $# -gt 200 ] || [ "$now" -lt "$last" ] || [ "$now" -ge $((last + 360)) ] || return 0
  fi
  { echo "$now" > "$own/.pruned"; } 2>/dev/null
  # There is nothing old on a new node.
  [ -n "$last" ] || [ $# -gt 1 ] || return 0
  (cd "$own" && prune) < /dev/null > /dev/null 2>&1 6<&- 7<&- 8>&- 9>&- &
}
is_latest() {
  its_id= its_node= its_operation=
  {
    read -r its_id
    read -r its_node its_time its_operation
  } 2>/dev/null < "$1/id"
  latest=
  # In the order of their times.
  for entry in "$fences/$its_node".*; do
    { read -r latest its_folder < "$entry"; } 2>/dev/null
  done
  [ -z "$latest" ] || [ "$latest" = "$its_operation" ]
}
is_recorded() {
  for place in $outside; do
    if [ -s "$place/$1.claim" ]; then return 0; fi
  done
  return 1
}
record_again() {
  # The system may have emptied the places of the records.
  find_outside make
  its_claim= its_start= its_end=
  { read -r its_claim < "$1/pid"; read -r its_start < "$1/starts"; read -r its_end < "$1/rc"; } 2>/dev/null
  [ -n "$its_claim" ] && [ -n "$its_end" ] || return 1
  for place in $outside; do
    { printf '%s\\n' "claim $its_claim" "start $its_start" "end $its_end" > "$place/$1.claim"; } 2>/dev/null
  done
  is_recorded "$1"
}
fits() {
  # Sizes are looked at only where all of them together are too much.
  [ "$total" -gt "$keepkib" ] || return 0
  set -- $(du -sk "./$1" 2>/dev/null)
  # The newest one may be read just now.
  [ "$count" -gt 1 ] && [ $((kib + \${1:-0})) -gt "$keepkib" ] && return 1
  kib=$((kib + \${1:-0}))
}
prune() {
  week=" $(echo $(find . ! -name . -prune -type d ! -name ".*" -mtime +7 2>/dev/null)) "
  aged=" $(echo $(find . ! -name . -prune -type d ! -name ".*" -mtime "+$keepdays" 2>/dev/null)) "
  quarter=" $(echo $(find . ! -name . -prune -type d ! -name ".*" -mtime +90 2>/dev/null)) "
  big=" $(echo $(find . -type f -size +2048 2>/dev/null)) "
  set -- $(du -sk . 2>/dev/null)
  total=\${1:-0} kib=0 count=0 earlier=0
  # The newest first.
  LC_ALL=C ls -t | while read -r old; do
    [ -d "$old" ] || continue
    count=$((count + 1)) surplus=
    fits "$old" && [ "$count" -le "$keepruns" ] || surplus=1
    case $aged in *" ./$old "*) surplus=1;; esac
    if is_latest "$old"; then
      case $quarter in
        *" ./$old "*) ;;
        *) [ -n "$surplus" ] && { is_recorded "$old" || record_again "$old"; } || continue;;
      esac
      records=
    else
      earlier=$((earlier + 1))
      case $week$big in
        *" ./$old "*|*" ./$old/"*) ;;
        *) [ -n "$surplus" ] || [ "$earlier" -gt 100 ] || continue;;
      esac
      records=1
    fi
    [ -s "$old/rc" ] || (cd "$old" && fate && [ "$fate" != running ]) || continue
    rm -rf "$old"
    [ -z "$records" ] || for place in $outside; do rm -f "$place/$old.claim"; done
  done
  # Sent again when they are needed.
  find .shared -type f -mtime +7 -exec rm -f {} + 2>/dev/null
  for place in $outside; do prune_records "$place"; done
}
prune_records() {
  cd "$1" || return
  find . -type f -name "*.claim" -mtime +90 -exec rm -f {} + 2>/dev/null
  # Folders that were put back here.
  find . ! -name . -prune -type d -mtime +7 -exec rm -rf {} + 2>/dev/null
  count=0
  LC_ALL=C ls -t | while read -r old; do
    count=$((count + 1))
    [ "$count" -gt $((keepruns + 2000)) ] || continue
    # Of a run that has not ended.
    [ ! -d "$own/\${old%.claim}" ] || [ -s "$own/\${old%.claim}/rc" ] || continue
    rm -rf "./$old"
  done
}
`;
