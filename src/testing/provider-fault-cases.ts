import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import type { JsonObject } from '../model/json.js';
import { isPluginError, type FailureKind } from '../plugins/errors.js';
import {
  cancelAtCall,
  expectPluginError,
  forEachCall,
  lacksProxy,
  type CallFaultKind,
} from './api-faults.js';
import { halfMadeCase } from './half-made-case.js';
import type { CallOptions, ProviderBench, Subject } from './provider-bench.js';
import type { ApiProxy } from './proxy.js';
import type { Case } from './runner.js';
import { failureOf } from './until.js';

export type FaultCaseId =
  | 'lost-create'
  | 'half-made'
  | 'lost-delete'
  | 'cancel'
  | 'garbage'
  | 'refusals'
  | 'unreachable'
  | 'wrong-flavor'
  | 'wrong-credentials'
  | 'redaction';

/** Most API calls that one action of a provider may make. */
const mostCalls = 20;

/** What a provider does when its API, its fields or its task go wrong. */
export const faultCases: readonly Case<FaultCaseId, ProviderBench>[] = [
  {
    id: 'lost-create',
    title: 'makes one machine for a key, whichever API response is lost during CREATE',
    lacks: lacksProxy,
    run: (bench) =>
      eachCreate(
        bench,
        'lose',
        async (subject) => {
          await bench.create(subject).catch(expectPluginError);
        },
        async (subject) => {
          const { providerid } = await bench.createAgain(subject);
          if (!bench.has('find')) return;
          const found = await bench.until('the machine to be found', async () => {
            const machines = await bench.find(subject.key);
            return machines.length > 0 && machines;
          });
          deepStrictEqual(
            found.map((machine) => machine.providerid),
            [providerid],
          );
        },
      ),
  },
  halfMadeCase,
  {
    id: 'lost-delete',
    title: 'deletes a machine, whichever API response is lost during DELETE',
    lacks: lacksProxy,
    run: (bench) =>
      everyCall(bench, 'lose', ({ arm }) =>
        bench.with(async (subject) => {
          bench.proxy?.clear();
          await bench.create(subject);
          arm();
          await bench.delete(subject).catch(expectPluginError);
          bench.proxy?.clear();
          await bench.remove(subject);
          if (bench.has('find'))
            await bench.until(
              'find to return nothing',
              async () => (await bench.find(subject.key)).length === 0,
            );
        }),
      ),
  },
  {
    id: 'cancel',
    title:
      'ends its calls when the task is cancelled, whichever call of CREATE hangs, and leaves nothing that DELETE does not find',
    lacks: lacksProxy,
    run: (bench) =>
      eachCreate(
        bench,
        'hold',
        async (subject, number) => {
          await cancelAtCall(bench, number, (signal) => bench.create(subject, { signal }));
        },
        async (subject) => {
          await bench.untilVisible(subject.createdAt);
          await bench.remove(subject, { withId: false });
        },
      ),
  },
  {
    id: 'garbage',
    title: 'treats no malformed response as success: HTML, cut JSON, empty objects and lists',
    lacks: lacksProxy,
    run: (bench) =>
      eachMethod(bench, async (proxy, method, call) => {
        for (const [status, body] of [
          [200, '<html>Maintenance</html>'],
          [200, '{"cut": '],
          [200, '{}'],
          [200, '[]'],
          [200, 'null'],
          [502, '<html>Bad gateway</html>'],
        ] as const) {
          proxy.set(() => ({ kind: 'answer', status, body }));
          const kinds = ['Retryable', 'NotReady', 'Invalid', 'UnknownOutcome'];
          const failure = await failureOf(call(), kinds).catch((cause: unknown) => {
            const what = cause instanceof Error ? cause.message : String(cause);
            throw new Error(`${method} when its API answers ${status} ${body}: ${what}`, { cause });
          });
          ok(failure.message.length > 10, `${method} gives no message when its API answers ${body}`);
        }
      }),
  },
  {
    id: 'refusals',
    title: 'fails with Retryable on 429, 500 and 503, passes on Retry-After, and fails with Auth on 401',
    lacks: lacksProxy,
    run: (bench) =>
      eachMethod(bench, async (proxy, method, call) => {
        const body = '{"error": {"code": "Refused", "message": "not now"}}';
        for (const status of [429, 500, 503]) {
          proxy.set(() => ({ kind: 'answer', status, headers: { 'retry-after': '7' }, body }));
          const failure = await failureOf(call(), ['Retryable', 'Capacity']);
          const isPassedOn = isPluginError(failure) && failure.retryAfterMs === 7_000;
          if (status === 429) ok(isPassedOn, `${method} does not pass on Retry-After: 7`);
        }
        proxy.set(() => ({ kind: 'answer', status: 401, body }));
        await failureOf(call(), ['Auth']);
      }),
  },
  {
    id: 'unreachable',
    title: 'fails with Retryable when its API cannot be reached, and treats nothing as deleted',
    lacks: lacksProxy,
    run: (bench) =>
      bench.with(async (subject) => {
        await bench.create(subject);
        // Nothing listens on port 1 of loopback.
        const instead = { [bench.opened.options.endpoint ?? '']: 'http://127.0.0.1:1' };
        await allFail(bench, subject, { fields: { ...bench.opened.fields, ...instead } }, 'Retryable');
      }),
  },
  {
    id: 'wrong-flavor',
    title: 'fails with Invalid for a flavor that its API does not know, and makes nothing',
    run: (bench) =>
      bench.with(async (subject) => {
        const { message } = await failureOf(bench.create(subject, { flavor: 'no-such-flavor' }), ['Invalid']);
        ok(message.includes('flavor'), `the message does not name the flavor: ${message}`);
        if (bench.has('find')) deepStrictEqual(await bench.find(subject.key), []);
      }),
  },
  {
    id: 'wrong-credentials',
    title: 'fails with Auth when its API refuses the credentials, also during DELETE',
    lacks: (bench) => (wrongSecrets(bench) === undefined ? 'its descriptor has no secret field' : undefined),
    run: (bench) =>
      bench.with(async (subject) => {
        await bench.create(subject);
        await allFail(bench, subject, { fields: { ...bench.opened.fields, ...wrongSecrets(bench) } }, 'Auth');
      }),
  },
  {
    id: 'redaction',
    title: 'puts no secret of its account into results, and into messages only forms that can be redacted',
    lacks: ({ opened }) => (opened.secrets.length === 0 ? 'its account has no secret' : undefined),
    run: (bench) =>
      bench.with(async (subject) => {
        const created = await bench.create(subject);
        const confirmed = await bench.confirm(subject).catch(() => ({}));
        await bench.create(bench.subject(), { flavor: 'no-such-flavor' }).catch(() => undefined);
        const results = JSON.stringify([created, confirmed]);
        const output = bench.transcript.redacted();
        for (const secret of bench.opened.secrets.flatMap((one) => [
          one,
          one.toUpperCase(),
          one.slice(0, -1),
        ])) {
          strictEqual(results.includes(secret), false, 'a result holds a secret of the account');
          strictEqual(
            output.includes(secret),
            false,
            'a message holds a secret in a form that cannot be redacted',
          );
        }
      }),
  },
];

