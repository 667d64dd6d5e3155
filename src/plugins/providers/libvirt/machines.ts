import { randomUUID } from 'node:crypto';
import { tagNames } from '../../../model/names.js';
import { PluginError, type Machine } from '../../contract.js';
import { volumesOf } from './domain.js';
import { identify, imagePrefix, namePrefix } from './identity.js';
import { absent, type Virsh } from './virsh.js';
import { elementsAt, parseXml, textAt, type XmlElement } from './xml.js';

/** A domain of ours as libvirt shows it. */
export interface Domain {
  readonly uuid: string;
  readonly key: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly state: Machine['state'];
  /** In libvirt's own word. */
  readonly stateText: string;
  readonly user: string;
  readonly macs: readonly string[];
  readonly createdAt?: string;
  readonly hostKey?: string;
  readonly hostname: string;
  /** Names of its volumes. */
  readonly disk?: string;
  readonly seed?: string;
  /** What its disk was made of. */
  readonly image?: string;
  /** All of it, as it is defined. */
  readonly xml: XmlElement;
}

export async function domainOf(virsh: Virsh, key: string): Promise<Domain | undefined> {
  const domain = await domainWithId(virsh, identify(key).uuid);
  return domain?.key === key ? domain : undefined;
}

export async function domainWithId(virsh: Virsh, uuid: string): Promise<Domain | undefined> {
  return (await listDomains(virsh, uuid))[0];
}

/** libvirt's words for states; being paused at boot is rare enough to look again. */
const states: Readonly<Record<string, Machine['state']>> = {
  running: 'running',
  idle: 'running',
  paused: 'stopped',
  'in shutdown': 'stopped',
  'shut off': 'stopped',
  pmsuspended: 'stopped',
  crashed: 'failed',
  'no state': 'starting',
};

/** All machines of ours. */
export async function listDomains(virsh: Virsh, wanted?: string): Promise<readonly Domain[]> {
  const found = await readDomains(
    virsh,
    ({ uuid, name }) =>
      name.startsWith(namePrefix) &&
      !name.startsWith(imagePrefix) &&
      (wanted === undefined || uuid === wanted),
  );
  return found.flatMap(({ uuid, xml, stateText }) => readDomain(uuid, xml, stateText));
}

/** A domain as libvirt defines it. */
export interface DomainText {
  readonly uuid: string;
  readonly xml: XmlElement;
  readonly stateText: string;
}

/** The wanted domains: the names first, then what each of them is, on one connection each. */
export async function readDomains(
  virsh: Virsh,
  isWanted: (domain: { readonly uuid: string; readonly name: string }) => boolean,
): Promise<readonly DomainText[]> {
  const { stdout, errors } = await virsh.batch(['list --all --uuid --name']);
  if (errors.length > 0) virsh.fail(errors);
  const rows = stdout
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => line.split(/\s+/));
  const strange = rows.find(([uuid = '']) => !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(uuid));
  if (strange !== undefined)
    throw new PluginError('Retryable', 'virsh list printed something other than ids and names');
  const uuids = rows.flatMap(([uuid = '', name = '']) => (isWanted({ uuid, name }) ? [uuid] : []));
  return uuids.length === 0 ? [] : describe(virsh, uuids);
}

/** Metadata of others cannot contain the separator. Domains that disappeared meanwhile are left out. */
async function describe(virsh: Virsh, uuids: readonly string[]): Promise<readonly DomainText[]> {
  const mark = `heddle-${randomUUID()}`;
  const { stdout, errors } = await virsh.batch(
    uuids.flatMap((uuid) => [
      `echo ${mark}`,
      `dumpxml --inactive ${uuid}`,
      `echo ${mark}`,
      `domstate ${uuid}`,
    ]),
  );
  const wrong = errors.filter((line) => !absent.test(line));
  if (wrong.length > 0) virsh.fail(wrong);
  const parts = stdout.split(mark).slice(1);
  return uuids.flatMap((uuid, index) => {
    const [xml = '', stateText = ''] = parts.slice(index * 2, index * 2 + 2).map((part) => part.trim());
    if (xml === '' || stateText === '') {
      if (errors.length > 0) return [];
      throw new PluginError('Retryable', `virsh reports nothing about domain ${uuid}`);
    }
    return [{ uuid, xml: parseXml(xml), stateText }];
  });
}

/** Nothing for a domain that only has a name like ours. */
function readDomain(uuid: string, xml: XmlElement, stateText: string): readonly Domain[] {
  const [machine] = elementsAt(xml, 'metadata', 'heddle:machine');
  const key = machine?.attributes['key'];
  if (machine === undefined || key === undefined) return [];
  const state = states[stateText];
  if (state === undefined)
    throw new PluginError('Retryable', `domain ${uuid} is in an unknown state: ${stateText}`);
  const tags = readTags(machine);
  const { created, user = 'root', image, 'host-key': hostKey } = machine.attributes;
  return [
    {
      uuid,
      key,
      tags: { ...tags, [tagNames.key]: key },
      state,
      stateText,
      user,
      hostname: textAt(xml, 'title') ?? '',
      xml,
      ...volumesOf(xml),
      macs: elementsAt(xml, 'devices', 'interface', 'mac').flatMap(({ attributes: { address } }) =>
        address === undefined ? [] : [address.toLowerCase()],
      ),
      createdAt: created,
      hostKey,
      image,
    },
  ];
}

/** The tags in an element of our metadata. */
export function readTags(element: XmlElement): Readonly<Record<string, string>> {
  return Object.fromEntries(
    elementsAt(element, 'heddle:tag').map(({ attributes: { name = '', value = '' } }) => [name, value]),
  );
}

/** The address of the machine's own interface: a guest agent also reports those of containers. */
export function readAddresses(table: string, macs: readonly string[]): string | undefined {
  const rows = table.split('\n').map((line) => line.trim().split(/\s+/));
  let last = '';
  const found = rows.flatMap(([, mac = '', protocol = '', address = '']) => {
    // A further address of an interface is on the next line, without the interface's name.
    last = mac === '-' ? last : mac.toLowerCase();
    return /^ipv[46]$/.test(protocol) && macs.includes(last)
      ? [{ protocol, address: address.replace(/\/\d+$/, '') }]
      : [];
  });
  const usable = found.filter(({ address }) => !/^(127\.|169\.254\.|::1$|fe80:)/i.test(address));
  return (usable.find(({ protocol }) => protocol === 'ipv4') ?? usable[0])?.address;
}
