import { folderFunctions } from './folder.js';
import { identityFunctions } from './identity.js';

/**
 * Ends a run: what has not been started never will be, what runs gets TERM and after five seconds KILL, and so do all
 * processes of its group. Prints `NONCE end REASON CODE` as the launcher does, or `NONCE end stuck` after half a minute.
 */
export const cancellerProgram = `
${folderFunctions}
${identityFunctions}
umask 077
printf '\\n'
say hello
enter_run
[ -e rc ] || echo > cancel
# Takes the claim itself if nobody has it.
set -C
{ echo "0 0 cancelled" > pid; } 2>/dev/null && echo "143 cancel" > rc
set +C
rounds=0
while [ ! -e rc ] && [ "$rounds" -lt 300 ]; do
  fate
  case $fate in died|reboot) [ -e rc ] || { end_group; say end cancel 137; exit 0; };; esac
  end_group
  [ -e rc ] || sleep 0.1 2>/dev/null || sleep 1
  rounds=$((rounds + 1))
done
if [ -e rc ]; then read -r code reason < rc; say end "$reason" "$code"; else say end stuck; fi
`;
