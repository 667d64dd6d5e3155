import { claimFunctions } from './claim.js';

/**
 * Shell functions that every program over the run folders begins with. Variables: `nonce` (before each of our
 * lines), `runs` (the folder of all runs, empty for the default), `run` (this run's folder name), `id`,
 * `fence`.
 *
 * - `find_runs` settles `runs`: in the home, or in `/var/tmp`, which outlives a boot, where the home cannot
 *   be written; for a run whose folder was removed after its claim, the place of its record.
 * - `enter_run [FILES]` makes the run's folder, with a folder for its files in it, and goes there.
 * - `note_id` writes the run's id into its folder.
 */
export const folderFunctions = `
${claimFunctions}
say() { printf '%s %s\\n' "$nonce" "$*" || hang_up; }
hang_up() { exit 0; }
fail() { say fail "$@"; exit 0; }
trouble() {
  case $1 in
    *"o space left"*|*"uota exceeded"*|*"ile too large"*) fail full "$1";;
    *) fail folder "$1";;
  esac
}
find_runs() {
  origin=\${runs:-$HOME/.heddle/runs}
  [ -n "$runs" ] || find_folder
  [ -z "$run" ] || [ -e "$runs/$run/pid" ] || find_claim
}
find_folder() {
  runs=$origin
  if [ -n "$HOME" ] && [ -d "$runs/$run" ]; then return; fi
  # Where an earlier attempt went stays the place, whatever became of the home since.
  for spare in /var/tmp/heddle-*; do
    if [ -d "$spare/runs/$run" ] && is_ours "$spare"; then runs=$spare/runs; return; fi
  done
}
enter_run() {
  if [ ! -d "$runs/$run" ]; then
    problem=$(umask 077; LC_ALL=C mkdir -p "$runs/$run/$1" "$runs/.fences" 2>&1) || {
      case $runs:$problem in
        "$HOME/.heddle/runs":*"ead-only file system"*|"$HOME/.heddle/runs":*"ermission denied"*|/.heddle/runs:*) enter_spare "$@";;
        *) trouble "$problem";;
      esac
    }
  elif [ -n "$1" ] && [ ! -s "$runs/$run/rc" ] && [ ! -e "$runs/$run/pid" ]; then
    problem=$(umask 077; LC_ALL=C mkdir -p "$runs/$run/$1" 2>&1) || trouble "$problem"
  fi
  cd "$runs/$run" 2>/dev/null || fail folder "cannot enter $runs/$run: it belongs to another user"
}
note_id() {
  [ -e id ] || { printf '%s\\n%s\\n' "$id" "$fence" > id; } 2>/dev/null
}
enter_spare() {
  said=$problem
  spare=/var/tmp/heddle-$(id -u)
  mkdir -m 700 "$spare" 2>/dev/null
  is_ours "$spare" || fail folder "$spare, which is not ours alone, cannot take the place of the home: $said"
  runs=$spare/runs
  problem=$(umask 077; LC_ALL=C mkdir -p "$runs/$run/$1" "$runs/.fences" 2>&1) || trouble "$problem"
}
`;
