import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { ask, type Moto } from './moto.js';
import { errorJson, errorXml, type Answer } from './answers.js';

interface StartedSnapshot {
  readonly blocks: Map<number, Buffer>;
  isComplete: boolean;
}

/** What EBS does at bad times. */
export interface EbsFaults {
  /** How many requests with blocks are refused for coming too fast. */
  throttle: number;
  /** Whether snapshots stay pending that have all their blocks. */
  completesLate: boolean;
}

export interface ImageApi {
  /** Snapshots that were started and are not deleted, by their ids. */
  readonly snapshots: ReadonlyMap<string, StartedSnapshot>;
  /** Changed while it runs, it holds for the next call. */
  readonly faults: EbsFaults;
  /** What was registered: the parameters, by image. */
  readonly images: ReadonlyMap<string, URLSearchParams>;
  /** A request of the EBS direct APIs. */
  serveEbs(request: EbsRequest): Promise<Answer>;
  /** An action of EC2's API, with what EC2 does and moto does not. */
  serve(asked: URLSearchParams, forward: () => Promise<Answer>): Promise<Answer>;
}

interface EbsRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const blockBytes = 524_288;

/**
 * Snapshots and images of moto, with checks of EBS that moto lacks: a snapshot is pending until
 * it is completed, blocks and their sum have the checksums that were sent, nothing is written
 * into a complete snapshot, an image needs a complete one, and its name is unique.
 */
export function openImageApi(moto: Moto): ImageApi {
  const snapshots = new Map<string, StartedSnapshot>();
  const images = new Map<string, URLSearchParams>();
  const faults: EbsFaults = { throttle: 0, completesLate: false };

  async function serveEbs(request: EbsRequest): Promise<Answer> {
    const [, , first = '', second, index] = request.path.split('/');
    const id = first === 'completion' ? (second ?? '') : first;
    const snapshot = snapshots.get(id);
    if (request.path !== '/snapshots' && snapshot === undefined)
      return errorJson(404, 'ResourceNotFoundException', `The snapshot '${id}' does not exist.`);
    const why =
      snapshot === undefined
        ? undefined
        : first === 'completion'
          ? refuseCompletion(snapshot, request)
          : refuseBlock(snapshot, request);
    if (why !== undefined) return errorJson(400, 'ValidationException', why);
    if (request.method === 'PUT' && faults.throttle > 0) {
      faults.throttle -= 1;
      return errorJson(400, 'RequestThrottledException', 'The request was throttled.');
    }
    const answer = await forward(request);
    if (answer.status >= 300) return answer;
    if (snapshot === undefined) {
      const { SnapshotId } = JSON.parse(answer.body) as { readonly SnapshotId: string };
      snapshots.set(SnapshotId, { blocks: new Map(), isComplete: false });
    } else if (first === 'completion') snapshot.isComplete = true;
    else snapshot.blocks.set(Number(index), request.body);
    return answer;
  }

  async function forward({ method, path, headers, body }: EbsRequest): Promise<Answer> {
    const wanted = Object.entries(headers).filter(
      ([name]) => name.startsWith('x-amz-') || name === 'authorization' || name === 'content-type',
    );
    const response = await fetch(`${moto.endpoint}${path}`, {
      method,
      headers: wanted.map(([name, value]): [string, string] => [name, String(value)]),
      body: new Uint8Array(body),
    });
    return { status: response.status, body: await response.text(), isJson: true };
  }

  async function serve(asked: URLSearchParams, passOn: () => Promise<Answer>): Promise<Answer> {
    const [action, snapshotId] = [asked.get('Action'), asked.get('SnapshotId') ?? ''];
    if (action === 'RegisterImage') return register(asked, passOn);
    if (action === 'DeleteSnapshot') {
      const isUsed = [...images.values()].some((image) => snapshotOf(image) === snapshotId);
      if (isUsed)
        return errorXml(400, 'InvalidSnapshot.InUse', `The snapshot ${snapshotId} is currently in use`);
      snapshots.delete(snapshotId);
    }
    if (action === 'DeregisterImage') images.delete(asked.get('ImageId') ?? '');
    const answer = await passOn();
    return action === 'DescribeSnapshots' ? { ...answer, body: withPending(answer.body) } : answer;
  }

  async function register(asked: URLSearchParams, passOn: () => Promise<Answer>): Promise<Answer> {
    const name = asked.get('Name');
    if ([...images.values()].some((image) => image.get('Name') === name))
      return errorXml(400, 'InvalidAMIName.Duplicate', `AMI name ${name ?? ''} is already in use`);
    if (snapshots.get(snapshotOf(asked))?.isComplete !== true)
      return errorXml(400, 'IncorrectState', `Snapshot ${snapshotOf(asked)} is not complete`);
    const answer = await passOn();
    const [, id] = /<imageId>(ami-[0-9a-f]+)</.exec(answer.body) ?? [];
    if (id === undefined) return answer;
    images.set(id, asked);
    const tags = [...asked].flatMap(([key, value]): [string, string][] =>
      key.startsWith('TagSpecification.1.Tag.') ? [[key.slice('TagSpecification.1.'.length), value]] : [],
    );
    await ask(moto.endpoint, { Action: 'CreateTags', 'ResourceId.1': id, ...Object.fromEntries(tags) });
    return answer;
  }

  /** Moto says `completed` from the start. */
  function withPending(xml: string): string {
    return xml
      .split(/(?=<item>)/)
      .map((item) => {
        const [, id = ''] = /<snapshotId>(snap-[0-9a-f]+)</.exec(item) ?? [];
        const isComplete = snapshots.get(id)?.isComplete;
        return isComplete === false || (isComplete === true && faults.completesLate)
          ? item.replace('<status>completed<', '<status>pending<')
          : item;
      })
      .join('');
  }

  return { snapshots, images, faults, serveEbs, serve };
}

function snapshotOf(image: URLSearchParams): string {
  return image.get('BlockDeviceMapping.1.Ebs.SnapshotId') ?? '';
}

function refuseBlock({ isComplete }: StartedSnapshot, { headers, body }: EbsRequest): string | undefined {
  if (isComplete) return 'The snapshot is not in the pending state';
  if (body.length !== blockBytes || headers['x-amz-data-length'] !== String(blockBytes))
    return 'The data is not a block';
  if (headers['x-amz-content-sha256'] !== 'UNSIGNED-PAYLOAD') return 'The signature covers the data';
  return headers['x-amz-checksum'] === sha256(body) ? undefined : 'The checksum does not match';
}

function refuseCompletion(
  { isComplete, blocks }: StartedSnapshot,
  { headers }: EbsRequest,
): string | undefined {
  if (isComplete) return 'The snapshot is not in the pending state';
  if (headers['x-amz-changedblockscount'] !== String(blocks.size)) return 'Some blocks are missing';
  const sums = [...blocks]
    .toSorted(([one], [other]) => one - other)
    .map(([, block]) => createHash('sha256').update(block).digest());
  const expected = blocks.size === 0 ? undefined : sha256(Buffer.concat(sums));
  return headers['x-amz-checksum'] === expected ? undefined : 'The checksum does not match';
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('base64');
}
