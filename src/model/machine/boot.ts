/** What a machine may boot next time. `bios`: the setup of its firmware. */
export const bootDevices = ['pxe', 'disk', 'cdrom', 'bios'] as const;
export type BootDevice = (typeof bootDevices)[number];

/**
 * What a machine boots next in VCL's words, by the words of controllers: IPMI's sentences,
 * Redfish's boot sources.
 */
const nodesets = [
  ['image', /\b(?:pxe|network|(?:uefi)?http)\b/],
  ['install', /\b(?:cd|cdrom|dvd|usb|floppy|removable)\b/],
  ['boot', /\b(?:none|no override|disk|hdd|hard[- ]drive)\b/],
] as const;

/**
 * `image`: the system that writes images, over the network. `install`: a medium. `boot`: its
 * disk. Others stay.
 */
export function nodesetOf(bootTarget: string): string {
  return nodesets.find(([, words]) => words.test(bootTarget.toLowerCase()))?.[0] ?? bootTarget;
}
