import { isLabel, labelRule, maxLabels, type Labels } from '../cluster/labels.js';
import type { MachineView } from '../../schema/output/machine.js';
import type { MachineIntent } from './intents.js';

/** By what people select a machine. */
export interface MachineTags {
  readonly groups: readonly string[];
  readonly labels: Labels;
}

export interface MachineFilter {
  readonly group?: string;
  readonly labels?: Labels;
  readonly site?: string;
  readonly provider?: string;
}

export const groupRule = 'Lower-case letters, digits and hyphens; at most 40 characters.';
const mostGroups = 20;

export function isGroupName(text: string): boolean {
  return /^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/.test(text);
}

/** The problem with groups and labels; undefined if there is none. */
export function tagFault({ groups = [], labels = {} }: Partial<MachineTags>): string | undefined {
  const group = groups.find((name) => !isGroupName(name));
  if (group !== undefined) return `${JSON.stringify(group)} is not a valid group name. ${groupRule}`;
  if (groups.length > mostGroups) return `a machine can be in at most ${mostGroups} groups`;
  const label = Object.entries(labels).find(([key, value]) => !isLabel(key, value));
  if (label !== undefined)
    return `${JSON.stringify(label.join('='))} is not a valid label. It must be ${labelRule}`;
  return Object.keys(labels).length > maxLabels
    ? `a machine can have at most ${maxLabels} labels`
    : undefined;
}

/** The labels of a machine once some were changed. */
export function labelsAfter(
  before: Labels = {},
  { labels, remove }: Omit<MachineIntent & { readonly kind: 'label' }, 'kind'>,
): Labels {
  const kept = Object.entries(before).filter(([key]) => !remove.includes(key));
  return { ...Object.fromEntries(kept), ...labels };
}

type Selectable = Pick<MachineView, 'groups' | 'labels' | 'site' | 'provider'>;

/** Why a filter leaves a machine out; undefined if it does not. */
export function filteredOut(
  { groups, labels, site, provider }: Selectable,
  wanted: MachineFilter,
): string | undefined {
  if (wanted.site !== undefined && site !== wanted.site) return `it is in site ${site}`;
  if (wanted.provider !== undefined && provider !== wanted.provider) return `its provider is ${provider}`;
  if (wanted.group !== undefined && !groups.includes(wanted.group))
    return `it is not in group ${wanted.group}`;
  const lacking = Object.entries(wanted.labels ?? {}).find(([key, value]) => labels[key] !== value);
  return lacking === undefined ? undefined : `it has no label ${lacking.join('=')}`;
}

/** No user, reservation or operation has it, and it is not quarantined. */
export function isFree({
  state,
  holder,
  operation,
  quarantine,
}: Pick<MachineView, 'state' | 'holder' | 'operation' | 'quarantine'>): boolean {
  return state === 'available' && holder === undefined && operation === undefined && quarantine === undefined;
}

/** `web@3`: three free machines of the group web. Undefined for other text. */
export function parseGroupCount(
  text: string,
): { readonly group: string; readonly count: number } | undefined {
  const [, group = '', count = ''] = /^([^@]+)@([1-9]\d{0,3})$/.exec(text) ?? [];
  return isGroupName(group) ? { group, count: Number(count) } : undefined;
}
