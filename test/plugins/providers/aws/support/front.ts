import { createServer, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { freePort } from '../../../../harness/free-port.js';
import { startNode, type TestNode } from '../../../../harness/ssh-server.js';
import { ask, startMoto } from './moto.js';
import { errorJson, errorXml, idsIn, mapReservations, withoutReservations, type Answer } from './answers.js';
import { openImageApi, type ImageApi } from './images.js';
import { bootedKey } from './user-data.js';

/** What EC2 does and moto does not. Changed while it runs, it holds for the next call. */
export interface Ec2Faults {
  /** Zones and subnets without room. */
  full: readonly string[];
  /** How many calls are refused for coming too fast. */
  throttle: number;
  /** What the next RunInstances is refused with. */
  refuse?: { readonly status: number; readonly code: string } | undefined;
  /** Whether RunInstances is carried out and never answered. */
  holdLaunch?: boolean;
  /** Whether new instances are missing in lists and descriptions. */
  lag: boolean;
  /** Quotas of EC2 by their codes. */
  quotas?: Readonly<Record<string, number>>;
  /** Actions that the account has no permission for. */
  forbidden?: readonly string[];
  /** Most reservations in one page of a list, fewer than one asks for. */
  pageSize?: number | undefined;
}

export interface Ec2Front {
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly sshPort: number;
  readonly faults: Ec2Faults;
  /**
   * What RunInstances was asked for and moto was told of, oldest first: an answer that was given again is not
   * among them.
   */
  readonly launches: readonly URLSearchParams[];
  /** Machines with a real SSH server, by instance. */
  readonly nodes: ReadonlyMap<string, TestNode>;
  readonly uploads: Pick<ImageApi, 'snapshots' | 'images' | 'faults'>;
  /** Calls one action of EC2's API, past all faults. */
  call(action: string, parameters?: Readonly<Record<string, string>>): Promise<string>;
  close(): Promise<void>;
}

/**
 * EC2 as far as machines go: moto behind a proxy that keeps client tokens (each in its zone, and not after
 * the end of its instance), refuses unknown access keys, has no room where a test says so, throttles, shows
 * new instances late, and gives each instance an address on loopback where a real SSH server answers under
 * the host key that its user data brought.
 */
export async function startEc2(): Promise<Ec2Front> {
  const moto = await startMoto();
  const sshPort = await freePort();
  const imageApi = openImageApi(moto);
  const accessKeyId = 'AKIATESTTESTTESTTEST';
  const faults: Ec2Faults = { full: [], throttle: 0, lag: false };
  const launches: URLSearchParams[] = [];
  const nodes = new Map<string, TestNode>();
  const addresses = new Map<string, string>();
  /** By token and zone; a second call waits for the answer to the first. */
  const answered = new Map<string, { readonly asked: string; readonly answer: Promise<Answer> }>();
  /** A block of loopback for this one. */
  const block = `127.${64 + (process.pid % 128)}.${sshPort % 250}`;

  const server = createServer((incoming, outgoing) => {
    void readAll(incoming)
      .then((body) => serve(incoming, body))
      .then(
        ({ status, body, isJson }) => {
          outgoing.writeHead(status, {
            'content-type': isJson === true ? 'application/json' : 'text/xml',
            'content-length': Buffer.byteLength(body),
          });
          outgoing.end(body);
        },
        () => incoming.socket.destroy(),
      );
  });

  async function serve(incoming: IncomingMessage, body: Buffer): Promise<Answer> {
    const asked = new URLSearchParams(incoming.url === '/' ? body.toString('utf8') : '');
    const action = asked.get('Action') ?? '';
    if (incoming.headers.authorization?.includes(`Credential=${accessKeyId}/`) !== true)
      return errorXml(401, 'AuthFailure', 'AWS was not able to validate the provided access credentials');
    if (faults.forbidden?.includes(action) === true)
      return errorXml(403, 'UnauthorizedOperation', 'You are not authorized to perform this operation.');
    if (faults.throttle > 0) {
      faults.throttle -= 1;
      return errorXml(503, 'RequestLimitExceeded', 'Request limit exceeded.');
    }
    if (action === 'RunInstances') {
      const answer = await launchOnce(asked);
      return faults.holdLaunch === true ? new Promise<Answer>(() => undefined) : answer;
    }
    if (faults.pageSize !== undefined && asked.has('MaxResults'))
      asked.set('MaxResults', String(faults.pageSize));
    const { method = '', url: path = '/', headers } = incoming;
    if (headers['x-amz-target'] !== undefined) return quota(body);
    if (path !== '/') return imageApi.serveEbs({ method, path, headers, body });
    const answer = await imageApi.serve(asked, () => forward(asked));
    if (action === 'TerminateInstances' && answer.status === 200)
      await Promise.all(idsIn(answer.body).map(powerOff));
    return action === 'DescribeInstances' ? shown(answer) : answer;
  }

  /** Moto knows no quotas of EC2. */
  function quota(body: Buffer): Answer {
    const { QuotaCode } = JSON.parse(body.toString('utf8')) as { readonly QuotaCode: string };
    const Value = faults.quotas?.[QuotaCode];
    if (faults.forbidden?.includes('GetServiceQuota') === true)
      return errorJson(400, 'AccessDeniedException', 'You are not authorized to perform this operation.');
    return Value === undefined
      ? errorJson(400, 'NoSuchResourceException', 'The request failed because the quota does not exist.')
      : { status: 200, body: JSON.stringify({ Quota: { QuotaCode, Value } }), isJson: true };
  }

  async function launchOnce(asked: URLSearchParams): Promise<Answer> {
    const place =
      asked.get('SubnetId') ??
      asked.get('NetworkInterface.1.SubnetId') ??
      asked.get('Placement.AvailabilityZone') ??
      'anywhere';
    const token = `${asked.get('ClientToken') ?? ''} ${place}`;
    const words = [...asked]
      .map(([name, value]) => `${name}=${value}`)
      .toSorted()
      .join('&');
    const before = answered.get(token);
    if (before !== undefined) {
      if (before.asked !== words)
        return errorXml(
          400,
          'IdempotentParameterMismatch',
          'Arguments on this idempotent request are inconsistent with arguments used in previous request(s).',
        );
      const { status, body } = await before.answer;
      const [id = ''] = idsIn(body);
      if (status === 200 && !nodes.has(id))
        return errorXml(400, 'IdempotentInstanceTerminated', `The instance ${id} was terminated`);
      return { status, body };
    }
    const answer = launch(asked, place);
    answered.set(token, { asked: words, answer });
    // What was refused leaves nothing.
    if ((await answer).status !== 200) answered.delete(token);
    return answer;
  }

  async function launch(asked: URLSearchParams, place: string): Promise<Answer> {
    if (faults.refuse !== undefined)
      return errorXml(faults.refuse.status, faults.refuse.code, 'as the test says');
    if (faults.full.includes(place))
      return errorXml(
        500,
        'InsufficientInstanceCapacity',
        `We currently do not have sufficient ${asked.get('InstanceType') ?? ''} capacity in ${place}.`,
      );
    const answer = await forward(asked);
    if (answer.status !== 200) return answer;
    launches.push(asked);
    for (const id of idsIn(answer.body)) {
      const host = `${block}.${addresses.size + 2}`;
      addresses.set(id, host);
      await tagInterfaces(id, asked);
      const hostKey = bootedKey(asked.get('UserData') ?? '');
      nodes.set(
        id,
        await startNode({
          listen: { host, port: sshPort },
          hostKeys: hostKey === undefined ? undefined : [hostKey],
        }),
      );
    }
    return answer;
  }

  /** Moto tags only instances and volumes. */
  async function tagInterfaces(instance: string, asked: URLSearchParams): Promise<void> {
    const at = [...asked].find(([, value]) => value === 'network-interface')?.[0].split('.')[1];
    const prefix = `TagSpecification.${at ?? '-'}.`;
    const tags = [...asked].filter(([name]) => name.startsWith(`${prefix}Tag.`));
    const { body } = await ask(moto.endpoint, {
      Action: 'DescribeNetworkInterfaces',
      'Filter.1.Name': 'attachment.instance-id',
      'Filter.1.Value.1': instance,
    });
    for (const id of new Set(body.match(/\beni-[0-9a-f]{8,}/g))) {
      const words = tags.map(([name, value]): [string, string] => [name.slice(prefix.length), value]);
      await ask(moto.endpoint, { Action: 'CreateTags', 'ResourceId.1': id, ...Object.fromEntries(words) });
    }
  }

  /** With addresses of loopback in place of moto's own. */
  function shown({ status, body }: Answer): Answer {
    const visible = faults.lag ? withoutReservations(body) : body;
    return {
      status,
      body: mapReservations(visible, (reservation) => {
        const address = addresses.get(idsIn(reservation)[0] ?? '');
        return address === undefined
          ? reservation
          : reservation.replaceAll(/<(privateIpAddress|ipAddress)>[^<]*</g, `<$1>${address}<`);
      }),
    };
  }

  async function powerOff(id: string): Promise<void> {
    const node = nodes.get(id);
    nodes.delete(id);
    await node?.close();
  }

  function forward(asked: URLSearchParams): Promise<Answer> {
    return ask(moto.endpoint, Object.fromEntries(asked));
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    accessKeyId,
    sshPort,
    faults,
    launches,
    nodes,
    uploads: imageApi,
    call: async (action, parameters = {}) =>
      (await ask(moto.endpoint, { Action: action, ...parameters })).body,
    async close() {
      server.close();
      server.closeAllConnections();
      await Promise.all([...nodes.keys()].map(powerOff));
      await moto.close();
    },
  };
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
