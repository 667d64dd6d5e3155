/**
 * Shell functions that remove old run folders after the end of a run. Variables: `own`, the folder of all runs;
 * `turns`, `origin`, `outside`. Need the identity and claim functions.
 *
 * - `prune_if_due NODE TIME OPERATION` does so in the background: once an hour, by the times of tasks, and whenever
 *   there are more than 200 folders.
 * - `prune`, in the folder of runs: of operations that have given way to a later one of their node, only the last 100
 *   folders stay, at most a week, and none with more than 1 MiB in a file. Those of a node's latest operation stay:
 *   an attempt may still come for their outcome. After three months, and beyond 1,000 folders, they go as well, the
 *   latter only where the record of the claim has the outcome.
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
    [ $# -gt 200 ] || [ "$now" -lt "$last" ] || [ "$now" -ge $((last + 360)) ] || return 0
  fi
  { echo "$now" > "$own/.pruned"; } 2>/dev/null
  # There is nothing old on a new node.
  [ -n "$last" ] || [ $# -gt 1 ] || return 0
  (cd "$own" && prune) < /dev/null > /dev/null 2>&1 6<&- 7<&- &
}
is_latest() {
  its_id= its_node= its_operation=
  {
    read -r its_id
    read -r its_node its_time its_operation
  } 2>/dev/null < "$1/id"
  latest=
  # In the order of their times.
  for entry in "$turns/$its_node".*; do
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
prune() {
  week=" $(echo $(find . ! -name . -prune -type d ! -name ".*" -mtime +7 2>/dev/null)) "
  quarter=" $(echo $(find . ! -name . -prune -type d ! -name ".*" -mtime +90 2>/dev/null)) "
  large=" $(echo $(find . -type f -size +2048 2>/dev/null)) "
  count=0 earlier=0
  # The newest first.
  LC_ALL=C ls -t | while read -r old; do
    [ -d "$old" ] || continue
    count=$((count + 1))
    if is_latest "$old"; then
      case $quarter in
        *" ./$old "*) ;;
        *) { [ "$count" -gt 1000 ] && is_recorded "$old"; } || continue;;
      esac
      records=
    else
      earlier=$((earlier + 1))
      case $week$large in
        *" ./$old "*|*" ./$old/"*) ;;
        *) [ "$earlier" -gt 100 ] || continue;;
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
    [ "$count" -le 3000 ] || rm -rf "./$old"
  done
}
`;
