import { z } from 'zod';
import type { Hardware, HardwareDisk, HardwareInterface } from '../../contract.js';
import { isPluginError } from '../../errors.js';
import type { RedfishHttp } from './http.js';

const word = z.string().trim().min(1).nullish().catch(undefined);
const count = z.coerce.number().min(0).nullish().catch(undefined);
const link = z.object({ '@odata.id': z.string() }).nullish().catch(undefined);
const links = z
  .array(z.object({ '@odata.id': z.string() }))
  .nullish()
  .catch(undefined);

const systemSchema = z.object({
  Manufacturer: word,
  Model: word,
  SerialNumber: word,
  BiosVersion: word,
  ProcessorSummary: z.object({ Count: count, Model: word, CoreCount: count }).nullish().catch(undefined),
  MemorySummary: z.object({ TotalSystemMemoryGiB: count }).nullish().catch(undefined),
  Storage: link,
  SimpleStorage: link,
  EthernetInterfaces: link,
});
const collectionSchema = z.object({ Members: links });
const storageSchema = z.object({ Drives: links });
const driveSchema = z.object({
  Name: word,
  Id: word,
  Model: word,
  SerialNumber: word,
  CapacityBytes: count,
  MediaType: word,
});
const simpleStorageSchema = z.object({ Devices: z.array(driveSchema).nullish().catch(undefined) });
const interfaceSchema = z.object({
  Id: word,
  Name: word,
  MACAddress: word,
  PermanentMACAddress: word,
  SpeedMbps: count,
});

/** Most members of a collection that are read. */
const most = 64;

/**
 * Reads the system and what it links to. A resource that the controller does not have, or refuses, is absent.
 */
export async function readHardware(http: RedfishHttp, path: string): Promise<Hardware> {
  const get = <Schema extends z.ZodType>(
    schema: Schema,
    from: string,
  ): Promise<z.output<Schema> | undefined> => readResource(http, schema, from);
  const members = async (from: z.output<typeof link>): Promise<readonly string[]> =>
    from ? pathsOf((await get(collectionSchema, from['@odata.id']))?.Members) : [];

  const system = (await get(systemSchema, path)) ?? {};
  const interfaces: HardwareInterface[] = [];
  for (const member of await members(system.EthernetInterfaces)) {
    const found = await get(interfaceSchema, member);
    if (found !== undefined) interfaces.push(interfaceOf(found, member));
  }
  const disks: HardwareDisk[] = [];
  for (const storage of await members(system.Storage)) {
    for (const drive of pathsOf((await get(storageSchema, storage))?.Drives)) {
      const found = await get(driveSchema, drive);
      if (found !== undefined) disks.push(diskOf(found, drive));
    }
  }
  if (disks.length === 0)
    for (const storage of await members(system.SimpleStorage)) {
      const found = await get(simpleStorageSchema, storage);
      disks.push(...(found?.Devices ?? []).map((device) => diskOf(device, storage)));
    }
  const { ProcessorSummary: processors, MemorySummary: memory } = system;
  const processorWords = defined({
    count: processors?.Count,
    model: processors?.Model,
    cores: processors?.CoreCount,
  });
  return {
    ...defined({
      manufacturer: system.Manufacturer,
      model: system.Model,
      serial: system.SerialNumber,
      firmware: system.BiosVersion,
      memoryMb: memory?.TotalSystemMemoryGiB && Math.round(memory.TotalSystemMemoryGiB * 1_024),
    }),
    ...(Object.keys(processorWords).length === 0 ? {} : { processors: processorWords }),
    ...(disks.length === 0 ? {} : { disks: disks.slice(0, most) }),
    ...(interfaces.length === 0 ? {} : { interfaces }),
  };
}

/** Undefined where the controller has no such resource, or none that can be read. */
export async function readResource<Schema extends z.ZodType>(
  http: RedfishHttp,
  schema: Schema,
  path: string,
): Promise<z.output<Schema> | undefined> {
  try {
    const { status, json } = await http.call('GET', path);
    const parsed = schema.safeParse(json);
    return status < 300 && parsed.success ? parsed.data : undefined;
  } catch (error) {
    // A login that is refused, or silence, concerns all of them.
    if (!isPluginError(error) || error.kind !== 'Invalid') throw error;
    return undefined;
  }
}

function pathsOf(members: z.output<typeof links>): readonly string[] {
  return (members ?? []).slice(0, most).map((member) => member['@odata.id']);
}

function interfaceOf(
  { Id, Name, MACAddress, PermanentMACAddress, SpeedMbps }: z.output<typeof interfaceSchema>,
  path: string,
): HardwareInterface {
  return {
    name: Name ?? Id ?? path,
    ...defined({ mac: (PermanentMACAddress ?? MACAddress)?.toLowerCase(), mbps: SpeedMbps }),
  };
}

function diskOf(
  { Name, Id, Model, SerialNumber, CapacityBytes, MediaType }: z.output<typeof driveSchema>,
  path: string,
): HardwareDisk {
  return {
    name: Name ?? Id ?? path,
    ...defined({ model: Model, serial: SerialNumber, bytes: CapacityBytes, media: MediaType }),
  };
}

type Defined<Values> = { readonly [Name in keyof Values]?: NonNullable<Values[Name]> };

/** Without what is absent. */
function defined<Values extends Readonly<Record<string, unknown>>>(values: Values): Defined<Values> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined && value !== null),
  ) as Defined<Values>;
}
