import { endRunFunctions } from './end-run.js';
import { folderFunctions } from './folder.js';
import { identityFunctions } from './identity.js';

/**
 * Ends a run. Prints `NONCE end REASON CODE` as the launcher does, or `NONCE end stuck` when it does not end.
 */
export const cancellerProgram = `
${folderFunctions}
${identityFunctions}
${endRunFunctions}
umask 077
printf '\\n'
say hello
find_runs
enter_run
note_id
end_run cancel
if [ -n "$ended" ]; then say end "\${ended#* }" "\${ended%% *}"; else say end stuck; fi
`;
