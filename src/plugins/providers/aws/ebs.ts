import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { isPluginError, PluginError } from '../../contract.js';
import type { Ec2 } from './api.js';
import type { SignedCall } from './signed-call.js';

/** Of a snapshot, as the API defines it. */
const blockBytes = 512 * 1_024;
const bytesOfGb = 1_024 ** 3;
/** What is sent at the same time: eight blocks. */
const batchBytes = 8 * blockBytes;
/** Pauses before a block is sent again, in ms. One failure would lose all blocks before it. */
const pausesMs = [500, 1_000, 2_000, 4_000, 8_000];
/** EBS ends a snapshot into which nothing is written for so long, in minutes. */
const idleMinutes = 60;

type BlockCall = Omit<SignedCall, 'service'>;

interface Disk {
  readonly file: string;
  readonly bytes: number;
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly token: string;
  readonly progress: (text: string) => void;
}

const startedSchema = z.object({ SnapshotId: z.string().regex(/^snap-[0-9a-f]+$/) });

/**
 * Writes a disk into a new snapshot, by the EBS direct APIs. Blocks of zeros are left out. EBS
 * verifies each block, and in the end all of them, by their checksums.
 */
export async function makeSnapshot(ec2: Ec2, disk: Disk): Promise<string> {
  const { bytes, description, tags, token, progress } = disk;
  const { SnapshotId: id } = read(
    startedSchema,
    await ec2.callEbs(
      {
        method: 'POST',
        path: '/snapshots',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          VolumeSize: Math.max(1, Math.ceil(bytes / bytesOfGb)),
          Description: description,
          Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })),
          ClientToken: token,
          Timeout: idleMinutes,
        }),
        what: 'StartSnapshot',
      },
      { counts: true },
    ),
  );
  const checksums = await writeBlocks(ec2, id, disk);
  progress('EBS completes the snapshot');
  const aggregate = createHash('sha256').update(Buffer.concat(checksums)).digest('base64');
  await ec2.callEbs(
    {
      method: 'POST',
      path: `/snapshots/completion/${id}`,
      headers: {
        'x-amz-ChangedBlocksCount': String(checksums.length),
        ...(checksums.length === 0
          ? {}
          : {
              'x-amz-Checksum': aggregate,
              'x-amz-Checksum-Algorithm': 'SHA256',
              'x-amz-Checksum-Aggregation-Method': 'LINEAR',
            }),
      },
      body: '',
      what: `CompleteSnapshot of ${id}`,
    },
    { counts: true },
  );
  return id;
}

/** @returns the checksums of the blocks that were written, in their order. */
async function writeBlocks(
  ec2: Ec2,
  id: string,
  { file, bytes, progress }: Disk,
): Promise<readonly Buffer[]> {
  const checksums: Buffer[] = [];
  const zeros = Buffer.alloc(blockBytes);
  const handle = await open(file);
  try {
    for (let offset = 0; offset < bytes;) {
      const batch: BlockCall[] = [];
      for (const end = Math.min(bytes, offset + batchBytes); offset < end; offset += blockBytes) {
        const block = Buffer.alloc(blockBytes);
        const { bytesRead } = await handle.read(block, 0, blockBytes, offset);
        if (bytesRead !== Math.min(blockBytes, bytes - offset))
          throw new PluginError('Retryable', `${file} cannot be read completely, or is being written`);
        if (block.equals(zeros)) continue;
        const checksum = createHash('sha256').update(block).digest();
        checksums.push(checksum);
        batch.push(putBlock(id, offset / blockBytes, block, checksum));
      }
      await Promise.all(batch.map((call) => sendBlock(ec2, call)));
      progress(`${Math.round(offset / 2 ** 20)} MB sent`);
    }
  } finally {
    await handle.close();
  }
  return checksums;
}

/** A repeated block overwrites itself. */
async function sendBlock(ec2: Ec2, call: BlockCall): Promise<void> {
  for (const pauseMs of pausesMs) {
    try {
      await ec2.callEbs(call);
      return;
    } catch (error) {
      if (!isPluginError(error) || error.kind !== 'Retryable') throw error;
      await pause(Math.max(pauseMs, error.retryAfterMs ?? 0), undefined, { signal: ec2.signal });
    }
  }
  await ec2.callEbs(call);
}

function putBlock(id: string, index: number, block: Buffer<ArrayBuffer>, checksum: Buffer): BlockCall {
  return {
    method: 'PUT',
    path: `/snapshots/${id}/blocks/${index}`,
    headers: {
      'content-type': 'application/octet-stream',
      // EBS expects the signature without the block, whose checksum is a header.
      'x-amz-content-sha256': 'UNSIGNED-PAYLOAD',
      'x-amz-Data-Length': String(block.length),
      'x-amz-Checksum': checksum.toString('base64'),
      'x-amz-Checksum-Algorithm': 'SHA256',
    },
    body: block,
    what: `PutSnapshotBlock ${index} of ${id}`,
  };
}

function read<Value>(schema: z.ZodType<Value>, answer: unknown): Value {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw new PluginError('Retryable', 'StartSnapshot returned no snapshot id');
}
