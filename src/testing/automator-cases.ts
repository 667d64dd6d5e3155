import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { serviceActions } from '../model/action.js';
import { isPluginError } from '../plugins/errors.js';
import type { AutomatorBench } from './automator-bench.js';
import { systemMethods } from './automator-system-cases.js';
import { endsOnRequest, inTime } from './cancelled.js';
import { drain } from './drain.js';
import { fieldCases, type FieldCaseId } from './field-cases.js';
import type { Case } from './runner.js';
import { failureOf } from './until.js';

export type AutomatorCaseId =
  | FieldCaseId
  | 'bootstrap'
  | 'actions'
  | 'data'
  | 'results'
  | 'once'
  | 'failing'
  | 'lost-connection'
  | 'cancel'
  | 'unreachable'
  | 'garbage'
  | 'redaction'
  | 'drain'
  | 'tried';

/** Text that breaks unquoted shell text or JSON, with space at both ends. */
const oddText = '\n \ta \'b\' "c" $HOME `id` \\ \\n %s ü € {"d": [1]}\r\n\n  second line\t! \n\n';

/** A secret that nothing else looks like. */
const secret = 'suite-secret-7f3a9c2e5b';

/** What every automator does on a node, also when something fails there. */
export const automatorCases: readonly Case<AutomatorCaseId, AutomatorBench>[] = [
  {
    id: 'bootstrap',
    title: 'prepares a node repeatedly, before and after another automator, with the same result',
    run: async (bench) => {
      const kept = bench.file();
      await bench.node.execute(`echo kept > ${kept}; mkdir -p ${kept}.d; echo kept > ${kept}.d/.hidden`);
      const own = `cat ${kept} ${kept}.d/.hidden 2>&1 || true`;
      const before = await bench.node.execute(own);
      const first = await bench.bootstrap();
      strictEqual(
        await bench.node.execute(own),
        before,
        "BOOTSTRAP changes files of others in the user's home",
      );
      await bench.bootstrap(bench.neighbour);
      const once = await bench.node.execute(homeFiles);
      deepStrictEqual(await bench.bootstrap(), first);
      strictEqual(
        await bench.node.execute(homeFiles),
        once,
        'BOOTSTRAP of a prepared node changes files in the home of its user',
      );
      await bench.bootstrap(bench.neighbour);
    },
  },
  {
    id: 'actions',
    title: 'carries out each of the six actions of a service',
    run: (bench) =>
      prepared(bench, async (file) => {
        for (const action of serviceActions)
          await bench.act(action, bench.options.script(`echo ${action} >> ${file}`, ''));
        deepStrictEqual(await lines(bench, file), [...serviceActions]);
      }),
  },
  {
    id: 'data',
    title: 'passes script and data on byte for byte',
    run: (bench) =>
      prepared(bench, async (file) => {
        // Scripts may be converted from Windows' line ends, data not.
        const words = oddText.replaceAll('\r', '');
        const script = `cat > ${file}\n: ${quote(words)}\nprintf %s ${quote(words)} >> ${file}`;
        await bench.act('INSTALL', bench.options.script(script, oddText));
        strictEqual(await bench.node.execute(`cat ${file}`), oddText + words);
      }),
  },
  {
    id: 'results',
    title: 'returns what the script wrote as results',
    run: (bench) =>
      prepared(bench, async () => {
        const result = await bench.act(
          'CONFIGURE',
          bench.options.script('echo suite.answer=42 >> "$HEDDLE_RESULT"', ''),
        );
        deepStrictEqual(
          JSON.stringify(result).includes('42'),
          true,
          `the results are ${JSON.stringify(result)}`,
        );
      }),
  },
  {
    id: 'once',
    title: 'runs a script once for a task: a second attempt starts nothing and returns the first outcome',
    run: (bench) =>
      prepared(bench, async (file) => {
        const task = { operation: bench.next() };
        const fields = bench.options.script(
          `echo ran >> ${file}; echo suite.count=1 >> "$HEDDLE_RESULT"`,
          '',
        );
        const first = await bench.act('INSTALL', fields, task);
        deepStrictEqual(await bench.act('INSTALL', fields, { ...task, attempt: 2 }), first);
        deepStrictEqual(await lines(bench, file), ['ran']);
      }),
  },
  {
    id: 'failing',
    title: 'fails with ScriptFailed and the exit code of a failing script, also at the second attempt',
    run: (bench) =>
      prepared(bench, async (file) => {
        const task = { operation: bench.next() };
        const fields = bench.options.script(`echo ran >> ${file}; echo no such thing >&2; exit 3`, '');
        for (const attempt of [1, 2]) {
          const failure = await failureOf(bench.act('START', fields, { ...task, attempt }), ['ScriptFailed']);
          ok(
            /\b3\b/.test(failure.message) || (isPluginError(failure) && failure.exitCode === 3),
            `the exit code is missing: ${failure.message}`,
          );
        }
        deepStrictEqual(await lines(bench, file), ['ran']);
      }),
  },
  {
    id: 'lost-connection',
    title: 'starts nothing twice when the connection to the node is lost while a script runs',
    run: (bench) =>
      prepared(bench, async (file) => {
        const task = { operation: bench.next() };
        const fields = bench.options.script(
          `echo begins >> ${file}; while [ ! -e ${file}.go ]; do sleep 0.1; done; echo ends >> ${file}`,
          '',
        );
        const first = bench.act('INSTALL', fields, task).then(
          () => undefined,
          (error: unknown) => error,
        );
        await bench.until('the script to begin', async () => (await lines(bench, file)).length > 0);
        bench.node.cut();
        await bench.node.execute(`touch ${file}.go`);
        const lost = await first;
        if (lost !== undefined && !(isPluginError(lost) && lost.kind === 'Retryable'))
          throw new Error('a lost connection fails the task permanently', { cause: lost });
        await bench.act('INSTALL', fields, { ...task, attempt: 2 });
        deepStrictEqual(await lines(bench, file), ['begins', 'ends']);
      }),
  },
  {
    id: 'cancel',
    title: 'ends what it runs on the node when the task is cancelled',
    run: (bench) =>
      prepared(bench, async (file) => {
        const cancel = new AbortController();
        const fields = bench.options.script(`echo $$ > ${file}; while true; do sleep 0.1; done`, '');
        const call = bench.act('START', fields, { operation: bench.next(), signal: cancel.signal }).then(
          () => undefined,
          (error: unknown) => error,
        );
        await bench.until('the script to begin', async () => (await lines(bench, file)).length > 0);
        cancel.abort(new Error('the task was cancelled'));
        endsOnRequest(await inTime(call));
        await bench.until('the script to end', async () =>
          (await bench.node.execute(`kill -0 "$(cat ${file})" 2>/dev/null || echo gone`)).includes('gone'),
        );
      }),
  },
  {
    id: 'unreachable',
    title: 'fails with Retryable for a node that does not answer, unless BOOTSTRAP has nothing to do there',
    run: async (bench) => {
      // Nothing listens on port 1 of loopback.
      const target = { ...bench.node.target, port: 1 };
      const before = bench.node.connections();
      await bench.bootstrap();
      const bootstrap = bench.bootstrap(bench.plugin, { target });
      if (bench.node.connections() > before) await failureOf(bootstrap, ['Retryable']);
      else await bootstrap;
      await failureOf(
        bench.act('INSTALL', bench.options.script('true', ''), { operation: bench.next(), target }),
        ['Retryable'],
      );
    },
  },
  {
    id: 'garbage',
    title: 'accepts any output of a script: binary data, large amounts, no line breaks',
    run: (bench) =>
      prepared(bench, async (file) => {
        await bench.act(
          'INSTALL',
          bench.options.script(
            `head -c 300000 /dev/urandom; printf '\\377\\0{"id":1}'; printf '{"status":1}' >&2; echo ran >> ${file}`,
            '',
          ),
        );
        deepStrictEqual(await lines(bench, file), ['ran']);
      }),
  },
  {
    id: 'redaction',
    title: 'puts secrets of its fields into output only in forms that can be redacted',
    run: (bench) =>
      prepared(bench, async () => {
        bench.transcript.hide([secret]);
        await bench.act('START', bench.options.script(`echo ${secret}; echo ${secret} >&2`, secret));
        await bench
          .act('START', bench.options.script(`echo ${secret}; exit 3`, secret))
          .catch(() => undefined);
        const said = bench.transcript.redacted();
        for (const part of [secret, secret.toUpperCase(), secret.slice(0, -1)])
          strictEqual(
            said.includes(part),
            false,
            'the output holds a secret in a form that cannot be redacted',
          );
      }),
  },
  {
    id: 'drain',
    title: 'closes everything it opened when its worker ends, and leaves no process behind',
    run: (bench) =>
      drain(bench.options.folders, bench.surroundings, async (registry) => {
        await bench.bootstrap(registry.automator(bench.plugin.descriptor.name));
      }),
  },
  {
    id: 'tried',
    title: 'has all its methods tested by this suite',
    run: async ({ plugin: { abilities }, options: { accounts = false, system = false } }) => {
      strictEqual(
        systemMethods.some((method) => abilities.includes(method)),
        system,
        `system: true belongs to the options of an automator with any of ${systemMethods.join(', ')}`,
      );
      const missing = ['grantAccess', 'revokeAccess'].filter(
        (method) => abilities.includes(method) !== accounts,
      );
      deepStrictEqual(
        missing,
        [],
        'an automator has both methods and its suite says accounts: true, or neither',
      );
    },
  },
  ...fieldCases<AutomatorBench>((bench, scope) =>
    scope === 'user' ? bench.options.script('true', '') : (bench.options.admin ?? {}),
  ),
];

/** Names and checksums of the files in the home, without what the engine keeps there. */
const homeFiles =
  'cd "$HOME" && find . -path ./.heddle -prune -o ! -type d -print | LC_ALL=C sort | while IFS= read -r file; do cksum "$file" 2>/dev/null || echo "$file"; done';

/** On a node that the automator has prepared, with a file of its own. */
async function prepared(bench: AutomatorBench, use: (file: string) => Promise<void>): Promise<void> {
  await bench.bootstrap();
  await use(bench.file());
}

async function lines(bench: AutomatorBench, file: string): Promise<readonly string[]> {
  return (await bench.node.execute(`cat ${file} 2>/dev/null || true`))
    .split('\n')
    .filter((line) => line !== '');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
