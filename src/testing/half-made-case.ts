import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { isJsonObject, type Json, type JsonObject } from '../model/json.js';
import { mergePayload } from '../model/node/payload.js';
import { cancelAtCall, lacksProxy } from './api-faults.js';
import type { ProviderBench, Subject } from './provider-bench.js';
import type { Case } from './runner.js';

/** A CREATE that nothing disturbed. */
interface WholeCreate {
  readonly result: JsonObject;
  /** Its API calls. */
  readonly calls: readonly { readonly method: string; readonly path: string }[];
  /** Whether find returns `created` for its machine. */
  readonly isAdoptable: boolean;
}

/** CREATE ends at each of its API calls as if its worker was killed, and the next attempt continues. */
export const halfMadeCase: Case<'half-made', ProviderBench> = {
  id: 'half-made',
  title:
    'completes a machine whose CREATE was killed at any of its calls, and finds it as created only when it is complete',
  lacks: lacksProxy,
  run: async (bench) => {
    const subjects: Subject[] = [];
    const subject = (): Subject => {
      const made = bench.subject();
      subjects.push(made);
      return made;
    };
    try {
      // The first one also logs in and looks up names, which a plugin may remember.
      await bench.create(subject());
      const whole = await watchCreate(bench, subject());
      const killed: (readonly [Subject, number])[] = [];
      for (const index of whole.calls.keys()) {
        const next = subject();
        bench.proxy?.set(({ number }) => (number === index + 1 ? { kind: 'hold' } : undefined));
        const isKilled = await cancelAtCall(bench, index + 1, (signal) => bench.create(next, { signal }));
        bench.proxy?.clear();
        if (isKilled) killed.push([next, index]);
      }
      // All of them wait for the consistency window together.
      for (const [next, index] of killed) await complete(bench, next, whole, index);
    } finally {
      bench.proxy?.clear();
      for (const one of subjects) await bench.remove(one);
    }
  },
};

async function watchCreate(bench: ProviderBench, subject: Subject): Promise<WholeCreate> {
  const calls: { readonly method: string; readonly path: string }[] = [];
  bench.proxy?.set((call) => void calls.push(call));
  const result = await bench.create(subject);
  bench.proxy?.clear();
  await bench.untilVisible();
  const [found] = bench.has('find') ? await bench.find(subject.key) : [];
  return { result, calls, isAdoptable: found?.created !== undefined };
}

async function complete(
  bench: ProviderBench,
  subject: Subject,
  { result: expected, calls, isAdoptable }: WholeCreate,
  index: number,
): Promise<void> {
  const cutAt = `${calls[index]?.method} ${calls[index]?.path.replace(/\?.*/, '')}, call ${index + 1} of CREATE`;
  await bench.untilVisible(subject.createdAt);
  const [halfMade] = bench.has('find') ? await bench.find(subject.key) : [];
  const next = calls.slice(index + 1).find(({ method }) => method !== 'GET' && method !== 'HEAD');
  if (next !== undefined)
    strictEqual(
      halfMade?.created,
      undefined,
      `killed at ${cutAt}, before ${next.method} ${next.path}: find returns \`created\` for a machine that may lack a part, and it would be adopted`,
    );
  const result = await bench.createAgain(subject);
  deepStrictEqual(
    shapeOf(result),
    shapeOf(expected),
    `killed at ${cutAt}: the next attempt returns another result than an undisturbed CREATE`,
  );
  if (!bench.has('find')) return;
  await bench.untilVisible();
  const found = await bench.find(subject.key);
  deepStrictEqual(
    found.map(({ providerid }) => providerid),
    [result['providerid']],
    `killed at ${cutAt}: find and the next attempt show different machines`,
  );
  if (isAdoptable)
    deepStrictEqual(
      mergePayload({}, found[0]?.created ?? {}),
      mergePayload({}, result),
      `killed at ${cutAt}: find returns another \`created\` than the next attempt, as for a machine that lacks a part`,
    );
}

/** Keys without their values: each machine has its own. */
function shapeOf(value: Json): Json {
  if (!isJsonObject(value)) return Array.isArray(value) ? 'list' : typeof value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, item]) => [key, shapeOf(item)]),
  );
}