async function allFail(
  bench: ProviderBench,
  subject: Subject,
  options: CallOptions,
  kind: FailureKind,
): Promise<void> {
  await failureOf(bench.create(subject, options), [kind]);
  await failureOf(bench.confirm(subject, options), [kind]);
  await failureOf(bench.delete(subject, options), [kind]);
  await failureOf(bench.delete(subject, { ...options, withId: false }), [kind]);
}

/**
 * Interrupts CREATE of a new machine at each of its API calls, and then continues with every
 * machine: what was done for all of them becomes visible in the meantime.
 */
async function eachCreate(
  bench: ProviderBench,
  kind: CallFaultKind,
  interrupt: (subject: Subject, number: number) => Promise<void>,
  proceed: (subject: Subject) => Promise<void>,
): Promise<void> {
  const subjects: Subject[] = [];
  try {
    await everyCall(bench, kind, async ({ number }) => {
      const subject = bench.subject();
      subjects.push(subject);
      await interrupt(subject, number);
    });
    for (const subject of subjects) await proceed(subject);
  } finally {
    bench.proxy?.clear();
    for (const subject of subjects) await bench.remove(subject);
  }
}

async function everyCall(
  bench: ProviderBench,
  kind: CallFaultKind,
  run: Parameters<typeof forEachCall>[3],
): Promise<void> {
  const isComplete = await forEachCall(bench, kind, mostCalls, run);
  ok(isComplete, `one action takes more than ${mostCalls} calls`);
}

async function eachMethod(
  bench: ProviderBench,
  check: (proxy: ApiProxy, method: string, call: () => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const { proxy } = bench;
  if (proxy === undefined) return;
  await bench.with(async (subject) => {
    await bench.create(subject);
    const fresh = bench.subject();
    await check(proxy, 'CREATE', () => bench.create(fresh));
    await check(proxy, 'CONFIRM', () => bench.confirm(subject));
    await check(proxy, 'DELETE', () => bench.delete(subject));
    await check(proxy, 'DELETE without an id', () => bench.delete(subject, { withId: false }));
    if (bench.has('list')) await check(proxy, 'list', () => bench.list(subject.tags));
    if (bench.has('find')) await check(proxy, 'find', () => bench.find(subject.key));
  });
}

/** Wrong values for the account's secrets. */
function wrongSecrets({ plugin, opened }: ProviderBench): JsonObject | undefined {
  const keys = Object.entries(plugin.descriptor.fields?.admin ?? {}).flatMap(([key, field]) =>
    field.secret === true && typeof opened.fields[key] === 'string' ? [key] : [],
  );
  if (keys.length === 0) return undefined;
  return Object.fromEntries(keys.map((key) => [key, 'wrong-credentials-of-the-suite']));
}
