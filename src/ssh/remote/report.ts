/** Shell functions that report what a run left, in its folder. Variable: `noted`, set once notes were shown. */
export const reportFunctions = `
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
  if [ -s err ]; then say E; cat err; printf '\\n'; fi
  if [ -s out ]; then say O; cat out; printf '\\n'; fi
}
`;
