import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { groupWorkflowId } from '../../src/model/names.js';
import { heddleOn } from '../harness/cli/run-heddle.js';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';

const secret = 'hunter2-and-more';

/** The first 50 nodes are in the cluster's own workflow, the others in a group. */
describe('outputs of a cluster of 120 nodes', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
    await stack.startWorker();
  });
  const { run, json } = heddleOn(() => stack);

  function write(name: string, text: string): string {
    const file = join(stack.folder, `${name}.yaml`);
    writeFileSync(file, text);
    return file;
  }

  const producer = (port: number, more = ''): string =>
    write(
      'db',
      `name: db
nodes: {app: {count: 120, provider: local, hardware: tiny, image: host, services: [db]}}
services:
  db:
    peers: none
    actions: {configure: {type: shell, fields: {script: 'printf "db-password=${secret}-%s\\nport=${port}\\n" "$HEDDLE_NODE" > "$HEDDLE_RESULT"'}}}
outputs:
  first: \${{ nodes.app-1.hostname }}
  last: "\${{ nodes.app-120.hostname }}:\${{ nodes.app-120.port }}"
  hosts: {value: "\${{ services.db.hostname }}"}
  password: {value: "\${{ nodes.app-119.db-password }}", secret: true}
  shown: \${{ nodes.app-119.db-password }}
  none: \${{ nodes.app-120.none }}
${more}`,
    );

  it('outputs have the values of nodes in groups, and secrets only if they are marked', async () => {
    expect(await run('apply', producer(1))).toMatchObject({ code: 0 });
    expect((await stack.client.status('db')).groups?.map(({ nodes }) => nodes)).toEqual([70]);
    const { outputs } = (await json('output', 'db')) as { readonly outputs: Record<string, object> };
    const { hosts, ...others } = outputs as { readonly hosts: { readonly value: readonly string[] } };
    expect(hosts.value.toSorted()).toEqual(
      Array.from({ length: 120 }, (_, index) => `db-app-${index + 1}`).toSorted(),
    );
    expect(others).toEqual({
      first: { value: 'db-app-1' },
      last: { value: 'db-app-120:1' },
      password: { secret: true },
      shown: { missing: 'nodes.app-119 has no db-password' },
      none: { missing: 'nodes.app-120 has no none' },
    });
    expect((await run('output', 'db', 'password')).stdout).toBe(`${secret}-app-119\n`);
    expect(await json('output', 'db', 'last')).toMatchObject({ value: 'db-app-120:1' });
  });

  it('an apply that only adds an output provides it at once', async () => {
    const before = await signalsOfGroup();
    expect(await run('apply', producer(1, '  more: "${{ nodes.app-118.port }}"\n'))).toMatchObject({
      code: 0,
    });
    expect((await run('output', 'db', 'more')).stdout).toBe('1\n');
    // One to begin, and one with the work, which is none, and its end.
    expect((await signalsOfGroup()) - before).toBe(2);
  });

  async function signalsOfGroup(): Promise<number> {
    const { events } = await stack.client.temporal.workflow
      .getHandle(groupWorkflowId('db', '1'))
      .fetchHistory();
    return (
      events?.filter(({ workflowExecutionSignaledEventAttributes: signal }) => signal != null).length ?? 0
    );
  }

  it('another cluster uses them, and is configured again when they change', async () => {
    const seen = join(stack.folder, 'read');
    const reader = write(
      'reader',
      `name: reader
variables: {last: {from: cluster/db}, password: {from: cluster/db}}
nodes: {app: {count: 1, provider: local, hardware: tiny, image: host, services: [app]}}
services:
  app: {actions: {configure: {type: shell, fields: {script: 'echo "\${{ word(var.last) }} \${{ word(var.password) }}" >> ${seen}'}}}}
`,
    );
    expect(await run('apply', reader)).toMatchObject({ code: 0 });
    expect(readFileSync(seen, 'utf8')).toBe(`db-app-120:1 ${secret}-app-119\n`);
    expect(await run('apply', producer(2))).toMatchObject({ code: 0 });
    await until('the reader configures itself again', () => readFileSync(seen, 'utf8').includes(':2 '));
  });

  it('lose the nodes that leave', async () => {
    const file = write(
      'db',
      `name: db
nodes: {app: {count: 60, provider: local, hardware: tiny, image: host, services: [db]}}
services: {db: {}}
outputs: {hosts: {value: "\${{ services.db.hostname }}"}}
`,
    );
    expect(await run('apply', file, '--yes')).toMatchObject({ code: 0 });
    expect(((await json('output', 'db', 'hosts')) as { value: readonly string[] }).value).toHaveLength(60);
    await json('delete', 'reader', '--yes');
    await json('delete', 'db', '--yes');
  });
});
