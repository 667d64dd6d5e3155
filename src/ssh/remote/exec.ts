import { identityFunction } from './identity.js';

/**
 * Becomes a command whose words stand in the program, behind a line on each stream that ends the login
 * shell's noise. The one on standard output tells the process and its start time, by which it can be ended.
 */
export const execProgram = `
${identityFunction}
look $$
printf '\\n%s %s %s\\n' "$nonce" "$$" "$started"
printf '\\n%s\\n' "$nonce" >&2
become
`;

/**
 * Ends a command with its process group: TERM, and KILL after two seconds. Variables: `pid`, `since`. The
 * group only where it is not this program's own too: such a server gives its commands none.
 */
export const endCommandProgram = `
${identityFunction}
say() { printf '%s %s\\n' "$nonce" "$*"; }
printf '\\n'
look $$
own=$group
look "$pid"
if [ -z "$started" ] || [ "$started" != "$since" ]; then say end gone; exit; fi
whom=$pid
[ "$group" = "$own" ] || whom=-$group
kill -TERM "$whom" 2>/dev/null
tries=0
while [ "$tries" -lt 20 ] && kill -0 "$whom" 2>/dev/null; do
  sleep 0.1 2>/dev/null || { sleep 1; tries=$((tries + 9)); }
  tries=$((tries + 1))
done
kill -KILL "$whom" 2>/dev/null
say end ended
`;
