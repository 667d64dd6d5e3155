import { WorkflowFailedError, WorkflowUpdateFailedError } from '@temporalio/client';
import { expect } from 'vitest';
import type { MessageWorld, WorkflowType } from './message-world.js';
import { samples } from './sample-messages.js';

/** Proper messages that the workflows act on, as proof that attacks left them working. */
export const proofs: { readonly [Type in WorkflowType]?: (world: MessageWorld) => Promise<unknown> } = {
  cluster: async (world) => {
    expect(await world.handle('proper', 'cluster').executeUpdate('check')).toBe(1);
    expect(
      await world.handle('proper', 'cluster').executeUpdate('delete', { args: [{ by: 'test' }] }),
    ).toMatchObject({ operation: '2' });
  },
  group: async (world) => {
    const [instructions] = samples.group.signals.instruct;
    await world.handle('proper', 'group').signal('instruct', instructions);
    expect(await world.handle('proper', 'group').result()).toContain('no longer has nodes');
  },
  pool: async (world) => {
    await world.handle('proper', 'pool').executeUpdate('deletePool', { args: [{ by: 'test' }] });
    await world.handle('proper', 'pool').result();
  },
  machine: async (world) =>
    expect(
      await world.handle('proper', 'machine').executeUpdate('cancel', { args: [{ by: 'test' }] }),
    ).toEqual({ operation: '1' }),
  nodeMachine: async (world) =>
    world.handle('proper', 'nodeMachine').executeUpdate('cancel', { args: [{ by: 'test' }] }),
  image: async (world) => {
    await world.handle('proper', 'image').executeUpdate('delete', { args: [{ by: 'test' }] });
  },
  reservations: async (world) =>
    expect(
      world
        .handle('proper', 'reservations')
        .executeUpdate('cancel', { args: [{ id: 'r1', by: 'test' }] })
        .catch(causeOf),
    ).resolves.toMatch(/reservation r1 does not exist/),
  artifacts: async (world) =>
    expect(
      world
        .handle('proper', 'artifacts')
        .executeUpdate('rollback', { args: ['keys'] })
        .catch(causeOf),
    ).resolves.toMatch(/resource keys does not exist/),
  artifactPart: async (world) => {
    await world.handle('proper', 'artifactPart').signal('keep');
    await world.handle('proper', 'artifactPart').signal('drop');
    await world.handle('proper', 'artifactPart').result();
  },
  revision: async (world) => {
    await world.handle('proper', 'revision').signal('drop');
    await world.handle('proper', 'revision').result();
  },
  lock: async (world) =>
    expect(
      await world
        .handle('proper', 'lock')
        .executeUpdate('take', { args: [{ holder: 'y', leaseMs: 1, waitMs: 60_000 }] }),
    ).toBe(true),
  rateLimiter: async (world) =>
    expect(
      await world.handle('proper', 'rateLimiter').executeUpdate('take', { args: [{ count: 1, everyMs: 1 }] }),
    ).toEqual(expect.any(Number)),
  claims: async (world) => {
    const request = { take: [{ key: 'k', candidates: 0 }], candidates: [['n']], release: [] };
    expect(await world.handle('proper', 'claims').executeUpdate('claim', { args: [request] })).toEqual(['m']);
  },
};

/** What the refusal of a message or of a start says. */
export function causeOf(error: unknown): string {
  const isFailure = error instanceof WorkflowUpdateFailedError || error instanceof WorkflowFailedError;
  return isFailure ? String(error.cause?.message) : String(error);
}
