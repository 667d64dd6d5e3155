import { PluginError } from '../../contract.js';
import { hasTags } from '../../provider-base/machines.js';
import { metadataUri, tagElements } from './domain.js';
import type { LibvirtFields } from './field-types.js';
import { identifyImage, imagePrefix } from './identity.js';
import { readDomains, readTags, type DomainText } from './machines.js';
import { existsAlready, noDomain, type Virsh } from './virsh.js';
import type { Volumes } from './volumes.js';
import { elementsAt, escapeXml } from './xml.js';

/**
 * A domain that is never started: its metadata are what libvirt keeps of an image, because
 * volumes have no tags. Its name is derived from the image's, and its UUID also from the token
 * of the upload or capture: libvirt accepts the first token alone.
 */
export interface Template extends DomainText {
  /** The image. */
  readonly volume: string;
  readonly kind: TemplateKind;
  readonly tags: Readonly<Record<string, string>>;
  readonly createdAt: string;
}

/** Longer than a capture takes from its template to its volume, in ms. */
const claimMs = 5 * 60_000;

type TemplateKind = 'upload' | 'capture';

interface TemplateInput {
  readonly volume: string;
  readonly token: string;
  readonly kind: TemplateKind;
  readonly tags: Readonly<Record<string, string>>;
}

/** The templates of a pool's images, of one image only, or of those with all of the tags. */
export async function listTemplates(
  virsh: Virsh,
  pool: string,
  { volume, tags = {} }: { readonly volume?: string; readonly tags?: Readonly<Record<string, string>> },
): Promise<readonly Template[]> {
  const wanted = volume === undefined ? undefined : identifyImage(pool, volume, '').name;
  const domains = await readDomains(virsh, ({ name }) =>
    wanted === undefined ? name.startsWith(imagePrefix) : name === wanted,
  );
  return domains
    .flatMap((domain) => readTemplate(domain, pool))
    .filter((template) => hasTags(template.tags, tags));
}

/**
 * Makes the template, or finds that of an earlier attempt. Undefined if another token has the
 * image's name. The template of a captured image that failed, or that a person deleted, is replaced.
 * @throws PluginError NotReady if that template is so young that its capture may be about to make the image.
 */
export async function claimImage(
  virsh: Virsh,
  fields: LibvirtFields,
  volumes: Volumes,
  claim: TemplateInput,
): Promise<Template | undefined> {
  const { volume } = claim;
  const template = await claimTemplate(virsh, fields, claim);
  if (template !== undefined || (await volumes.find(volume)) !== undefined) return template;
  const [left] = await listTemplates(virsh, fields.pool, { volume });
  if (left?.kind === 'upload') return undefined;
  if (left !== undefined && Date.now() - Date.parse(left.createdAt) < claimMs)
    throw new PluginError('NotReady', `another capture claimed the image ${volume} at ${left.createdAt}`, {
      retryAfterMs: claimMs / 10,
    });
  if (left !== undefined) await removeTemplate(virsh, left);
  return claimTemplate(virsh, fields, claim);
}

/** Whether the image still has this template, and none that replaced it. */
export async function isClaimed(
  virsh: Virsh,
  pool: string,
  { volume, uuid }: Pick<Template, 'volume' | 'uuid'>,
): Promise<boolean> {
  return (await listTemplates(virsh, pool, { volume })).some((template) => template.uuid === uuid);
}

async function claimTemplate(
  virsh: Virsh,
  fields: LibvirtFields,
  input: TemplateInput,
): Promise<Template | undefined> {
  const { pool } = fields;
  const { volume, token } = input;
  const { uuid } = identifyImage(pool, volume, token);
  const find = async (): Promise<Template | undefined> => (await listTemplates(virsh, pool, { volume }))[0];
  const found = await find();
  if (found !== undefined) return found.uuid === uuid ? found : undefined;
  await virsh.run(['define', '/dev/stdin'], { input: templateXml(fields, input), also: existsAlready });
  const made = await find();
  if (made === undefined)
    throw new PluginError('Retryable', `libvirt does not show the template of image ${volume}`);
  return made.uuid === uuid ? made : undefined;
}

export async function removeTemplate(virsh: Virsh, { uuid }: Pick<Template, 'uuid'>): Promise<void> {
  await virsh.run(['undefine', uuid], { also: noDomain });
}

function templateXml(
  { pool, hypervisor, arch }: LibvirtFields,
  { volume, token, kind, tags }: TemplateInput,
): string {
  const { name, uuid } = identifyImage(pool, volume, token);
  const image = `pool='${escapeXml(pool)}' volume='${escapeXml(volume)}' kind='${kind}' created='${new Date().toISOString()}'`;
  return `<domain type='${hypervisor}'>
  <name>${name}</name>
  <uuid>${uuid}</uuid>
  <title>${escapeXml(`tags of image ${volume}; do not start`)}</title>
  <metadata><heddle:image xmlns:heddle='${metadataUri}' ${image}>${tagElements(tags)}</heddle:image></metadata>
  <memory unit='MiB'>16</memory>
  <os><type arch='${escapeXml(arch)}'>hvm</type></os>
</domain>
`;
}

function readTemplate(domain: DomainText, ofPool: string): readonly Template[] {
  const [image] = elementsAt(domain.xml, 'metadata', 'heddle:image');
  const { pool, volume, kind, created: createdAt } = image?.attributes ?? {};
  if (image === undefined || pool !== ofPool || volume === undefined || createdAt === undefined) return [];
  return [
    { ...domain, volume, kind: kind === 'capture' ? 'capture' : 'upload', tags: readTags(image), createdAt },
  ];
}
