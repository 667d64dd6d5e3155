/**
 * Shell functions that bound what a run keeps of its script's output, in the run's folder. Variable: `most`,
 * bytes of a stream.
 *
 * - `cut_large FILE FD`, where FD has written all of the file, keeps the first and the last half of what it
 *   may have, at their places in a sparse file, so that readers find them at the same offsets. Those that
 *   have the file open go on with all of it. `FILE.cut` holds the bounds of the hole. Sets `large` if the
 *   file has more than 1 MiB.
 * - `find_hole FILE` sets `from` and `to` to these bounds, or to nothing, and reports what is kept.
 */
export const cutFunctions = `
cut_large() {
  # Without a process where the system tells it.
  { while read -r word size && [ "$word" != pos: ]; do size=; done; } 2>/dev/null < "/proc/self/fdinfo/$2"
  if [ -z "$size" ]; then
    size=$(LC_ALL=C ls -ln "$1" 2>/dev/null | { read -r mode links owner group size name; echo "$size"; })
  fi
  [ "\${size:-0}" -le 1048576 ] || large=1
  [ "\${size:-0}" -gt "$most" ] || return 0
  half=$((most / 131072))
  to=$((size / 65536 - half))
  {
    dd bs=65536 count="$half" if="$1" of="$1.kept" &&
    dd bs=65536 skip="$to" seek="$to" conv=notrunc if="$1" of="$1.kept" &&
    echo "$((half * 65536)) $((to * 65536))" > "$1.cut" &&
    mv -f "$1.kept" "$1" ||
    # There is no room for it: removed with the folder, as the oldest are.
    rm -f "$1.kept" "$1.cut"
  } 2>/dev/null
}
`;

/** See {@link cutFunctions}. */
export const holeFunction = `
find_hole() {
  from= to=
  [ -s "$1.cut" ] || return 0
  read -r from to < "$1.cut"
  say note "of what the script wrote to std$1, $PWD/$1 on the node keeps all but the bytes from $from to $to"
}
`;
