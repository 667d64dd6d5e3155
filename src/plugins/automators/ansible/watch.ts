import { PluginError, type JsonObject, type Shell } from '../../contract.js';
import { isPluginError } from '../../errors.js';

/** Below the login's home on the node. */
export const folder = '.heddle/ansible';

/** While a play runs, a script on the node stands for it: what ends the script ends the play. */
export interface Watch {
  /** Aborted when the play is to end: cancelled, out of time, or a later task of the node began. */
  readonly told: AbortSignal;
  /**
   * Settles when the script has ended; by then it is known whether it was told to. Gives what the play wrote
   * as results.
   */
  readonly over: Promise<JsonObject>;
}

/**
 * Has the script run, once for all attempts until it ends. Whatever the engine does to a script is done to
 * the play so: it is ended when the task is cancelled or out of time, also when the worker is gone, and when
 * a later task of the node begins.
 */
export function watchPlay(
  shell: Shell,
  { id, watch: number }: { readonly id: string; readonly watch: number },
): Watch {
  const told = new AbortController();
  const over = shell
    .run({
      name: `play-${number}`,
      text: watch,
      environment: { PLAY: `${folder}/${id}`, WATCH: String(number) },
    })
    .then(
      ({ results }) => results ?? {},
      (error: unknown) => {
        // Its machine going down is no reason: a playbook may have it start again.
        if (isPluginError(error) && error.stdout?.includes(endedWord) === true) told.abort(error);
        else if (!isPluginError(error)) told.abort(error);
        return {};
      },
    );
  return { told: told.signal, over };
}

/** Whether the play is being ended from the node, which nobody here may have heard of yet. */
export async function isTold(shell: Shell, id: string): Promise<boolean> {
  return (
    (await shell.exec(['sh', '-c', 'test -e "$HOME/$1/told"', 'heddle', `${folder}/${id}`])).exitCode === 0
  );
}

export function reasonOf(told: AbortSignal): Error {
  return told.reason instanceof Error
    ? told.reason
    : new PluginError('UnknownOutcome', 'the play was ended, and nobody knows why');
}

const endedWord = 'the play was told to end';

/**
 * A module's session is led by a shell whose words name the play's folder. On Linux alone is there a /proc to
 * find it in; elsewhere what runs goes on to its end. What was started to stay has a session of its own, and
 * does.
 */
export const endSessions = `
end_sessions() {
  [ -r /proc/self/stat ] || return 0
  own=$(processes /proc/$$/stat)
  found=
  for file in $(grep -l -a -F -e "$1" /proc/[0-9]*/cmdline 2> /dev/null); do
    line=$(processes "\${file%cmdline}stat")
    if [ -n "$line" ] && [ "\${line#* }" != "\${own#* }" ]; then found="$found \${line#* }"; fi
  done
  [ -n "$found" ] || return 0
  become=
  if [ "$(id -u)" != 0 ] && command -v sudo > /dev/null; then become='sudo -n'; fi
  for signal in TERM KILL; do
    processes /proc/[0-9]*/stat | while read -r pid session; do
      case " $found " in *" $session "*) kill -$signal "$pid" 2> /dev/null || $become kill -$signal "$pid" 2> /dev/null ;; esac
    done
    [ $signal = KILL ] || sleep 1
  done
  return 0
}
processes() { sed -n 's/^\\([0-9]*\\) .*) [A-Za-z] [0-9-]* [0-9-]* \\([0-9-]*\\) .*/\\1 \\2/p' "$@" 2> /dev/null; }
[ -z "$1" ] || end_sessions "$1"
`;

/**
 * Waits at a pipe that is opened when the play is over, and hands on what its scripts wrote as `key=value`
 * lines.
 */
const watch = `
set --
${endSessions}
cd "$HOME/$PLAY" || exit
trap 'echo "${endedWord}"; : > told; end_sessions "$PLAY"; exit 143' TERM
cat "watch.$WATCH" &
wait $!
: > "ended.$WATCH"
if [ -s result ]; then cat result > "$HEDDLE_RESULT"; fi
`;
