import type { Hardware, HardwarePart, HardwareSensor } from '../../contract.js';

/** Words that stand where nothing was entered. */
const empty = /^(?:|n\/?a|none|not specified|to be filled by o\.?e\.?m\.?|0+)$/i;

/** Most parts and sensors that are kept. */
const most = 128;

/**
 * Reads what `ipmitool fru print` prints: the machine is the first device with a product, or
 * else with a board; the other devices are parts.
 */
export function readFru(text: string): Hardware {
  const devices = text
    .split(/^(?=FRU Device Description)/m)
    .map(readDevice)
    .filter(({ size }) => size > 1);
  const machine =
    devices.find((device) => device.has('Product Name') && isBuiltin(device)) ??
    devices.find((device) => device.has('Product Name')) ??
    devices.find((device) => device.has('Board Product'));
  if (machine === undefined) return {};
  const parts = devices.filter((device) => device !== machine).map(partOf);
  return {
    ...optional('manufacturer', first(machine, 'Product Manufacturer', 'Board Mfg')),
    ...optional('model', first(machine, 'Product Name', 'Board Product')),
    ...optional('serial', first(machine, 'Product Serial', 'Chassis Serial', 'Board Serial')),
    ...(parts.length === 0 ? {} : { parts: parts.slice(0, most) }),
  };
}

/**
 * Reads what `ipmitool sdr list` prints: `name | reading | status`. Sensors that are not
 * present have no reading.
 */
export function readSensors(text: string): readonly HardwareSensor[] {
  return text
    .split('\n')
    .flatMap((line) => {
      const [name = '', reading = '', status = '', ...more] = line.split('|').map((word) => word.trim());
      return name === '' || status === '' || status === 'ns' || more.length > 0
        ? []
        : [{ name, reading, status }];
    })
    .slice(0, most);
}

type Device = ReadonlyMap<string, string>;

function readDevice(text: string): Device {
  return new Map(
    text.split('\n').flatMap((line) => {
      const [, name = '', value = ''] = /^\s*([^:]+?)\s*:\s*(.*?)\s*$/.exec(line) ?? [];
      return name === '' || empty.test(value) ? [] : [[name, value] as const];
    }),
  );
}

function isBuiltin(device: Device): boolean {
  return /\(ID 0\)/.test(device.get('FRU Device Description') ?? '');
}

function partOf(device: Device): HardwarePart {
  const description = device.get('FRU Device Description') ?? 'part';
  return {
    name: description.replace(/\s*\(ID \d+\)$/, ''),
    ...optional(
      'model',
      first(device, 'Product Name', 'Board Product', 'Product Part Number', 'Board Part Number'),
    ),
    ...optional('serial', first(device, 'Product Serial', 'Board Serial')),
  };
}

function first(device: Device, ...names: readonly string[]): string | undefined {
  return names.map((name) => device.get(name)).find((value) => value !== undefined);
}

function optional<Name extends string>(name: Name, value: string | undefined): Partial<Record<Name, string>> {
  return value === undefined ? {} : ({ [name]: value } as Record<Name, string>);
}
