import { PluginError, type JsonObject, type Shell } from '../../contract.js';
import { isPluginError } from '../../errors.js';

/** Below the login's home on the node. */
export const folder = '.heddle/ansible';

/** A script on the node that represents the play: when the engine ends the script, the play ends. */
export interface Watch {
  /** Aborted when the play must end: cancelled, timed out, or superseded by a later task of the node. */
  readonly stopped: AbortSignal;
  /** Settles after the script has ended, with the results that the play wrote. */
  readonly ended: Promise<JsonObject>;
}

/**
 * Runs the watch script, which all attempts share until it ends. So the play gets the engine's rules for
 * scripts: it ends when the task is cancelled or timed out, even without the worker, and when a later task of
 * the node begins.
 */
export function watchPlay(
  shell: Shell,
  { id, watch }: { readonly id: string; readonly watch: number },
): Watch {
  const stopping = new AbortController();
  const ended = shell
    .run({
      name: `play-${watch}`,
      text: watchScript,
      environment: { PLAY: `${folder}/${id}`, WATCH: String(watch) },
    })
    .then(
      ({ results }) => results ?? {},
      (error: unknown) => {
        // A reboot of the machine, which ends the script too, may be part of the play.
        if (!isPluginError(error) || error.stdout?.includes(stoppedText) === true) stopping.abort(error);
        return {};
      },
    );
  return { stopped: stopping.signal, ended };
}

/** Whether the play is being ended on the node, of which the worker may not know yet. */
export async function isStoppedOnNode(shell: Shell, id: string): Promise<boolean> {
  const { exitCode } = await shell.exec([
    'sh',
    '-c',
    `test -e "$HOME/$1/${stoppedMark}"`,
    'heddle',
    `${folder}/${id}`,
  ]);
  return exitCode === 0;
}

export function reasonOf(stopped: AbortSignal): Error {
  return stopped.reason instanceof Error
    ? stopped.reason
    : new PluginError('UnknownOutcome', 'the play was ended for an unknown reason');
}

/** A file in the play's folder on the node. */
const stoppedMark = 'stopped';
const stoppedText = 'the play was ended on the node';

/**
 * Ends the sessions of the play's modules: their first process has the play's folder among its arguments.
 * Sessions of daemons that the play started stay. Needs Linux's /proc; elsewhere modules run to their end.
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

/** Waits at a pipe that `endWatch` opens, and passes on the `key=value` lines that the play wrote. */
const watchScript = `
set --
${endSessions}
cd "$HOME/$PLAY" || exit
trap 'echo "${stoppedText}"; : > ${stoppedMark}; end_sessions "$PLAY"; exit 143' TERM
cat "watch.$WATCH" &
wait $!
: > "ended.$WATCH"
if [ -s result ]; then cat result > "$HEDDLE_RESULT"; fi
`;
