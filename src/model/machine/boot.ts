/** What a machine may boot next time. `bios`: the setup of its firmware. */
export const bootDevices = ['pxe', 'disk', 'cdrom', 'bios'] as const;
export type BootDevice = (typeof bootDevices)[number];
