import { PluginError, type AccountQuota } from '../../contract.js';
import { readFlavor } from './fields.js';
import { absent, type Virsh } from './virsh.js';

/** Memory of the host and of its running domains, in MiB. */
export async function hostQuota(virsh: Virsh): Promise<AccountQuota> {
  const { stdout, errors } = await virsh.batch(['nodeinfo', 'list --uuid']);
  if (errors.length > 0) virsh.fail(errors);
  const [total] = memoriesOf(stdout, 'Memory size');
  if (total === undefined)
    throw new PluginError('Retryable', 'virsh answers `nodeinfo` without the memory of the host');
  const uuids = stdout.match(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/gm) ?? [];
  const domains = uuids.length === 0 ? undefined : await virsh.batch(uuids.map((uuid) => `dominfo ${uuid}`));
  const wrong = (domains?.errors ?? []).filter((line) => !absent.test(line));
  if (wrong.length > 0) virsh.fail(wrong);
  const used = memoriesOf(domains?.stdout ?? '', 'Max memory').reduce((sum, memory) => sum + memory, 0);
  return { limits: { memory: total }, used: { memory: used } };
}

/** What domains of these flavors take; other words are left out. */
export function sizesOf(flavors: readonly string[]): NonNullable<AccountQuota['sizes']> {
  return Object.fromEntries(
    flavors.flatMap((flavor) => {
      try {
        const { cpus, memoryMb } = readFlavor(flavor);
        return [[flavor, { cores: cpus, memory: memoryMb }] as const];
      } catch {
        return [];
      }
    }),
  );
}

function memoriesOf(text: string, key: string): readonly number[] {
  return [...text.matchAll(new RegExp(`^${key}: +([0-9]+) KiB`, 'gm'))].map(([, kib]) =>
    Math.floor(Number(kib) / 1_024),
  );
}
