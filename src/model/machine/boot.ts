/** What a machine can be made to boot next time. */
export const bootDevices = ['pxe', 'disk', 'cdrom', 'bios'] as const;
/** `bios`: the setup of the firmware. */
export type BootDevice = (typeof bootDevices)[number];
