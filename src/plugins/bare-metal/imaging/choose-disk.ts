/** A disk reported by the rescue system. */
export interface ReportedDisk {
  readonly name: string;
  readonly bytes: number;
  readonly removable: boolean;
  readonly readOnly: boolean;
  readonly serial: string;
  readonly wwid: string;
}

export type DiskChoice =
  | { readonly is: 'chosen'; readonly disk: ReportedDisk }
  /** It may appear later, when its driver is ready. */
  | { readonly is: 'absent'; readonly why: string }
  | { readonly is: 'refused'; readonly why: string };

const most = 256;

/**
 * Reads lines of `name bytes removable read-only serial wwid`; `-` means that a value is missing. Other lines
 * are ignored.
 */
export function readDisks(report: string): readonly ReportedDisk[] {
  return report
    .split('\n')
    .slice(0, most)
    .flatMap((line) => {
      const words =
        /^([a-z][a-z0-9]{0,31}) (\d{1,16}) ([01]) ([01]) ([\x21-\x7e]{1,128}) ([\x21-\x7e]{1,128})$/.exec(
          line,
        );
      if (words === null) return [];
      const [, name = '', bytes, removable, readOnly, serial = '', wwid = ''] = words;
      return [
        {
          name,
          bytes: Number(bytes),
          removable: removable === '1',
          readOnly: readOnly === '1',
          serial,
          wwid,
        },
      ];
    });
}

/** The disk to write: the named one, otherwise the only fixed one. It must be large enough for the image. */
export function chooseDisk(
  disks: readonly ReportedDisk[],
  wanted: string | undefined,
  imageBytes: number,
): DiskChoice {
  const fitting = disks.filter((disk) =>
    wanted === undefined ? isFixed(disk) : isNamed(disk, wanted.replace(/^\/dev\//, '')),
  );
  const [disk, ...others] = fitting;
  const found =
    disks.length === 0 ? 'it has no disks' : `its disks are ${disks.map(describeDisk).join(', ')}`;
  if (disk === undefined)
    return {
      is: 'absent',
      why:
        wanted === undefined
          ? `it has no fixed disk to write; ${found}`
          : `disk ${wanted} does not exist; ${found}`,
    };
  if (others.length > 0)
    return { is: 'refused', why: `it has several fixed disks; choose one with the field disk; ${found}` };
  if (disk.readOnly) return { is: 'refused', why: `disk ${describeDisk(disk)} is read-only` };
  if (disk.bytes < imageBytes)
    return {
      is: 'refused',
      why: `disk ${describeDisk(disk)} is too small for the image of ${imageBytes} bytes`,
    };
  return { is: 'chosen', disk };
}

function isFixed({ removable, readOnly, bytes }: ReportedDisk): boolean {
  return !removable && !readOnly && bytes > 0;
}

function isNamed({ name, serial, wwid }: ReportedDisk, wanted: string): boolean {
  return wanted === name || (wanted !== '-' && (wanted === serial || wanted === wwid));
}

function describeDisk({ name, bytes, serial }: ReportedDisk): string {
  return `${name} (${bytes} bytes${serial === '-' ? '' : `, serial number ${serial}`})`;
}
