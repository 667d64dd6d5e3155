import { holeFunction } from './cut.js';

/**
 * Shell functions that report what a run left, in its folder. Variable: `noted`, set once notes were shown.
 */
export const reportFunctions = `
${holeFunction}
notes() {
  if [ -z "$noted" ] && [ -e notes ] && [ -e pid ]; then
    while read -r line; do say note "$line"; done < notes
    noted=1
  fi
}
result() {
  if [ -s result ]; then say R; dd bs=8193 count=1 < result 2>/dev/null; printf '\\n'; fi
}
show_all() {
  notes
  show_file err e E
  show_file out o O
}
show_file() {
  [ -s "$1" ] || return 0
  find_hole "$1"
  say "$3"
  if [ -z "$to" ]; then cat "$1"
  else
    dd bs=65536 count=$((from / 65536)) < "$1" 2>/dev/null
    printf '\\n'
    say skip "$2" $((to - from))
    say "$3"
    dd bs=65536 skip=$((to / 65536)) < "$1" 2>/dev/null
  fi
  printf '\\n'
}
`;
