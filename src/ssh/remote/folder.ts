/**
 * Shell functions that every program over the run folders begins with. Variables: `nonce` (before each of our lines),
 * `runs` (the folder of all runs, empty for the default), `run` (this run's folder name).
 */
export const folderFunctions = `
say() { printf '%s %s\\n' "$nonce" "$*" || hang_up; }
hang_up() { exit 0; }
fail() { say fail "$@"; exit 1; }
trouble() {
  case $1 in
    *"o space left"*|*"uota exceeded"*|*"ile too large"*) fail full "$1";;
    *) fail folder "$1";;
  esac
}
if [ -z "$runs" ]; then
  [ -n "$HOME" ] || fail folder "HOME is not set on the node"
  runs=$HOME/.heddle/runs
fi
enter_run() {
  if [ ! -d "$runs/$run" ]; then
    problem=$(LC_ALL=C mkdir -p "$runs/$run" 2>&1) || trouble "$problem"
  fi
  cd "$runs/$run" 2>/dev/null || fail folder "cannot enter $runs/$run: it belongs to another user"
  [ -e id ] || { printf '%s\\n' "$id" > id; } 2>/dev/null
}
`;
