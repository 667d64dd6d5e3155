import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { healthLines, withHealth } from '../../src/cli/cluster/node-text.js';
import { type Stack, startStack, type WorkerProcess } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { openLedger, type Ledger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';

/** A web server on the node's address that says 503 until a file is there, and ends when another is. */
const server = `
const { createServer } = require('node:http');
const { existsSync } = require('node:fs');
createServer((request, response) => { response.statusCode = existsSync(process.env.READY) ? 200 : 503; response.end(); })
  .listen(Number(process.env.PORT), process.env.HEDDLE_IPADDRESS);
setInterval(() => { if (existsSync(process.env.END)) process.exit(); }, 20);
`;

describe('the check of a service', () => {
  let stack: Stack;
  let ledger: Ledger;
  let worker: WorkerProcess;
  const file = (name: string): string => join(stack.folder, name);
  beforeAll(async () => {
    stack = await startStack();
    ledger = openLedger(stack.folder);
    worker = await stack.startWorker();
  });

  const webServer = (name: string, port: number): object => ({
    type: 'shell',
    fields: {
      // The server lives on when its script ends, as a service does.
      script:
        'echo "$HEDDLE_CLUSTER $HEDDLE_NODE START begin" >>"$LEDGER"; cat >"$HOME/server.cjs"; setsid node "$HOME/server.cjs" </dev/null >/dev/null 2>&1 &',
      data: server,
      environment: {
        PORT: String(port),
        READY: file(`ready-${name}`),
        END: file(`end-${name}`),
        LEDGER: file('ledger'),
      },
    },
  });
  const stateOf = async (name: string, operation: string): Promise<readonly unknown[]> => {
    const { status, operation: ended } = await stack.client.waitFor(name, operation);
    return [ended.state, ...status.nodes.flatMap(({ failure }) => failure?.message ?? [])];
  };

  it('is awaited by START, also by another worker than the one that started it, and is seen to fail later', async () => {
    const port = 18_431;
    const web = {
      check: { http: `http://node:${port}/health`, within: '2m', every: '100ms' },
      actions: { start: webServer('web', port), stop: ledger.script() },
    };
    const tcp = {
      check: { tcp: `node:${port}`, every: '100ms' },
      runtime: { requires: ['web'] },
      actions: { start: ledger.script() },
    };
    const command = {
      check: { command: '[ -e "$HOME/well" ] || { echo no well here >&2; exit 3; }', every: '100ms' },
      actions: { start: ledger.script({ body: 'touch "$HOME/well"' }) },
    };
    const { operation } = await stack.client.apply(
      closed({
        name: 'checked',
        nodes: { app: nodes(1, ['web', 'port', 'file']) },
        services: { web, port: tcp, file: command },
      }),
    );
    await ledger.written('checked app-1 START begin');
    await until('START to wait for the check', () =>
      worker.output().includes(`check of web: http http://node:${port}/health: not yet, HTTP status 503`),
    );
    expect((await stack.client.status('checked')).nodes[0]?.health?.['web']).toBeUndefined();
    await worker.kill();
    worker = await stack.startWorker('second');
    writeFileSync(file('ready-web'), '');
    expect(await stateOf('checked', operation)).toEqual(['done']);
    expect((await ledger.lines('checked app-1 START')).length).toBe(1);
    const [node] = (await stack.client.status('checked')).nodes;
    for (const service of ['web', 'port', 'file'])
      expect(node?.health?.[service]).toMatchObject({ well: true });

    writeFileSync(file('end-web'), '');
    const exec = await stack.client.operate('checked', { kind: 'exec', command: 'rm "$HOME/well"' });
    expect(await stateOf('checked', exec.operation)).toEqual(['done']);
    const [later] = await until('a look to find it', async () => {
      await stack.client.probe('checked');
      const { nodes: seen } = await stack.client.status('checked');
      return ['web', 'port', 'file'].every((service) => seen[0]?.health?.[service]?.well === false)
        ? seen
        : undefined;
    });
    expect(later?.health?.['file']?.why).toBe('exit code 3: no well here');
    expect(later?.health?.['web']?.why).toMatch(/does not accept connections/);
    expect(
      later?.services.map((service) => withHealth(service, later.health?.[service], Date.now())),
    ).toContainEqual(expect.stringMatching(/^web \(unhealthy, [\d.]+ s ago\)$/));
    expect(healthLines(later === undefined ? [] : [later], Date.now()).join('\n')).toContain(
      'file on app-1 is unhealthy: exit code 3: no well here',
    );

    const stop = await stack.client.operate('checked', { kind: 'stop', services: [] });
    expect(await stateOf('checked', stop.operation)).toEqual(['done']);
    expect((await stack.client.status('checked')).nodes[0]?.health?.['web']).toBeUndefined();
  });

  it('fails START with the last result if it does not pass in time', async () => {
    const service = {
      check: { tcp: 'node:9', within: '300ms', every: '50ms' },
      actions: { start: ledger.script() },
    };
    const { operation } = await stack.client.apply(
      closed({ name: 'never', nodes: { app: nodes(1, ['web']) }, services: { web: service } }),
    );
    expect(await stateOf('never', operation)).toEqual([
      'held',
      expect.stringMatching(
        /^START web on app-1: its action succeeded, but the check of web: tcp node:9 did not pass within 0\.3 s: /,
      ),
    ]);
    const deletion = await stack.client.delete('never');
    expect(await stateOf('never', deletion.operation ?? '')).toEqual(['done']);
  });
});
