import { folderFunctions } from './folder.js';

/** Writes standard input to `path` whole or not at all. Variables: `path`, `tag`, `total` (bytes), `mode`. */
export const putFileProgram = `
say() { printf '%s %s\\n' "$nonce" "$*"; }
umask 077
printf '\\n'
aside=$path.$tag
problem=$({ LC_ALL=C cat > "$aside"; } 2>&1) && {
  set -- $(LC_ALL=C ls -ln -- "$aside" 2>/dev/null)
  [ "$5" = "$total" ] || problem="$5 of $total bytes arrived"
}
[ -n "$problem" ] || problem=$(LC_ALL=C chmod "$mode" "$aside" 2>&1 && LC_ALL=C mv -f "$aside" "$path" 2>&1)
if [ -z "$problem" ]; then say end; exit 0; fi
rm -f "$aside"
say fail "$problem"
`;

/**
 * Keeps standard input as the shared text `digest`. Variables: those of {@link putFileProgram}, but for
 * `path`.
 */
export const putSharedProgram = `
${folderFunctions}
find_runs
path=$runs/.shared/$digest
(umask 077; mkdir -p "$runs/.shared") 2>/dev/null
${putFileProgram}
`;

/** Prints `NONCE run STARTS CODE REASON FOLDER` and `NONCE id ID` for every run on the node. */
export const listRunsProgram = `
${folderFunctions}
printf '\\n'
find_runs
for folder in "$runs"/*/; do
  [ -d "$folder" ] || continue
  starts=0 code=- reason=- id=
  if [ -e "$folder/starts" ]; then while read -r line; do starts=$((starts + 1)); done < "$folder/starts"; fi
  if [ -s "$folder/rc" ]; then read -r code reason < "$folder/rc"; fi
  if [ -e "$folder/id" ]; then IFS= read -r id < "$folder/id"; fi
  say run "$starts" "$code" "$reason"
  say id "$id"
done
say end
`;
