/**
 * What a machine consists of, as its controller describes it. What the controller does not know is absent.
 */
export interface Hardware {
  readonly manufacturer?: string;
  readonly model?: string;
  readonly serial?: string;
  /** Version of the firmware. */
  readonly firmware?: string;
  readonly processors?: { readonly count?: number; readonly model?: string; readonly cores?: number };
  readonly memoryMb?: number;
  readonly disks?: readonly HardwareDisk[];
  readonly interfaces?: readonly HardwareInterface[];
  /** Other parts, such as memory modules and power supplies. */
  readonly parts?: readonly HardwarePart[];
  readonly sensors?: readonly HardwareSensor[];
}

export interface HardwareDisk {
  readonly name: string;
  readonly model?: string;
  readonly serial?: string;
  readonly bytes?: number;
  /** Such as `SSD`. */
  readonly media?: string;
}

export interface HardwareInterface {
  readonly name: string;
  readonly mac?: string;
  readonly mbps?: number;
}

export interface HardwarePart {
  readonly name: string;
  readonly model?: string;
  readonly serial?: string;
}

/** A reading of a sensor, in the controller's words. */
export interface HardwareSensor {
  readonly name: string;
  readonly reading: string;
  readonly status: string;
}

/** The hardware, and when it was read. */
export interface HardwareReading extends Hardware {
  /** RFC 3339. */
  readonly at: string;
}
