import type { CreateInput } from '../../contract.js';
import type { LibvirtFields } from './field-types.js';
import type { Size } from './fields.js';
import type { Identity } from './identity.js';
import { changeAt, elementsAt, escapeXml, writeXml, type XmlElement } from './xml.js';

/** Names our part of a domain's metadata. */
export const metadataUri = 'https://heddle.dev/libvirt/1';

export interface DomainParts {
  readonly identity: Identity;
  readonly input: CreateInput;
  readonly fields: LibvirtFields;
  readonly size: Size;
  readonly hostKey?: string;
  /** The file of its console on libvirt's host. */
  readonly log?: string;
  readonly createdAt: string;
}

/** Where the machine sees its volumes. */
const [systemDisk, seedDisk] = ['vda', 'vdb'];

/**
 * A domain with its disk, the seed as a second one, one network interface, a console and the guest agent's
 * channel.
 */
export function domainXml({
  identity,
  input: { key, tags, hostname, image },
  fields,
  size,
  hostKey,
  log,
  createdAt,
}: DomainParts): string {
  const { hypervisor, arch, pool, network, bridge, cloudInit } = fields;
  const [source, type] =
    bridge === undefined
      ? [`<source network='${escapeXml(network)}'/>`, 'network']
      : [`<source bridge='${escapeXml(bridge)}'/>`, 'bridge'];
  const disk = (volume: string, format: string, target: string, more = ''): string =>
    `<disk type='volume' device='disk'><driver name='qemu' type='${format}'/><source pool='${escapeXml(pool)}' volume='${volume}'/><target dev='${target}' bus='virtio'/>${more}</disk>`;
  const labels = tagElements({ ...tags, 'heddle-key': key });
  return `<domain type='${hypervisor}'>
  <name>${identity.name}</name>
  <uuid>${identity.uuid}</uuid>
  <title>${escapeXml(hostname)}</title>
  <metadata><heddle:machine xmlns:heddle='${metadataUri}' key='${escapeXml(key)}' created='${createdAt}' image='${escapeXml(image)}' user='${escapeXml(fields.user)}'${hostKey === undefined ? '' : ` host-key='${escapeXml(hostKey)}'`}>${labels}</heddle:machine></metadata>
  <memory unit='MiB'>${size.memoryMb}</memory>
  <vcpu>${size.cpus}</vcpu>
  <os><type arch='${escapeXml(arch)}'>hvm</type><boot dev='hd'/></os>
  ${hypervisor === 'kvm' ? "<cpu mode='host-model'/>" : ''}
  <features><acpi/></features>
  <on_reboot>restart</on_reboot>
  <devices>
    ${disk(identity.disk, 'qcow2', systemDisk)}
    ${cloudInit ? disk(identity.seed, 'raw', seedDisk, '<readonly/>') : ''}
    <interface type='${type}'>${source}<mac address='${identity.mac}'/><model type='virtio'/></interface>
    <console type='pty'>${log === undefined ? '' : `<log file='${escapeXml(log)}' append='off'/>`}</console>
    ${hypervisor === 'test' ? '' : "<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel><rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>"}
  </devices>
</domain>
`;
}

/** Tags as they are written into our metadata. */
export function tagElements(tags: Readonly<Record<string, string>>): string {
  return Object.entries(tags)
    .map(([name, value]) => `<heddle:tag name='${escapeXml(name)}' value='${escapeXml(value)}'/>`)
    .join('');
}

/** The volumes that a domain has. */
export function volumesOf(domain: XmlElement): { readonly disk?: string; readonly seed?: string } {
  const at = (target: string): string | undefined =>
    elementsAt(domain, 'devices', 'disk')
      .filter((disk) => targetOf(disk) === target)
      .flatMap((disk) => elementsAt(disk, 'source'))
      .map(({ attributes }) => attributes['volume'])[0];
  const [disk, seed] = [at(systemDisk), at(seedDisk)];
  return { disk, seed };
}

/** Whether what its console prints is kept. */
export function hasConsoleLog(domain: XmlElement): boolean {
  return ['console', 'serial'].some((device) => elementsAt(domain, 'devices', device, 'log').length > 0);
}

/** The same domain on the volumes of a load; all else of it stays as it is. */
export function withVolumes(domain: XmlElement, { disk, seed }: Identity, image: string): string {
  const volumes: Readonly<Record<string, string>> = { [systemDisk]: disk, [seedDisk]: seed };
  const switched = changeAt(domain, ['devices', 'disk'], (found) => {
    const volume = volumes[targetOf(found) ?? ''];
    return volume === undefined
      ? found
      : changeAt(found, ['source'], (source) => ({
          ...source,
          attributes: { ...source.attributes, volume },
        }));
  });
  return writeXml(
    changeAt(switched, ['metadata', 'heddle:machine'], (machine) => ({
      ...machine,
      attributes: { ...machine.attributes, image },
    })),
  );
}

function targetOf(disk: XmlElement): string | undefined {
  return elementsAt(disk, 'target')[0]?.attributes['dev'];
}
