import type { Descriptor, PluginType } from '../schema/descriptor.js';
import { errorAt, type Problem } from '../schema/problem.js';
import { suggest } from '../schema/suggest.js';
import type { AutomatorAbilities, ProviderAbilities } from './contract.js';

/** By name, so that the compiler reports a method that the contract adds or drops. */
const providerAbilities: Readonly<Record<keyof ProviderAbilities, true>> = {
  list: true,
  find: true,
  quota: true,
  offers: true,
  consoleOutput: true,
  nodeDeleted: true,
  nodeReused: true,
  powerStatus: true,
  powerOn: true,
  powerOff: true,
  powerReset: true,
  setBoot: true,
  bootOnce: true,
  bootTarget: true,
  hardware: true,
  console: true,
  imageExists: true,
  imageSize: true,
  retrieveImage: true,
  verifyImage: true,
  machineNames: true,
  load: true,
  capture: true,
  endRun: true,
  unload: true,
  disksToErase: true,
  assignedImage: true,
  reach: true,
  currentImage: true,
  isAsImage: true,
  taint: true,
  uploadImage: true,
  listImages: true,
  downloadImage: true,
  deleteImage: true,
};
const automatorAbilities: Readonly<Record<keyof AutomatorAbilities, true>> = {
  preCapture: true,
  postLoad: true,
  preReload: true,
  sanitize: true,
  checkImage: true,
  grantAccess: true,
  revokeAccess: true,
};

/** The optional methods that the engine calls. */
export const abilities: Readonly<Record<PluginType, readonly string[]>> = {
  provider: Object.keys(providerAbilities),
  automator: Object.keys(automatorAbilities),
};

/** A name that the engine never calls is a typo, or a method of the other type of plugin. */
export function checkAbilities({ type, abilities: written }: Descriptor): readonly Problem[] {
  return written.flatMap((name, index) =>
    abilities[type].includes(name)
      ? []
      : [
          errorAt(
            ['abilities', index],
            `${name} is not an optional method of ${type}s`,
            suggest(name, abilities[type]) ?? 'docs/reference/plugins/contract.md lists them.',
          ),
        ],
  );
}
