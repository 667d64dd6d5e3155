import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { childEnvironment } from '../../config/child-environment.js';

/**
 * A small process that outlives this one by a moment: when this one is gone, however it went, it kills the
 * groups of the programs that still run and removes their folder. Without it a program in a busy loop would
 * run on for ever.
 */
export class Keeper {
  readonly #child: ChildProcess;

  constructor(folder: string) {
    this.#child = spawn('/bin/sh', ['-c', script, 'heddle-plugin-keeper', folder], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      env: childEnvironment({ set: { PATH: '/usr/bin:/bin' } }),
      cwd: '/',
    });
    this.#child.on('error', () => undefined);
    this.#child.stdin?.on('error', () => undefined);
    this.#child.unref();
    if (
      this.#child.stdin !== null &&
      'unref' in this.#child.stdin &&
      typeof this.#child.stdin.unref === 'function'
    )
      this.#child.stdin.unref();
  }

  add(group: number): void {
    this.#child.stdin?.write(`add ${group}\n`);
  }

  remove(group: number): void {
    this.#child.stdin?.write(`remove ${group}\n`);
  }

  /** Ends what still runs; settles when all is gone. */
  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.pid === undefined) return;
    const gone = once(this.#child, 'exit');
    this.#child.ref();
    this.#child.stdin?.end();
    await gone;
  }
}

const script = `
trap '' TERM INT HUP
groups=' '
while read -r word group; do
  case $word in
    add) groups="$groups$group " ;;
    remove) case $groups in *" $group "*) groups="\${groups%%" $group "*} \${groups#*" $group "}" ;; esac ;;
  esac
done
for group in $groups; do kill -9 "-$group" 2>/dev/null; done
rm -rf -- "$1"
`;
