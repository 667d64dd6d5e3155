/**
 * Shell functions that run the scripts of one node one at a time, although a task that was lost may still
 * have its script running there, or its supervisor starting. Each run writes an entry
 * `<node>.<time>.<run folder>` into `fences` before it is claimed, and keeps it. The time is when the attempt
 * of its task was scheduled, by the Temporal server's clock: tasks of a node follow each other, so the later
 * of two is the current one. `take_fence` then reads the other entries:
 *
 * - A later entry means that this attempt was superseded: it starts nothing.
 * - The run of an earlier entry is ended before this run is claimed, and cannot start afterwards: if it was
 *   claimed, the process group of its script is ended until no process is left; otherwise its claim is taken
 *   away.
 *
 * Each run writes its own entry before it reads those of others, so at least one of two runs sees the other.
 * If the later run sees the earlier one, it ends it; if the earlier run sees the later one, it starts
 * nothing; both may happen. An empty entry was read while it was being written, so its writer reads ours.
 * Entries of ended runs are removed after a later one was written, never before: the latest entry is the
 * fence.
 *
 * `fence` holds node, time and operation; if it is empty, runs are not fenced. An entry holds operation and
 * folder; after the end of the run only the operation, so that others can pass over runs of root.
 */
export const fenceFunctions = `
refuse_fence() {
  rm -f "$mine" "up/who-$tag"
  fail "$@"
}
take_fence() {
  mine= stale= first=1
  [ -n "$fence" ] || return 0
  set -- $fence
  node=$1 time=$2 operation=$3
  mine=$fences/$node.$time.$run
  have=
  { echo "$operation $PWD" > "$mine"; } 2>/dev/null
  { read -r have < "$mine"; } 2>/dev/null
  if [ "$have" != "$operation $PWD" ]; then
    problem=$({ echo > "$mine"; } 2>&1) || trouble "$problem"
    rm -f "$mine"
    fail full "No space left on device"
  fi
  later=
  for other in "$fences/$node".*; do
    other=\${other##*/}
    whose=\${other#*.*.} when=\${other#*.}
    when=\${when%%.*}
    if [ "$whose" = "$run" ]; then
      [ "$when" = "$time" ] || stale="$stale $other"
    elif [ "$when" = "$time" ]; then first=
    elif [ -n "$later" ]; then refuse_fence superseded "a later task of this node has begun (\${whose%-*})"
    else end_earlier
    fi
    [ "$when" != "$time" ] || later=1
  done
}
keep_ticking() {
  # Without our output: a sleep that is left over would hold the channel open.
  while sleep 5 < /dev/null > /dev/null 2>&1 && kill -0 "$1" 2>/dev/null; do say tick; done
}
end_earlier() {
  its= folder=
  { read -r its folder < "$fences/$other"; } 2>/dev/null
  [ "$its" != "$operation" ] || first=
  [ -n "$its" ] || return 0
  if [ -n "$folder" ] && [ ! -s "$folder/rc" ]; then
    keep_ticking "$self" &
    ticker=$!
    ended=$(end_there "$folder") || {
      # Root's: sudo started it, so sudo may end it.
      ended=$(printf '%s\\nend_there "$1"\\n' "$functions" | sudo -n -H sh -s "$folder" 2>/dev/null) || ended=
    }
    kill -s TERM "$ticker" 2>/dev/null
    [ -n "$ended" ] || refuse_fence busy "an earlier script of this node (\${whose%-*}) cannot be ended"
    [ "$ended" = over ] || echo "ended first: \${whose%-*}, a script of operation $its that still ran" >> notes
  fi
  stale="$stale $other"
}
end_there() {
  run=\${1##*/} runs=\${1%/*} id=
  find_runs
  if [ ! -d "$runs/$run" ]; then
    # Gone, or hidden from us by a folder that we cannot enter.
    (cd "\${1%/*}") 2>/dev/null || return 1
    echo over
    return
  fi
  cd "$runs/$run" 2>/dev/null || return 1
  if [ -s rc ]; then echo over; return; fi
  fate
  was=over
  if [ "$fate" = running ] || { [ "$fate" = died ] && find_group; }; then was=ended; fi
  end_run superseded
  [ -z "$ended" ] || echo "$was"
}
leave_fence() {
  [ -n "$mine" ] || return 0
  # A script that empties the home takes the fence with it.
  [ -d "$fences" ] || [ ! -d "$HOME" ] || mkdir -p "$fences" 2>/dev/null
  # Read by later runs only; if this write is lost, they read the folder.
  { echo "$operation" > "$mine"; } 2>/dev/null
}
`;
