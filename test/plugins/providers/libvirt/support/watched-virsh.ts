import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface WatchedVirsh {
  /** For the field `program`. */
  readonly program: string;
  /**
   * Lets the nth command from now on end as with a lost connection: before libvirt was asked, or when it has
   * done what it was asked for.
   */
  lose(nth: number, what: 'question' | 'answer'): void;
  /** Loses nothing more; whether anything was lost. */
  end(): boolean;
  /** The commands since the last time, by their first words. */
  commands(): readonly string[];
}

/** The real virsh behind a script that writes down its commands, and loses one where it is told to. */
export function watchVirsh(folder: string): WatchedVirsh {
  const [program, log, plan, met] = ['virsh', 'commands', 'plan', 'met'].map((name) =>
    join(folder, `watched-${name}`),
  ) as [string, string, string, string];
  writeFileSync(log, '');
  writeFileSync(
    program,
    `#!/bin/sh
echo "$4" >>'${log}'
if [ -e '${plan}' ]; then
  read left what <'${plan}'
  if [ "$left" = 1 ]; then
    rm '${plan}'; touch '${met}'
    if [ "$what" = answer ]; then virsh "$@" >/dev/null 2>&1; fi
    echo 'error: Cannot recv data: Connection reset by peer' >&2
    exit 1
  fi
  echo "$((left - 1)) $what" >'${plan}'
fi
exec virsh "$@"
`,
    { mode: 0o755 },
  );
  return {
    program,
    lose: (nth, what) => {
      rmSync(met, { force: true });
      writeFileSync(plan, `${nth} ${what}\n`);
    },
    end: () => {
      rmSync(plan, { force: true });
      return existsSync(met);
    },
    commands: () => {
      const lines = readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line !== '');
      writeFileSync(log, '');
      return lines.map((line) => line.split(' ')[0] ?? '');
    },
  };
}
