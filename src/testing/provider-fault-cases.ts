import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import type { JsonObject } from '../model/json.js';
import { isPluginError, type FailureKind } from '../plugins/errors.js';
import type { CallOptions, ProviderBench, Subject } from './provider-bench.js';
import type { ApiProxy, CallFault } from './proxy.js';
import type { Case } from './runner.js';
import { failureOf, until } from './until.js';

export type FaultCaseId =
  | 'lost-create'
  | 'lost-delete'
  | 'cancel'
  | 'garbage'
  | 'refusals'
  | 'unreachable'
  | 'wrong-flavor'
  | 'wrong-credentials'
  | 'redaction';

/** Most calls to its API that one action of a provider may take. */
const mostCalls = 20;

/** What a provider does when its API, its fields or its task go wrong. */
export const faultCases: readonly Case<FaultCaseId, ProviderBench>[] = [
  {
    id: 'lost-create',
    title: 'makes one machine for a key, whichever answer of its API is lost during CREATE',
    lacks: lacksProxy,
    run: (bench) =>
      eachCall(bench, 'lose', async (subject) => {
        await bench.create(subject).catch(expectFailure);
        return async () => {
          const { providerid } = await bench.createAgain(subject);
          if (!bench.has('find')) return;
          const found = await until(
            'the machine to be found',
            async () => {
              const machines = await bench.find(subject.key);
              return machines.length > 0 && machines;
            },
            bench.patienceMs,
          );
          deepStrictEqual(
            found.map((machine) => machine.providerid),
            [providerid],
          );
        };
      }),
  },
  {
    id: 'lost-delete',
    title: 'deletes a machine, whichever answer of its API is lost during DELETE',
    lacks: lacksProxy,
    run: (bench) =>
      eachCall(bench, 'lose', async (subject) => {
        bench.proxy?.clear();
        await bench.create(subject);
        return async (arm) => {
          arm();
          await bench.delete(subject).catch(expectFailure);
          bench.proxy?.clear();
          await bench.remove(subject);
          if (bench.has('find'))
            await until(
              'it to be found no more',
              async () => (await bench.find(subject.key)).length === 0,
              bench.patienceMs,
            );
        };
      }),
  },
  {
    id: 'cancel',
    title:
      'ends its calls when the task is cancelled, whichever call of CREATE hangs, and leaves nothing that DELETE does not find',
    lacks: lacksProxy,
    run: (bench) =>
      eachCall(bench, 'hold', async (subject, proxy, number) => {
        const cancel = new AbortController();
        let over = false;
        const call = bench
          .create(subject, { signal: cancel.signal })
          .then(
            () => 'made',
            (error: unknown) => error,
          )
          .finally(() => {
            over = true;
          });
        await until(
          'the call that hangs',
          () => Promise.resolve(over || proxy.calls() >= number),
          bench.patienceMs,
        );
        if (over) return undefined;
        cancel.abort(new Error('the task was cancelled'));
        const ended = await call;
        ok(ended instanceof Error, 'CREATE was cancelled, and ended as if nothing had happened');
        return async () => {
          await bench.untilVisible();
          await bench.remove(subject, { withId: false });
        };
      }),
  },
  {
    id: 'garbage',
    title: 'takes no answer for success that is none: HTML, cut JSON, empty objects and lists',
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
          const failure = await failureOf(call(), [
            'Retryable',
            'NotReady',
            'Invalid',
            'UnknownOutcome',
          ]).catch((error: unknown) => {
            throw new Error(
              `${method} when its API answers ${status} ${body}: ${error instanceof Error ? error.message : String(error)}`,
              { cause: error },
            );
          });
          ok(failure.message.length > 10, `${method} says nothing when its API answers ${body}`);
        }
      }),
  },
  {
    id: 'refusals',
    title: 'says Retryable of 429, 500 and 503, not before the time the API names, and Auth of 401',
    lacks: lacksProxy,
    run: (bench) =>
      eachMethod(bench, async (proxy, method, call) => {
        const answer = (status: number, headers = {}): void =>
          proxy.set(() => ({
            kind: 'answer',
            status,
            headers,
            body: '{"error": {"code": "Refused", "message": "not now"}}',
          }));
        for (const status of [429, 500, 503]) {
          answer(status, { 'retry-after': '7' });
          const failure = await failureOf(call(), ['Retryable', 'Capacity']);
          if (status === 429)
            ok(
              isPluginError(failure) && failure.retryAfterMs === 7_000,
              `${method} does not pass on Retry-After: 7`,
            );
        }
        answer(401);
        await failureOf(call(), ['Auth']);
      }),
  },
  {
    id: 'unreachable',
    title: 'says Retryable when its API cannot be reached, and takes nothing for deleted',
    lacks: ({ options }) =>
      options.endpoint === undefined ? "options.endpoint names no field with the API's address" : undefined,
    run: (bench) =>
      bench.with(async (subject) => {
        await bench.create(subject);
        // Nobody listens on port 1 of loopback.
        const fields: JsonObject = {
          ...bench.fields,
          ...(bench.options.endpoint === undefined ? {} : { [bench.options.endpoint]: 'http://127.0.0.1:1' }),
        };
        await allFail(bench, subject, { fields }, 'Retryable');
      }),
  },
  {
    id: 'wrong-flavor',
    title: 'says Invalid of a flavor that its API does not know, and makes nothing',
    run: (bench) =>
      bench.with(async (subject) => {
        const failure = await failureOf(bench.create(subject, { flavor: 'no-such-flavor' }), ['Invalid']);
        ok(
          failure.message.includes('flavor'),
          `the message does not say that the flavor is wrong: ${failure.message}`,
        );
        if (bench.has('find')) deepStrictEqual(await bench.find(subject.key), []);
      }),
  },
  {
    id: 'wrong-credentials',
    title: 'says Auth of credentials that its API refuses, of DELETE too: nothing is taken for deleted',
    lacks: (bench) => (wrongSecrets(bench) === undefined ? 'its descriptor has no secret field' : undefined),
    run: (bench) =>
      bench.with(async (subject) => {
        await bench.create(subject);
        const fields = { ...bench.fields, ...wrongSecrets(bench) };
        await allFail(bench, subject, { fields }, 'Auth');
      }),
  },
  {
    id: 'redaction',
    title:
      'gives no secret of its account away: not to the payload, and in words only as the engine can take it out',
    lacks: ({ secrets }) => (secrets.length === 0 ? 'its account has no secret' : undefined),
    run: (bench) =>
      bench.with(async (subject) => {
        const results = JSON.stringify([
          await bench.create(subject),
          await bench.confirm(subject).catch(() => ({})),
        ]);
        await bench.create(bench.subject(), { flavor: 'no-such-flavor' }).catch(() => undefined);
        const said = bench.hearing.redacted();
        for (const secret of bench.secrets.flatMap((one) => [one, one.toUpperCase(), one.slice(0, -1)])) {
          strictEqual(results.includes(secret), false, 'a result holds a secret of the account');
          strictEqual(
            said.includes(secret),
            false,
            'its words hold a secret in a form that nobody can take out',
          );
        }
      }),
  },
];

