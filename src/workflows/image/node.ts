import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';
import { imageRefOf } from '../../model/image/build.js';
import type { CheckedImage } from '../../model/image/messages.js';
import { workflowOfNode, type FoundNode, type Loan } from '../../model/image/node.js';
import { describeNode, recipeGroup, type NodeRef, type RecipeSource } from '../../model/image/spec.js';
import { formatImageRef } from '../../model/machine/image.js';
import type { MachineState } from '../../model/machine/state.js';
import { imageWorkflowId, machineKey } from '../../model/names.js';
import { capture } from '../machine/capture.js';
import { toNotDone } from '../machine/failure.js';
import type { MachineMemory } from '../machine/memory.js';
import { can, runAction } from '../machine/run-step.js';
import { giveBackSignal } from '../cluster/messages.js';
import { now, newMemory } from '../entity.js';
import { schedule } from '../schedule.js';
import { signalIfThere } from '../signal-if-there.js';
import { buildOf, change, changeBuild, changeUpload, noteBuild, type ImageMemory } from './memory.js';
import { captureOwnerOf } from './library.js';
import { planRecipe } from './plan-recipe.js';
import { runChain } from './run-chain.js';

const captureMs = 7 * 3_600_000;

/** Attempts, and the pause between them in ms, while it is unknown whether the node is on again. */
const switchOnTries = 12;
const switchOnPauseMs = 5 * 60_000;

/** From a node that is there, as it stands: it is lent for the time, and given back whatever comes of it. */
export async function captureNode(
  memory: ImageMemory,
  number: number,
  source: RecipeSource & { readonly from: NodeRef },
  accounts: CheckedImage['accounts'],
): Promise<void> {
  const { from, cluster, system } = source;
  const { name, uid } = memory.state;
  const tell = (step: string): void => changeBuild(memory, number, { step });
  const loan: Loan = { id: `${uid}/${number}`, of: from, build: number };
  // Recorded first: the lender may ask whether the node is still in use.
  change(memory, { loan });
  try {
    tell(`borrows ${describeNode(from)}`);
    const found = await schedule('BORROW_NODE', { node: from, loan: loan.id, to: imageWorkflowId(name) });
    const machine = await openNode(memory, found, { system, loan });
    changeBuild(memory, number, {
      provenance: {
        ...buildOf(memory, number).provenance,
        machine: machineKey(found.uid, found.nodeId, found.incarnation),
      },
    });
    const services = cluster.groups[recipeGroup]?.services ?? [];
    if (services.length > 0) {
      const plan = await planRecipe(memory, cluster);
      const chain = (plan.kinds[0]?.chain ?? []).filter(
        ({ action }) => action !== 'CREATE' && action !== 'CONFIRM',
      );
      await runChain(memory, machine, chain, {
        group: recipeGroup,
        spec: cluster,
        plugins: plan.plugins,
        tell,
        operation: operationOf(loan),
      });
    }
    tell('CAPTURE');
    const { provider } = found.placement;
    const { type = '', site = '' } = accounts[provider] ?? {};
    const image = imageRefOf(name, buildOf(memory, number));
    changeUpload(memory, number, { provider, type, site, state: 'uploading' });
    changeLoan(memory, { disturbed: true });
    const { sizeMb } = await capture(machine, {
      image,
      prove: false,
      withinMs: captureMs,
      token: `${loan.id}/${provider}`,
    });
    changeUpload(memory, number, { provider, type, site, state: 'ready', image: formatImageRef(image) });
    if (sizeMb !== undefined) changeBuild(memory, number, { sizeMb });
  } finally {
    await giveBack(memory, number);
  }
}

/** The node's machine, under its own key and in the name of its owner. */
async function openNode(
  memory: ImageMemory,
  { clusterId, uid, nodeId, incarnation, payload, placement }: FoundNode,
  { system, loan }: { readonly system: string | null; readonly loan: Loan },
): Promise<MachineMemory> {
  const { provider, flavor, image, fields } = placement;
  const registration = { provider, flavor, image, fields, system };
  changeLoan(memory, {
    machine: {
      stateVersion: 1,
      name: nodeId,
      uid,
      owner: clusterId,
      incarnation,
      registration,
      state: 'available',
      payload,
      history: [],
      operations: 1,
      measured: {},
      capturesFor: captureOwnerOf(memory, loan.build),
      account: await schedule('DESCRIBE_ACCOUNT', registration, {
        summary: `DESCRIBE_ACCOUNT ${registration.provider}`,
      }),
      operation: {
        id: operationOf(loan),
        intent: { kind: 'status' },
        by: 'a build',
        state: 'running',
        startedAt: now(),
        notes: [],
      },
    },
  });
  return machineOfLoan(memory);
}

function machineOfLoan(memory: ImageMemory): MachineMemory {
  return {
    ...newMemory(),
    get state(): MachineState {
      const machine = memory.state.loan?.machine;
      if (machine === undefined) throw new Error('there is no node that was lent');
      return machine;
    },
    set state(machine: MachineState) {
      changeLoan(memory, { machine });
    },
  };
}

/**
 * It goes on working: it is on, and answers, before it is reported as free. What ran on it is then
 * started by who has it.
 */
async function giveBack(memory: ImageMemory, number: number): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    const { loan } = memory.state;
    if (loan === undefined) return;
    changeBuild(memory, number, { step: `gives back ${describeNode(loan.of)}` });
    const answers = loan.disturbed === true && (await switchOn(memory, number, loan));
    for (const note of memory.state.loan?.machine?.operation?.notes ?? []) noteBuild(memory, number, note);
    if (loan.of.of === 'cluster')
      await signalIfThere(workflowOfNode(loan.of), giveBackSignal, { loan: loan.id, repair: answers });
    const { loan: _returned, ...state } = memory.state;
    memory.state = state;
  });
}

async function switchOn(memory: ImageMemory, number: number, loan: Loan): Promise<boolean> {
  const machine = machineOfLoan(memory);
  for (let tries = 1; ; tries += 1) {
    try {
      if (can(machine, 'POWER_ON')) await runAction(machine, 'POWER_ON');
      await runAction(machine, 'REACH');
      return true;
    } catch (error) {
      if (isCancellation(error)) throw error;
      const { answer, message } = toNotDone(machine, 'POWER_ON', error);
      if (answer === 'unknown' && tries < switchOnTries) {
        changeBuild(memory, number, { step: `switches on ${describeNode(loan.of)}: ${message}` });
        await sleep(switchOnPauseMs);
        continue;
      }
      noteBuild(memory, number, `${describeNode(loan.of)} does not answer since it was captured: ${message}`);
      return false;
    }
  }
}

function changeLoan(memory: ImageMemory, part: Partial<Loan>): void {
  const { loan } = memory.state;
  if (loan !== undefined) change(memory, { loan: { ...loan, ...part } });
}

function operationOf({ id }: Loan): string {
  return `image-${id.replaceAll('/', '-')}`;
}
