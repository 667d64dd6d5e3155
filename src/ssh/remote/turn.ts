/**
 * Shell functions by which one script of a node runs at a time, though a task that was given up for lost may
 * still have its own running there, or its supervisor on the way. Each run that is about to be claimed leaves
 * an entry in `turns`, `<node>.<time>.<run folder>`, and keeps it. The time is when its task's attempt was
 * scheduled, by the Temporal server's clock: tasks of a node follow each other, so of two the later one is
 * wanted. `take_turn` then looks at the others:
 *
 * - A later one means that this attempt was superseded: it starts nothing.
 * - An earlier one is ended, script and all, before this run is claimed. It cannot start after that: it is
 *   either
 *   claimed, and its script's group is ended until nothing of it is left, or its claim is taken away from it.
 *
 * Both write their own entry before they read the others', so at least one of two sees the other: had
 * neither, each would have read before the other wrote, and after it wrote itself. If the earlier one is
 * seen, it is ended; if the later one is, the earlier gives up; both is fine too. An entry that is empty was
 * being written when it was read, so its writer reads ours. Entries of ended runs go when a later one has
 * been made, never before: the latest is the fence.
 *
 * `turn` holds node, time and operation; without it there are no turns. An entry holds operation and folder,
 * after the run's end the operation only, so that runs of root can be passed over by others.
 */
export const turnFunctions = `
refuse_turn() {
  rm -f "$mine" "up/who-$tag"
  fail "$@"
}
take_turn() {
  mine= stale= first=1
  [ -n "$turn" ] || return 0
  set -- $turn
  node=$1 time=$2 operation=$3
  mine=$turns/$node.$time.$run
  have=
  { echo "$operation $PWD" > "$mine"; } 2>/dev/null
  { read -r have < "$mine"; } 2>/dev/null
  if [ "$have" != "$operation $PWD" ]; then
    problem=$({ echo > "$mine"; } 2>&1) || trouble "$problem"
    rm -f "$mine"
    fail full "No space left on device"
  fi
  later=
  for other in "$turns/$node".*; do
    other=\${other##*/}
    whose=\${other#*.*.} when=\${other#*.}
    when=\${when%%.*}
    if [ "$whose" = "$run" ]; then
      [ "$when" = "$time" ] || stale="$stale $other"
    elif [ "$when" = "$time" ]; then first=
    elif [ -n "$later" ]; then refuse_turn superseded "a later task of this node has begun (\${whose%-*})"
    else end_turn
    fi
    [ "$when" != "$time" ] || later=1
  done
}
keep_ticking() {
  # Without our output: a sleep that is left over would hold the channel open.
  while sleep 5 < /dev/null > /dev/null 2>&1 && kill -0 "$1" 2>/dev/null; do say tick; done
}
end_turn() {
  its= folder=
  { read -r its folder < "$turns/$other"; } 2>/dev/null
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
    [ -n "$ended" ] || refuse_turn busy "an earlier script of this node (\${whose%-*}) cannot be ended"
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
leave_turn() {
  [ -n "$mine" ] || return 0
  # A script that empties the home takes the fence with it.
  [ -d "$turns" ] || [ ! -d "$HOME" ] || mkdir -p "$turns" 2>/dev/null
  # Read by later runs only; they look at the folder where this was lost.
  { echo "$operation" > "$mine"; } 2>/dev/null
}
`;
