import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { isJsonObject } from '../model/json.js';
import { mergePayload } from '../model/node/payload.js';
import { tagNames } from '../model/names.js';
import type { WantedKind } from '../plugins/contract.js';
import { isPluginError } from '../plugins/errors.js';
import { probe } from '../ssh/probe.js';
import { drain } from './drain.js';
import { fieldCases, type FieldCaseId } from './field-cases.js';
import { misled } from './machine-answers.js';
import { listPagesCase, statesCase } from './machine-view-cases.js';
import { readTarget } from './node.js';
import { ProviderBench, type Subject } from './provider-bench.js';
import type { Case } from './runner.js';
import { failureOf } from './until.js';

export type LifecycleCaseId =
  | 'life'
  | 'login'
  | 'repetition'
  | 'same-moment'
  | 'gone'
  | 'absent'
  | 'other-key'
  | 'find'
  | 'created'
  | 'list'
  | 'list-apart'
  | 'list-pages'
  | 'states'
  | 'offers'
  | 'console'
  | 'counted'
  | 'notified'
  | 'drain'
  | FieldCaseId;

/** What a provider does when nothing goes wrong, and what it refuses. */
export const lifecycleCases: readonly Case<LifecycleCaseId, ProviderBench>[] = [
  {
    id: 'life',
    title: 'makes a machine, reports its address once it is ready, and deletes it',
    run: (bench) =>
      bench.with(async (subject) => {
        const { providerid } = await bench.create(subject);
        ok(typeof providerid === 'string' && providerid !== '', 'CREATE leaves a providerid');
        await bench.untilReady(subject);
        strictEqual(subject.config['providerid'], providerid, 'CONFIRM reports the machine that CREATE made');
        if (!bench.has('reach')) leavesAddress(subject);
        await bench.remove(subject);
        await bench.untilVisible();
        await failureOf(bench.confirm(subject), ['Invalid', 'MachineFailed', 'NotReady']);
      }),
  },
  {
    id: 'login',
    title: 'leaves what is needed to log in over SSH',
    lacks: (bench) =>
      bench.has('reach') ? 'its resources are reached by the plugin: the case reach looks' : undefined,
    run: (bench) =>
      bench.withReady(async (subject) => {
        const target = await readTarget(subject.config);
        await bench.until('SSH to answer', () =>
          probe(target).catch((error: unknown) => {
            // A password without a host key, and the like: waiting changes nothing.
            if (isPluginError(error) && error.kind === 'Invalid') throw error;
            return false as const;
          }),
        );
      }),
  },
  {
    id: 'repetition',
    title: 'returns the same machine for the same key, reports the same twice, and deletes twice',
    run: (bench) =>
      bench.with(async (subject) => {
        const first = await bench.create(subject);
        const again = await bench.createAgain(subject);
        strictEqual(
          again['providerid'],
          first['providerid'],
          'a second CREATE of the key makes another machine',
        );
        await bench.untilReady(subject);
        deepStrictEqual(
          await bench.confirm(subject),
          await bench.confirm(subject),
          'two CONFIRMs return different results',
        );
        await bench.remove(subject);
        await bench.remove(subject);
      }),
  },
  {
    id: 'same-moment',
    title: 'makes one machine for concurrent requests of a key',
    lacks: ({ plugin }) =>
      plugin.descriptor.idempotency === 'token'
        ? undefined
        : 'only a provider with client tokens promises this',
    run: (bench) =>
      bench.with(async (subject) => {
        const ids = await Promise.all(
          [bench.create(subject), bench.create(subject), bench.create(subject)].map(
            async (made) => (await made)['providerid'],
          ),
        );
        strictEqual(new Set(ids).size, 1, `one key gave ${JSON.stringify(ids)}`);
      }),
  },
  {
    id: 'gone',
    title: 'shows a machine as gone, and ends DELETE, only when it is absent',
    run: (bench) =>
      bench.withReady(async (subject) => {
        const login = bench.has('reach') ? undefined : await readTarget(subject.config);
        await bench.untilVisible();
        await untilDeleted(bench, subject);
        await bench.untilVisible();
        if (bench.has('find'))
          deepStrictEqual(await bench.find(subject.key), [], 'DELETE succeeded, and find shows the machine');
        if (login !== undefined)
          ok(!(await answers(login)), 'DELETE succeeded, and the machine still answers over SSH');
      }),
  },
  {
    id: 'absent',
    title:
      'succeeds in deleting an absent machine: by its old id, by its key, and for a key that never had one',
    run: async (bench) => {
      const gone = bench.subject();
      await bench.create(gone);
      await bench.remove(gone, { withId: false });
      await bench.remove(gone);
      await bench.remove(gone, { withId: false });
      await bench.remove(bench.subject());
    },
  },
  {
    id: 'other-key',
    title: "neither confirms nor deletes the machine of another key, even when it is given that machine's id",
    run: (bench) =>
      bench.withReady(async (victim) => {
        const other = misled(bench, victim);
        await failureOf(bench.confirm(other), ['Invalid', 'MachineFailed', 'NotReady']);
        // A provider that looks by the key alone sees that the key has no machine; one that looks by the id
        // refuses.
        await bench.delete(misled(bench, victim)).catch((error: unknown) => {
          if (!isPluginError(error) || !['Invalid', 'MachineFailed'].includes(error.kind)) throw error;
        });
        await bench.confirm(victim);
        if (!bench.has('find')) return;
        await bench.untilVisible();
        strictEqual((await bench.find(victim.key))[0]?.state, 'running', 'the machine of the other key');
      }),
  },
  {
    id: 'console',
    title:
      "reads the console of its machine, and not that of another key, even when it is given that machine's id",
    run: async (bench) => {
      if (!bench.has('consoleOutput')) return;
      await bench.withReady(async (subject) => {
        const read = (of: Subject): Promise<unknown> =>
          bench.act(of, (provider, machine) => provider.consoleOutput?.(machine));
        const own = (await read(subject)) ?? '';
        strictEqual(typeof own, 'string', 'the console of its machine is not text');
        const others = await read(misled(bench, subject)).catch((error: unknown) => {
          if (!isPluginError(error)) throw error;
        });
        ok(others === undefined || others === null || others === '', 'it read the console of another key');
      });
    },
  },
  {
    id: 'find',
    title: 'finds a machine by its key, before and after it is ready, and nothing by any other',
    lacks: lacksAbility('find'),
    run: (bench) =>
      bench.with(async (subject) => {
        const { providerid } = await bench.create(subject);
        await untilSeen(bench, subject);
        await bench.untilReady(subject);
        await bench.untilVisible();
        const [found] = await bench.find(subject.key);
        ok(found !== undefined, 'it is not found any more');
        strictEqual(found.providerid, providerid);
        strictEqual(found.state, 'running');
        if (found.address !== undefined)
          strictEqual(
            found.address,
            subject.config['ipaddress'],
            'find and CONFIRM return different addresses',
          );
        deepStrictEqual(await bench.find(bench.subject().key), []);
        await bench.remove(subject);
        await bench.until('it to be found no more', async () => (await bench.find(subject.key)).length === 0);
      }),
  },
  {
    id: 'created',
    title: 'reports what CREATE returned, so that a retry can adopt the machine',
    lacks: lacksAbility('find'),
    run: (bench) =>
      bench.with(async (subject) => {
        const result = await bench.create(subject);
        await bench.untilVisible();
        const { created } = await untilSeen(bench, subject);
        ok(created !== undefined, 'find returns no `created`: a retry replaces its machines');
        deepStrictEqual(
          mergePayload({ providerid: subject.config['providerid'] ?? '' }, created),
          mergePayload({}, result),
        );
      }),
  },
  {
    id: 'list',
    title: "lists its machines by our installation's tag, each with its key, as running once they are ready",
    lacks: lacksAbility('list'),
    run: (bench) =>
      bench.with(async (one) =>
        bench.with(async (other) => {
          await bench.up(one);
          await bench.up(other);
          await bench.until('both machines to be listed', async () => {
            const listed = await bench.list({ [tagNames.installation]: bench.installation });
            const keys = listed
              .filter(({ state }) => state === 'running')
              .map((machine) => machine.key ?? machine.tags[tagNames.key]);
            return [one, other].every(
              ({ key }) => keys.filter((listedKey) => listedKey === key).length === 1,
            );
          });
          deepStrictEqual(
            (await bench.list({ [tagNames.installation]: bench.installation, [tagNames.key]: one.key })).map(
              ({ providerid }) => providerid,
            ),
            [one.config['providerid']],
          );
        }),
      ),
  },
  listPagesCase,
  statesCase,
  {
    id: 'list-apart',
    title: 'lists nothing that carries another tag',
    lacks: lacksAbility('list'),
    run: (bench) =>
      bench.with(async (subject) => {
        await bench.create(subject);
        deepStrictEqual(
          await bench.list({ [tagNames.installation]: '00000000-0000-0000-0000-000000000000' }),
          [],
        );
      }),
  },
  {
    id: 'offers',
    title: 'offers the flavor and the image that CREATE takes, and refuses others',
    inapplicable: (bench) => (bench.has('offers') ? undefined : 'it has no method offers'),
    run: async (bench) => {
      const { flavor, image } = bench.opened.account;
      const refusedOf = async (wanted: WantedKind): Promise<readonly string[]> => {
        const { flavors, images, refused = {} } = await bench.ask((provider) => provider.offers?.(wanted));
        return [
          ...(refused.flavor !== undefined || flavors?.includes(wanted.flavor) === false ? ['flavor'] : []),
          ...(refused.image !== undefined || images?.includes(wanted.image) === false ? ['image'] : []),
        ];
      };
      deepStrictEqual(await refusedOf({ flavor, image }), [], 'it refuses what CREATE takes');
      deepStrictEqual(
        [
          ...(await refusedOf({ flavor: 'no-such-flavor', image })),
          ...(await refusedOf({ flavor, image: 'no-such-image' })),
        ],
        ['flavor', 'image'],
      );
    },
  },
  {
    id: 'counted',
    title:
      'waits for the rate limiter before each API call if its descriptor has countsCalls, and for none otherwise',
    run: (bench) =>
      bench.with(async (subject) => {
        const {
          calls,
          proxy,
          plugin: { descriptor },
        } = bench;
        const before = calls.taken;
        proxy?.clear();
        await bench.up(subject);
        if (bench.has('find')) await bench.find(subject.key);
        if (bench.has('list')) await bench.list({ [tagNames.installation]: bench.installation });
        await bench.remove(subject);
        const taken = calls.taken - before;
        if (!descriptor.countsCalls)
          strictEqual(taken, 0, 'it waits for calls, and its descriptor does not say countsCalls');
        else
          ok(
            taken > 0 && taken >= (proxy?.calls() ?? 0),
            `it made ${proxy?.calls() ?? 'its'} calls and waited for ${taken}`,
          );
      }),
  },
  {
    id: 'notified',
    title: 'accepts each notification that it has a method for, twice, and leaves the machine as it is',
    inapplicable: (bench) =>
      bench.has('nodeDeleted') || bench.has('nodeReused') ? undefined : 'it has no method for notifications',
    run: (bench) =>
      bench.with(async (subject) => {
        await bench.up(subject);
        for (const _ of [1, 2]) await notify(bench, subject, 'nodeReused');
        await bench.confirm(subject);
        await bench.remove(subject);
        for (const _ of [1, 2]) await notify(bench, subject, 'nodeDeleted');
      }),
  },
  {
    id: 'drain',
    title: 'closes everything it opened when its worker ends, and leaves no process behind',
    run: (bench) =>
      drain(bench.opened.options.folders, bench.opened.surroundings, async (registry) => {
        const plugin = registry.provider(bench.plugin.descriptor.name);
        const own = new ProviderBench({ ...bench.opened, plugin });
        await own.with(async (subject) => {
          await own.up(subject);
        });
      }),
  },
  ...fieldCases<ProviderBench>((bench, scope) => bench.opened.written[scope]),
];

