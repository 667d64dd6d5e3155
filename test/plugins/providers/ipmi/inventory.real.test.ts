import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/model/json.js';
import { type Stack, startStack } from '../../../harness/stack.js';
import { buildRack, noEmulators, type Rack } from '../../../harness/bmc/racks.js';
import { heddleOn } from '../../../harness/cli/run-heddle.js';

type Row = Readonly<Record<string, string | number>>;

describe.skipIf(noEmulators !== undefined)(
  `machines of an inventory file${noEmulators === undefined ? '' : ` (left out: ${noEmulators})`}`,
  () => {
    let stack: Stack;
    let rack: Rack;
    let rows: readonly (readonly string[])[];
    const columns =
      'name,address,port,user,password.secret,hostKey,controller.host,controller.port,controller.user,controller.password.secret';

    beforeAll(async () => {
      const accounts: Record<string, object | 'service'> = {};
      stack = await startStack({ accounts });
      rack = await buildRack(stack.service, stack.folder, ['rack-1', 'rack-2']);
      const { machines, controllers, ...fields } = rack.fields as JsonObject & {
        readonly machines: readonly Row[];
        readonly controllers: Readonly<Record<string, Row>>;
      };
      rows = await Promise.all(
        machines.map(async ({ name, address, port, user, password, hostKey }) => {
          const bmc = controllers[String(name)] ?? {};
          const secretFile = async (what: string, secret: string): Promise<string> => {
            const file = join(stack.folder, `${name}.${what}`);
            await writeFile(file, secret, { mode: 0o600 });
            return `file:${file}`;
          };
          const login = await secretFile('login', String(password));
          const locked = await secretFile('bmc', String(bmc['password']));
          return [
            name,
            address,
            port,
            user,
            login,
            hostKey,
            bmc['host'],
            bmc['port'],
            bmc['user'],
            locked,
          ].map(String);
        }),
      );
      accounts['rack'] = { type: 'ipmi', fields: { ...fields, inventory: file() } };
      await write(columns, ...rows.map((row) => row.join(',')));
      await stack.startWorker();
    });
    afterAll(async () => {
      await rack.stop();
      await stack.stop();
    });

    const { run, json } = heddleOn(() => stack);
    const file = (): string => join(stack.folder, 'rack.csv');
    const write = (...lines: readonly string[]): Promise<void> => writeFile(file(), `${lines.join('\n')}\n`);
    const add = ['machine', 'add', '--provider', 'rack', '--from'] as const;

    it('no machine is registered while a line is wrong', async () => {
      const wrong = join(stack.folder, 'wrong.csv');
      const [first = [], second = []] = rows;
      const faulty = [...second.slice(0, 9), 'hunter2'].join(',');
      await writeFile(wrong, `${columns}\n${first.join(',')}\n\n${faulty}\n`);
      const refused = await run(...add, wrong);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain('nothing is registered');
      expect(refused.stderr).toMatch(
        /wrong\.csv:4:1: machines\[1\]\.controller\.password\.secret: .*A reference that workers resolve/,
      );
      expect(refused.stderr).not.toContain('hunter2');
      await writeFile(wrong, `${columns}\n${first.join(',')},too,many\n`);
      expect((await run(...add, wrong)).stderr).toMatch(/wrong\.csv: line 2: has 12 cells but 10 columns/);
      expect(await json('machine', 'list')).toMatchObject({ machines: [] });
      expect(await run('machine', 'add', 'rack-1', ...add.slice(2), file())).toMatchObject({ code: 2 });
      expect(await run('machine', 'add', '--provider', 'rack')).toMatchObject({ code: 2 });
    });

    it('one table registers all machines, once even if repeated', async () => {
      expect(await run(...add, file())).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(
          /^MACHINE +RESULT +STATE +POWER +WHY\nrack-1 +done +available +on +-\nrack-2 +done +available +on +-\n$/,
        ),
      });
      expect(await json(...add, file())).toMatchObject({
        results: [
          { machine: 'rack-1', result: 'unchanged' },
          { machine: 'rack-2', result: 'unchanged' },
        ],
      });
      expect(await run('machine', 'power', 'rack-*', 'reset')).toMatchObject({ code: 0 });
      expect(await rack.commands('rack-2')).toContain('cycle');
    });

    it('a failed registration is retried after the file was corrected', async () => {
      expect(await run('machine', 'remove', 'rack-2', '--yes')).toMatchObject({ code: 0 });
      const [first = [], second = []] = rows;
      const other = join(stack.folder, 'other.bmc');
      await writeFile(other, 'not the password', { mode: 0o600 });
      await write(columns, first.join(','), [...second.slice(0, 9), `file:${other}`].join(','));
      expect(await run(...add, file())).toMatchObject({
        code: 1,
        stdout: expect.stringMatching(/rack-1 +unchanged[^]*rack-2 +failed +failed .*rejected the login/),
      });
      await write(columns, ...rows.map((row) => row.join(',')));
      expect(await run(...add, file())).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/rack-2 +done +available/),
      });
    });
  },
);
