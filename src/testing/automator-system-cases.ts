import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import type { SystemPart } from '../plugins/contract.js';
import { readKnowledge, readOutcome } from '../schema/machine-answer.js';
import type { AutomatorBench } from './automator-bench.js';
import type { Case } from './runner.js';

export type SystemCaseId = 'system' | 'system-reset';

/** The system's part in loading and capturing, in an order in which a machine may need it. */
const verbs = [
  'postLoad',
  'sanitize',
  'preCapture',
  'preReload',
] as const satisfies readonly (keyof SystemPart)[];

export const systemMethods: readonly (keyof SystemPart)[] = [...verbs, 'checkImage'];

/** What an automator does that has a system's part in loading and capturing. */
export const systemCases: readonly Case<SystemCaseId, AutomatorBench>[] = [
  {
    id: 'system',
    title: 'carries out each of its methods for loading and capturing twice, and the node stays usable',
    run: async (bench) => {
      await bench.bootstrap();
      for (const verb of verbs.filter((method) => bench.plugin.abilities.includes(method)))
        for (const call of [1, 2])
          strictEqual(await outcomeOf(bench, verb), 'done', `${verb}, call ${call}, is not done`);
      if (bench.plugin.abilities.includes('checkImage'))
        for (const call of [1, 2])
          strictEqual(await stateOf(bench), 'yes', `checkImage, call ${call}, does not confirm the image`);
      strictEqual((await bench.node.execute('echo usable')).trim(), 'usable');
      await bench.bootstrap();
    },
  },
  {
    id: 'system-reset',
    title: 'asks for at most one reset in a method, and is not done if the reset fails',
    run: async (bench) => {
      await bench.bootstrap();
      for (const verb of verbs.filter((method) => bench.plugin.abilities.includes(method))) {
        let resets = 0;
        const answer = await outcomeOf(bench, verb, () => {
          resets += 1;
          return Promise.resolve({ answer: 'not done', why: 'the suite refuses the reset' });
        });
        ok(resets <= 1, `${verb} asked for ${resets} resets`);
        if (resets === 1) deepStrictEqual(answer, 'not done', `${verb} after a reset that failed`);
      }
    },
  },
];

async function outcomeOf(
  bench: AutomatorBench,
  method: (typeof verbs)[number],
  resetNode?: Parameters<AutomatorBench['system']>[1],
): Promise<string> {
  return readOutcome(await bench.system(method, resetNode), { plugin: bench.plugin.descriptor.name, method })
    .answer;
}

async function stateOf(bench: AutomatorBench): Promise<string> {
  const source = { plugin: bench.plugin.descriptor.name, method: 'checkImage' };
  return readKnowledge(await bench.system('checkImage'), source).is;
}
