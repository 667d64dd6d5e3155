import { ok, strictEqual } from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { AccessInput } from '../plugins/contract.js';
import { createPool } from '../ssh/pool.js';
import { createShell } from '../ssh/shell.js';
import type { AutomatorBench } from './automator-bench.js';
import type { Case } from './runner.js';

export type AccessCaseId = 'access';

/** What an automator does that creates accounts for users of its machines. */
export const accessCases: readonly Case<AccessCaseId, AutomatorBench>[] = [
  {
    id: 'access',
    title:
      'has one live credential of a user at a time, and none once it is revoked; each may be asked twice',
    run: async (bench) => {
      const until = new Date(Date.now() + 3_600_000).toISOString();
      const [first, second] = [1, 2].map((): AccessInput => ({
        login: 'hd-suite',
        password: randomBytes(18).toString('base64url'),
        until,
      }));
      ok(first && second);
      const before = await bench.access('grantAccess', first);
      strictEqual(await userOf(bench, first), first.login);
      await runAs(bench, first, 'setsid sleep 100000 </dev/null >/dev/null 2>&1 &');

      const again = await bench.access('grantAccess', second);
      strictEqual(again, before, "the machine's own accounts are not those of before");
      strictEqual(await userOf(bench, first), 'refused', 'the first credential still lets the user in');
      strictEqual(await userOf(bench, second), second.login);
      for (const renewed of [true, true] as const) await bench.access('grantAccess', { ...second, renewed });
      strictEqual(await userOf(bench, second), second.login);

      for (const _ of [1, 2])
        strictEqual(await bench.access('revokeAccess', { login: second.login }), before);
      strictEqual(await userOf(bench, second), 'refused', 'the credential still lets the user in');
      strictEqual(
        (
          await bench.node.execute(
            'grep -h "^hd-" /etc/passwd /etc/shadow; ls -d /home/hd-* 2>/dev/null; true',
          )
        ).trim(),
        '',
      );
      strictEqual(
        (await bench.node.execute('grep -lx sleep /proc/[0-9]*/comm 2>/dev/null; true')).trim(),
        '',
      );
    },
  },
];

async function userOf(bench: AutomatorBench, input: AccessInput): Promise<string> {
  try {
    return await runAs(bench, input, 'id -un');
  } catch (error) {
    if (error instanceof Error && /refused the login/.test(error.message)) return 'refused';
    throw error;
  }
}

async function runAs(
  { node }: AutomatorBench,
  { login, password = '' }: AccessInput,
  line: string,
): Promise<string> {
  const { host, port, hostKey } = node.target;
  const pool = createPool();
  try {
    const target = { host, port, user: login, password, hostKey };
    return (await createShell({ pool, target, runId: 'user' }).exec(['sh', '-c', line])).stdout.trim();
  } finally {
    await pool.closeAll();
  }
}
