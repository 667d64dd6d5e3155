import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { isJsonObject } from '../model/json.js';
import { mergePayload } from '../model/node/payload.js';
import { tagNames } from '../model/names.js';
import { isPluginError } from '../plugins/errors.js';
import { probe } from '../ssh/probe.js';
import { drain } from './drain.js';
import { fieldCases, type FieldCaseId } from './field-cases.js';
import { readTarget } from './node.js';
import type { ProviderBench, Subject } from './provider-bench.js';
import type { Case } from './runner.js';
import { failureOf, until, untilReady } from './until.js';

export type LifeCaseId =
  | 'life'
  | 'login'
  | 'repetition'
  | 'same-moment'
  | 'absent'
  | 'other-key'
  | 'find'
  | 'created'
  | 'list'
  | 'list-apart'
  | 'counted'
  | 'drain'
  | FieldCaseId;

/** What a provider does when nothing goes wrong, and what it refuses. */
export const lifeCases: readonly Case<LifeCaseId, ProviderBench>[] = [
  {
    id: 'life',
    title: 'makes a machine, says where it is once it is ready, and deletes it until it is gone',
    run: (bench) =>
      bench.with(async (subject) => {
        const { providerid } = await bench.create(subject);
        ok(typeof providerid === 'string' && providerid !== '', 'CREATE leaves a providerid');
        await untilReady('the machine to be ready', () => bench.confirm(subject), bench.patienceMs);
        strictEqual(
          subject.config['providerid'],
          providerid,
          'CONFIRM tells of the machine that CREATE made',
        );
        if (!bench.plugin.abilities.includes('reach')) leavesAddress(subject);
        await bench.remove(subject);
        await failureOf(bench.confirm(subject), ['Invalid', 'NotReady']);
      }),
  },
  {
    id: 'login',
    title: 'leaves what is needed to log in over SSH',
    lacks: ({ plugin }) =>
      plugin.abilities.includes('reach')
        ? 'its resources are reached by the plugin: the case reach looks'
        : undefined,
    run: (bench) =>
      bench.with(async (subject) => {
        await bench.up(subject);
        const target = await readTarget(subject.config);
        await until(
          'SSH to answer',
          () =>
            probe(target).catch((error: unknown) => {
              // A password without a host key, and the like: waiting changes nothing.
              if (isPluginError(error) && error.kind === 'Invalid') throw error;
              return false as const;
            }),
          bench.patienceMs,
        );
      }),
  },
  {
    id: 'repetition',
    title: 'gives the same machine for the same key, tells the same twice, and deletes twice',
    run: (bench) =>
      bench.with(async (subject) => {
        const first = await bench.create(subject);
        const again = await bench.createAgain(subject);
        strictEqual(
          again['providerid'],
          first['providerid'],
          'a second CREATE of the key gives another machine',
        );
        await untilReady('the machine to be ready', () => bench.confirm(subject), bench.patienceMs);
        deepStrictEqual(
          await bench.confirm(subject),
          await bench.confirm(subject),
          'two CONFIRMs tell different things',
        );
        await bench.remove(subject);
        await bench.remove(subject);
      }),
  },
  {
    id: 'same-moment',
    title: 'makes one machine when a key is asked for twice at the same moment',
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
    id: 'absent',
    title:
      'succeeds to delete what is not there: by its old id, by its key, and of a key that never had a machine',
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
      bench.with(async (victim) => {
        await bench.up(victim);
        const other = misled(bench, victim);
        await failureOf(bench.confirm(other), ['Invalid', 'NotReady']);
        // A provider that looks by the key alone sees that the key has no machine; one that looks by the id
        // refuses.
        await bench.delete(misled(bench, victim)).catch((error: unknown) => {
          if (!isPluginError(error) || error.kind !== 'Invalid') throw error;
        });
        await bench.confirm(victim);
        if (bench.has('find'))
          strictEqual((await bench.find(victim.key))[0]?.state, 'running', 'the machine of the other key');
      }),
  },
  {
    id: 'find',
    title: 'finds a machine by its key, before and after it is ready, and nothing by any other',
    lacks: lacksAbility('find'),
    run: (bench) =>
      bench.with(async (subject) => {
        const { providerid } = await bench.create(subject);
        await untilSeen(bench, subject);
        await untilReady('the machine to be ready', () => bench.confirm(subject), bench.patienceMs);
        const [found] = await bench.find(subject.key);
        ok(found !== undefined, 'it is not found any more');
        strictEqual(found.providerid, providerid);
        strictEqual(found.state, 'running');
        if (found.address !== undefined)
          strictEqual(
            found.address,
            subject.config['ipaddress'],
            'find and CONFIRM tell different addresses',
          );
        deepStrictEqual(await bench.find(bench.subject().key), []);
        await bench.remove(subject);
        await until(
          'it to be found no more',
          async () => (await bench.find(subject.key)).length === 0,
          bench.patienceMs,
        );
      }),
  },
  {
    id: 'created',
    title: 'tells again what CREATE returned, so that a machine can be taken over',
    lacks: lacksAbility('find'),
    run: (bench) =>
      bench.with(async (subject) => {
        const result = await bench.create(subject);
        const { created } = await untilSeen(bench, subject);
        ok(
          created !== undefined,
          'find gives no `created`: its machines are replaced rather than taken over',
        );
        deepStrictEqual(
          mergePayload({ providerid: subject.config['providerid'] ?? '' }, created),
          mergePayload({}, result),
        );
      }),
  },
  {
    id: 'list',
    title: "lists its machines by our installation's tag, each with its key",
    lacks: lacksAbility('list'),
    run: (bench) =>
      bench.with(async (one) =>
        bench.with(async (other) => {
          await bench.create(one);
          await bench.create(other);
          await until(
            'both machines to be listed',
            async () => {
              const listed = await bench.list({ [tagNames.installation]: bench.installation });
              const keys = listed
                .filter(({ state }) => state !== 'gone')
                .map((machine) => machine.key ?? machine.tags[tagNames.key]);
              return [one, other].every(
                ({ key }) => keys.filter((listedKey) => listedKey === key).length === 1,
              );
            },
            bench.patienceMs,
          );
          deepStrictEqual(
            (await bench.list({ [tagNames.installation]: bench.installation, [tagNames.key]: one.key })).map(
              ({ providerid }) => providerid,
            ),
            [one.config['providerid']],
          );
        }),
      ),
  },
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
    id: 'counted',
    title:
      'waits for leave before each call of its API where it says countsCalls, and for none where it does not',
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
    id: 'drain',
    title: 'lets go of all that it opened when its worker ends',
    run: (bench) =>
      drain(bench.options.folders ?? [], async (registry) => {
        const own = bench.by(registry.provider(bench.plugin.descriptor.name));
        await own.with(async (subject) => {
          await own.create(subject);
        });
      }),
  },
  ...fieldCases<ProviderBench>((bench, scope) => bench.written[scope]),
];

/** A node without a machine, whose payload names the machine of another key. */
export function misled(bench: ProviderBench, { config }: Subject): Subject {
  const subject = bench.subject();
  return { ...subject, config: { ...subject.config, providerid: config['providerid'] ?? '' } };
}

function leavesAddress({ config }: Subject): void {
  ok(typeof config['ipaddress'] === 'string', 'CONFIRM leaves an ipaddress');
  const auth = config['ssh-auth'];
  ok(isJsonObject(auth) && typeof auth['user'] === 'string', 'CREATE or CONFIRM leaves ssh-auth.user');
}

function lacksAbility(ability: 'list' | 'find'): (bench: ProviderBench) => string | undefined {
  return (bench) => (bench.has(ability) ? undefined : `it has no method ${ability}`);
}

async function untilSeen(
  bench: ProviderBench,
  subject: Subject,
): Promise<Awaited<ReturnType<ProviderBench['find']>>[number]> {
  return until(
    `the machine of key ${subject.key} to be found`,
    async () => {
      const found = await bench.find(subject.key);
      ok(found.length < 2, `find gives ${found.length} machines of one key`);
      return found[0];
    },
    bench.patienceMs,
  );
}
