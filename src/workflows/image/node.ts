import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';
import { imageRefOf } from '../../model/image/build.js';
import type { CheckedImage } from '../../model/image/messages.js';
import { workflowOfNode, type FoundNode, type LeasedNode } from '../../model/image/node.js';
import { describeNode, recipeGroup, type NodeRef, type RecipeSource } from '../../model/image/spec.js';
import type { MachineState } from '../../model/machine/state.js';
import { imageWorkflowId, machineKey } from '../../model/names.js';
import { capture } from '../machine/capture.js';
import { machineOfNode } from '../machine/account.js';
import { toNotDone } from '../machine/failure.js';
import type { MachineMemory } from '../machine/memory.js';
import { can, runAction } from '../machine/run-step.js';
import { clusterMessages } from '../messages.js';
import { change, now, newMemory } from '../entity.js';
import { schedule } from '../schedule.js';
import { signalIfThere } from '../signal-if-there.js';
import { buildOf, changeBuild, noteBuild, type ImageMemory } from './memory.js';
import { captureOwnerOf } from './library.js';
import { planRecipe } from './plan-recipe.js';
import { recordCapture } from './record-capture.js';
import { runChain } from './run-chain.js';

const captureMs = 7 * 3_600_000;

/** Attempts, and the pause between them in ms, while it is unknown whether the node is on again. */
const switchOnTries = 12;
const switchOnPauseMs = 5 * 60_000;

/** Captures an existing node as it is. The node is leased meanwhile and released in every case. */
export async function captureNode(
  memory: ImageMemory,
  number: number,
  source: RecipeSource & { readonly from: NodeRef },
  accounts: CheckedImage['accounts'],
): Promise<void> {
  const { from, cluster, system } = source;
  const { name, uid } = memory.state;
  const onStep = (step: string): void => changeBuild(memory, number, { step });
  const lease: LeasedNode = { id: `${uid}/${number}`, of: from, build: number };
  // Recorded first: the lender may ask whether the node is still in use.
  change(memory, { lease });
  try {
    onStep(`leases ${describeNode(from)}`);
    const found = await schedule('LEASE_NODE', { node: from, leaseId: lease.id, to: imageWorkflowId(name) });
    const machine = await openNode(memory, found, { system, lease });
    changeBuild(memory, number, {
      provenance: {
        ...buildOf(memory, number).provenance,
        machine: machineKey(found.uid, found.nodeId, found.incarnation),
      },
    });
    const services = cluster.nodes[recipeGroup]?.services ?? [];
    if (services.length > 0) {
      const plan = await planRecipe(memory, cluster);
      const chain = (plan.kinds[0]?.chain ?? []).filter(
        ({ action }) => action !== 'CREATE' && action !== 'CONFIRM',
      );
      await runChain(memory, machine, chain, {
        group: recipeGroup,
        spec: cluster,
        plugins: plan.plugins,
        onStep,
        operation: operationOf(lease),
      });
    }
    onStep('CAPTURE');
    const { provider } = found.placement;
    const { type = '', site = '' } = accounts[provider] ?? {};
    const image = imageRefOf(name, buildOf(memory, number));
    changeLease(memory, { disturbed: true });
    await recordCapture(memory, number, { provider, type, site, image }, () =>
      capture(machine, { image, prove: false, withinMs: captureMs, token: `${lease.id}/${provider}` }),
    );
  } finally {
    await returnNode(memory, number);
  }
}

/** The node's machine, under its own key and in the name of its owner. */
async function openNode(
  memory: ImageMemory,
  found: FoundNode,
  { system, lease }: { readonly system: string | null; readonly lease: LeasedNode },
): Promise<MachineMemory> {
  changeLease(memory, {
    machine: {
      ...(await machineOfNode(found, system)),
      name: found.nodeId,
      state: 'available',
      history: [],
      operations: 1,
      measured: {},
      capturesFor: captureOwnerOf(memory, lease.build),
      operation: {
        id: operationOf(lease),
        intent: { kind: 'status' },
        by: 'a build',
        state: 'running',
        startedAt: now(),
        notes: [],
      },
    },
  });
  return machineOfLease(memory);
}

function machineOfLease(memory: ImageMemory): MachineMemory {
  return {
    ...newMemory(),
    get state(): MachineState {
      const machine = memory.state.lease?.machine;
      if (machine === undefined) throw new Error('no node is leased');
      return machine;
    },
    set state(machine: MachineState) {
      changeLease(memory, { machine });
    },
  };
}

/**
 * The node continues to work: it is on and answers before it is released. Its owner then starts what ran on
 * it.
 */
async function returnNode(memory: ImageMemory, number: number): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    const { lease } = memory.state;
    if (lease === undefined) return;
    changeBuild(memory, number, { step: `releases ${describeNode(lease.of)}` });
    const answers = lease.disturbed === true && (await switchOn(memory, number, lease));
    for (const note of memory.state.lease?.machine?.operation?.notes ?? []) noteBuild(memory, number, note);
    if (lease.of.of === 'cluster')
      await signalIfThere(workflowOfNode(lease.of), clusterMessages.signals.release, {
        leaseId: lease.id,
        repair: answers,
      });
    change(memory, { lease: undefined });
  });
}

async function switchOn(memory: ImageMemory, number: number, lease: LeasedNode): Promise<boolean> {
  const machine = machineOfLease(memory);
  for (let tries = 1; ; tries += 1) {
    try {
      if (can(machine, 'POWER_ON')) await runAction(machine, 'POWER_ON');
      await runAction(machine, 'REACH');
      return true;
    } catch (error) {
      if (isCancellation(error)) throw error;
      const { answer, message } = toNotDone(machine, 'POWER_ON', error);
      if (answer === 'unknown' && tries < switchOnTries) {
        changeBuild(memory, number, { step: `switches on ${describeNode(lease.of)}: ${message}` });
        await sleep(switchOnPauseMs);
        continue;
      }
      noteBuild(
        memory,
        number,
        `${describeNode(lease.of)} does not answer since it was captured: ${message}`,
      );
      return false;
    }
  }
}

function changeLease(memory: ImageMemory, part: Partial<LeasedNode>): void {
  const { lease } = memory.state;
  if (lease !== undefined) change(memory, { lease: { ...lease, ...part } });
}

function operationOf({ id }: LeasedNode): string {
  return `image-${id.replaceAll('/', '-')}`;
}