function leavesAddress({ config }: Subject): void {
  ok(typeof config['ipaddress'] === 'string', 'CONFIRM leaves an ipaddress');
  const auth = config['ssh-auth'];
  ok(isJsonObject(auth) && typeof auth['user'] === 'string', 'CREATE or CONFIRM leaves ssh-auth.user');
}

async function notify(
  bench: ProviderBench,
  subject: Subject,
  method: 'nodeDeleted' | 'nodeReused',
): Promise<void> {
  if (bench.has(method)) await bench.act(subject, (provider, machine) => provider[method]?.(machine));
}

/** Repeats DELETE while it throws NotReady. What find does not show in between must be absent. */
async function untilDeleted(bench: ProviderBench, subject: Subject): Promise<void> {
  await bench.until('the machine to be gone', async () => {
    if ((await whyNotDeleted(bench, subject)) === undefined) return true;
    if (!bench.has('find') || (await bench.find(subject.key)).length > 0) return false;
    if (bench.consistencyWindowMs > 0) {
      // Absence counts when it was seen twice.
      await bench.untilVisible();
      if ((await bench.find(subject.key)).length > 0) return false;
    }
    const why = await whyNotDeleted(bench, subject);
    ok(why === undefined, `find shows no machine, or one that is gone, and DELETE says: ${why}`);
    return true;
  });
}

async function whyNotDeleted(bench: ProviderBench, subject: Subject): Promise<string | undefined> {
  try {
    await bench.delete(subject);
    return undefined;
  } catch (error) {
    if (isPluginError(error) && error.kind === 'NotReady') return error.message;
    throw error;
  }
}

async function answers(login: Awaited<ReturnType<typeof readTarget>>): Promise<boolean> {
  return probe(login).then(
    () => true,
    () => false,
  );
}

function lacksAbility(ability: 'list' | 'find'): (bench: ProviderBench) => string | undefined {
  return (bench) => (bench.has(ability) ? undefined : `it has no method ${ability}`);
}

async function untilSeen(
  bench: ProviderBench,
  subject: Subject,
): Promise<Awaited<ReturnType<ProviderBench['find']>>[number]> {
  return bench.until(`the machine of key ${subject.key} to be found`, async () => {
    const found = await bench.find(subject.key);
    ok(found.length < 2, `find gives ${found.length} machines of one key`);
    return found[0];
  });
}