function lacksProxy({ proxy }: ProviderBench): string | undefined {
  return proxy === undefined ? "options.endpoint names no field with the API's address" : undefined;
}

async function allFail(
  bench: ProviderBench,
  subject: Subject,
  options: CallOptions,
  kind: FailureKind,
): Promise<void> {
  const calls = [
    () => bench.create(subject, options),
    () => bench.confirm(subject, options),
    () => bench.delete(subject, options),
    () => bench.delete(subject, { ...options, withId: false }),
  ];
  for (const call of calls) await failureOf(call(), [kind]);
}

/** Lost is lost: whatever it makes of that, it must not crash. */
function expectFailure(error: unknown): void {
  if (!isPluginError(error)) throw error;
}

/** Arms the fault, for cases that first need a machine. */
type Rest = (arm: () => void) => Promise<void>;

/**
 * Does it once for each call that the action makes: the first time with its first call gone wrong, and so on.
 */
async function eachCall(
  bench: ProviderBench,
  kind: CallFault['kind'] & ('lose' | 'hold'),
  act: (subject: Subject, proxy: ApiProxy, number: number) => Promise<Rest | undefined>,
): Promise<void> {
  const { proxy } = bench;
  if (proxy === undefined) return;
  for (let number = 1; ; number += 1) {
    ok(number <= mostCalls, `one action takes more than ${mostCalls} calls`);
    let met = false;
    const arm = (): void =>
      proxy.set((call) => {
        if (call.number !== number) return undefined;
        met = true;
        return { kind };
      });
    await bench.with(async (subject) => {
      arm();
      const rest = await act(subject, proxy, number);
      // What hangs goes on hanging until the proxy is closed; only new calls pass.
      proxy.clear();
      await rest?.(arm);
    });
    if (!met) return;
  }
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
    const calls: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['CREATE', () => bench.create(fresh)],
      ['CONFIRM', () => bench.confirm(subject)],
      ['DELETE', () => bench.delete(subject)],
      ['DELETE without an id', () => bench.delete(subject, { withId: false })],
      ...(bench.has('list') ? [['list', () => bench.list(subject.tags)] as const] : []),
      ...(bench.has('find') ? [['find', () => bench.find(subject.key)] as const] : []),
    ];
    for (const [method, call] of calls) await check(proxy, method, call);
  });
}

/** Other texts in place of the account's secrets. */
function wrongSecrets({ plugin, fields }: ProviderBench): JsonObject | undefined {
  const secret = Object.entries(plugin.descriptor.fields?.admin ?? {}).filter(
    ([key, field]) => field.secret === true && typeof fields[key] === 'string',
  );
  return secret.length === 0
    ? undefined
    : Object.fromEntries(secret.map(([key]) => [key, 'wrong-credentials-of-the-suite']));
}
