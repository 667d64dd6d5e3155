import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { resolveOwnSecret } from '../../src/activities/provider/own-secret.js';
import { createTaskActivities } from '../../src/activities/table.js';
import type { TaskRequest } from '../../src/model/node/task-request.js';
import { allowReferences } from '../../src/secrets/allowed.js';
import { forbiddenReferences } from '../../src/secrets/reference.js';
import { resolveForTask } from '../../src/worker/configured-parts.js';
import { openBench, request, secret, type Bench } from '../harness/activities/parts.js';

/** DELETE writes the names of the fields that it got to the file that the account names. */
const code = `
  async create() { return { result: { providerid: 'm-1' } }; }
  async confirm() { return { result: { ipaddress: '127.0.0.1' } }; }
  async delete() { (await import('node:fs')).writeFileSync(this.fields.seen, JSON.stringify(this.fields)); }
  async powerStatus() { return { power: 'on' }; }
  async powerOn() { return { answer: 'done' }; }
  async powerOff() { return { answer: 'done' }; }
`;
const fields = {
  admin: {
    token: { title: 'Token', type: 'string', secret: true, overridable: true },
    seen: { title: 'Seen', type: 'string' },
    login: { title: 'Login', type: 'json', passReferences: true, overridable: true },
  },
  user: { how: { title: 'How', type: 'string' } },
  required: { user: [['how']] },
};

let bench: Bench;
let marker: string;
let seen: string;

/** As a worker whose heddle.yaml says `secrets: {allow: ["env:TOKEN"]}`. */
beforeAll(async () => {
  const allows = allowReferences(['env:TOKEN']);
  bench = await openBench(
    code,
    {
      forbiddenReferences: (value) => forbiddenReferences(value, allows),
      resolveSecrets: (value, origin) =>
        resolveForTask(value, { environment: { TOKEN: secret } }, { ...origin, allows }),
    },
    // DELETE without an id waits so long for an earlier CREATE.
    { fields, callDeadlineMs: 1_000 },
  );
  marker = join(bench.folder, 'executed');
  seen = join(bench.folder, 'seen');
  Object.assign(bench.parts.providers['fault'] ?? {}, { fields: { token: { secret: 'env:TOKEN' }, seen } });
});
afterAll(() => bench.close());
afterEach(() => expect(existsSync(marker)).toBe(false));

const forbidden = () => ({ secret: `exec:/usr/bin/touch ${marker}` });
const inActivity = <Reply>(work: () => Promise<Reply>): Promise<Reply> =>
  new MockActivityEnvironment(
    { attempt: 9, startToCloseTimeoutMs: 60_000 },
    { logger: new DefaultLogger('ERROR') },
  ).run(work);

async function failureOf(attempt: Promise<unknown>): Promise<ApplicationFailure> {
  const error: unknown = await attempt.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  );
  if (error instanceof ApplicationFailure) return error;
  throw error;
}

const refusal = expect.stringMatching(/refers to a secret that cluster files may not use.*secrets\.allow/);

test.each(['how', 'token', 'login'])(
  "CREATE and CONFIRM refuse a forbidden reference in the user's field %s",
  async (key) => {
    for (const action of ['CREATE', 'CONFIRM'] as const) {
      const asked = request({ how: 'x', [key]: forbidden() });
      expect(await failureOf(bench.run(action, asked))).toMatchObject({
        type: 'Auth',
        nonRetryable: true,
        message: refusal,
      });
    }
  },
);

// Promise: references-checked-at-use
test('a service action refuses a forbidden reference in its fields', async () => {
  const config = {
    ...request({}).config,
    ipaddress: '127.0.0.1',
    'ssh-auth': { user: 'root', password: 'x' },
  };
  const service = { name: 'app', action: { type: 'shell', fields: { script: forbidden() } } };
  expect(await failureOf(bench.run('INSTALL', request({ how: 'x' }, { config, service })))).toMatchObject({
    type: 'Auth',
    message: refusal,
  });
});

test('a survey does not resolve a forbidden reference, and reports the machine as unknown', async () => {
  const { PROBE_NODES } = createTaskActivities(bench.parts);
  const provider = { name: 'fault', type: 'fault', fields: { how: forbidden() } };
  const reply = await inActivity(() =>
    PROBE_NODES({
      clusterId: 'web',
      provider,
      nodes: [{ nodeId: 'app-1', incarnation: 1, keyUid: 'u', config: { providerid: 'm-1' } }],
    }),
  );
  expect(reply).toMatchObject({ observations: [], unknown: [{ nodeId: 'app-1', why: refusal }] });
});

test('a machine action refuses a forbidden reference in the fields of the registration', async () => {
  const { POWER_ON } = createTaskActivities(bench.parts);
  const asked = { ...request({ how: forbidden() }), order: { at: '2026-01-01T00:00:00Z' } };
  expect(await failureOf(inActivity(() => POWER_ON(asked)))).toMatchObject({
    type: 'Auth',
    message: refusal,
  });
});

test("DELETE omits the user's fields with forbidden references, and deletes", async () => {
  await bench.run('DELETE', request({ how: forbidden(), token: forbidden(), login: forbidden() }));
  expect(JSON.parse(readFileSync(seen, 'utf8'))).toEqual({ seen, token: secret });
});

test("a user's reference is resolved before the plugin gets it, even if the administrator's is passed on", async () => {
  await bench.run('DELETE', request({ how: 'x', login: { secret: 'env:TOKEN' } }));
  expect(JSON.parse(readFileSync(seen, 'utf8'))).toEqual({ seen, token: secret, how: 'x', login: secret });
});

test.each<readonly [string, (reference: string) => Partial<TaskRequest>]>([
  ['payload', (reference) => ({ config: { note: { secret: reference } } })],
  [
    "payload's ssh-auth",
    (reference) => ({ config: { 'ssh-auth': { user: 'root', key: { secret: reference } } } }),
  ],
])('a plugin program cannot have a reference of the %s resolved', async (_place, more) => {
  const reference = 'env:TOKEN';
  await expect(
    resolveOwnSecret(
      bench.parts,
      request({ how: 'x' }, more(reference)),
      { hide: () => undefined },
      reference,
    ),
  ).rejects.toMatchObject({ kind: 'Auth' });
});

test('a plugin program gets an allowed reference of its task, and no forbidden one', async () => {
  const own = (reference: string) =>
    resolveOwnSecret(
      bench.parts,
      request({ how: { secret: reference } }),
      { hide: () => undefined },
      reference,
    );
  expect(await own('env:TOKEN')).toBe(secret);
  await expect(own(forbidden().secret)).rejects.toMatchObject({ kind: 'Auth', message: refusal });
});
