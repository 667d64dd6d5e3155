import { isJsonObject, type JsonObject } from '../model/json.js';
import { imageSchema } from '../schema/image/spec.js';
import { warningAt, type Path, type Problem } from '../schema/problem.js';
import { problemsFromZod } from '../schema/zod-problems.js';
import type { Names } from './names.js';
import { remarkUnread } from './remarks.js';
import type { Diskimage, NodepoolFile } from './written.js';

/**
 * A provider that a diskimage is uploaded to, with the size of the machines of a label that boots from it.
 */
export interface ImageUse {
  readonly account: string;
  /** Absent if no label boots from it there. */
  readonly hardware?: string;
  /** Format of the file that the account accepts. */
  readonly format: string;
}

/** The command of the builders that runs diskimage-builder. */
const builderCommand = 'diskimage-builder';
const defaultRebuildAge = 86_400;
const mostUploads = 50;

/**
 * Image files by the names of the images: commands of the builders, uploads to the accounts that use them.
 */
export function importDiskimages(
  { diskimages }: NodepoolFile,
  names: Names,
  uses: ReadonlyMap<string, readonly ImageUse[]>,
): { readonly images: Readonly<Record<string, JsonObject>>; readonly remarks: readonly Problem[] } {
  const images: Record<string, JsonObject> = {};
  const remarks: Problem[] = [];
  const declared = new Map((diskimages ?? []).map((image) => [image.name, image] as const));
  for (const [index, image] of (diskimages ?? []).entries()) {
    const path: Path = ['diskimages', index];
    remarks.push(...remarkUnread('diskimage', image, path));
    if (image.abstract === true) continue;
    const users = uses.get(image.name) ?? [];
    const made = imageOf(names.of(image.name), inherit(image, declared), users);
    const checked = imageSchema.safeParse(made);
    if (!checked.success) {
      remarks.push(
        ...problemsFromZod(imageSchema, checked.error, made).map(({ wrong, path: where }) =>
          warningAt(path, `is omitted, because the image would be invalid: ${where.join('.')} ${wrong}`),
        ),
      );
      continue;
    }
    remarks.push(...names.remark(image.name, [...path, 'name']));
    images[names.of(image.name)] = made;
  }
  const unknown = [...uses.keys()].filter((name) => !declared.has(name));
  for (const name of unknown)
    remarks.push(
      warningAt(
        ['diskimages'],
        `diskimage ${name} is not declared in this file`,
        `Create an image file named ${names.of(name)}, or import the file that declares it.`,
      ),
    );
  if (Object.keys(images).length > 0)
    remarks.push(
      warningAt(
        ['diskimages'],
        `are built by the builders' command ${builderCommand}`,
        `Define it under builder.commands in heddle.yaml: it must run disk-image-create with $ELEMENTS, and write $HEDDLE_OUTPUT.<format>. Its variables, each with a pattern: ${variablesOf(images).join(', ')}.`,
      ),
    );
  return { images, remarks };
}

/** Names of the variables that the images set. */
function variablesOf(images: Readonly<Record<string, JsonObject>>): readonly string[] {
  const commands = Object.values(images).map(({ command }) => (isJsonObject(command) ? command : {}));
  const names = commands.flatMap(({ environment }) =>
    Object.keys(isJsonObject(environment) ? environment : {}),
  );
  return [...new Set(names)].toSorted();
}

/** Elements are added to those of the parent; variables and all else replace the parent's. */
function inherit(image: Diskimage, declared: ReadonlyMap<string, Diskimage>, depth = 0): Diskimage {
  const parent = image.parent === undefined ? undefined : declared.get(image.parent);
  if (parent === undefined || depth > 20) return image;
  const above = inherit(parent, declared, depth + 1);
  return {
    ...above,
    ...image,
    elements: [...(above.elements ?? []), ...(image.elements ?? [])],
    'env-vars': { ...above['env-vars'], ...image['env-vars'] },
  };
}

function imageOf(name: string, image: Diskimage, users: readonly ImageUse[]): JsonObject {
  const { elements, release, 'build-timeout': timeout, 'rebuild-age': rebuildAge } = image;
  const uploads = [...new Map(users.map((use) => [use.account, use])).values()].slice(0, mostUploads);
  const formats = uploads.length === 0 ? (image.formats ?? ['qcow2']) : uploads.map(({ format }) => format);
  const tested = users.find(({ hardware }) => hardware !== undefined);
  return {
    name,
    command: {
      run: builderCommand,
      environment: {
        ...image['env-vars'],
        ELEMENTS: (elements ?? []).join(' '),
        ...(release === undefined ? {} : { DIB_RELEASE: release }),
      },
      formats: [...new Set(formats)],
      ...(timeout === undefined ? {} : { timeout }),
    },
    uploads: uploads.map(({ account, format }) => ({ provider: account, format })),
    validate:
      tested?.hardware === undefined ? false : { provider: tested.account, hardware: tested.hardware },
    rebuildAge: rebuildAge ?? defaultRebuildAge,
  };
}
