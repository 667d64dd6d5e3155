/**
 * Shell function `end_run MARK`, in a run's folder: what has not been started never will be, what runs gets
 * TERM and after five seconds KILL, and so do all processes of its group. MARK, `cancel` or `superseded`,
 * becomes the reason of its end. Sets `ended`: `CODE REASON`, or nothing when the run did not end within half
 * a minute. Needs the identity and claim functions.
 */
export const endRunFunctions = `
end_run() {
  ended=
  [ -s rc ] || echo > "$1"
  # Takes the claim itself if it is free.
  if claim 0 0 "$1"; then
    echo "0 0 $1" >> pid
    record end "143 $1"
    echo "143 $1" > rc
  fi
  rounds=0
  while [ ! -s rc ] && [ "$rounds" -lt 300 ]; do
    # Its folder was removed meanwhile.
    [ -e pid ] || { find_claim; cd "$runs/$run" 2>/dev/null; }
    fate
    case $fate in died|reboot) [ -s rc ] || { end_group; ended="137 $1"; return; };; esac
    end_group
    [ -s rc ] || sleep 0.1 2>/dev/null || sleep 1
    rounds=$((rounds + 1))
  done
  if [ -s rc ]; then read -r ended < rc; fi
  return 0
}
`;
