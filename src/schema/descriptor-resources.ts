import { z } from 'zod';
import {
  resourceDigestPattern,
  resourceFormats,
  resourceNamePattern,
  resourceNameRule,
} from '../model/artifact/reference.js';
import { errorAt, type Problem } from './problem.js';

const declaredSchema = z.strictObject({
  path: z
    .string()
    .regex(/^\.\/./, { error: "A path that begins with ./, in the plugin's folder." })
    .exactOptional()
    .meta({
      title: 'Path',
      description:
        "In the plugin's folder, beginning with ./; without it, people put such resources into the store.",
    }),
  format: z
    .enum(['file', 'folder', 'archive'])
    .meta({
      title: 'Format',
      description:
        'file; folder, for what the plugin brings along; archive, for what people put into the store.',
    }),
  permissions: z
    .string()
    .regex(/^0?[0-7]{3}$/, { error: 'Three octal digits, such as "0400".' })
    .exactOptional()
    .meta({
      title: 'Permissions',
      description:
        'Of the files on the worker, such as "0400"; without it, as they were packed, for the owner alone.',
    }),
  description: z
    .string()
    .exactOptional()
    .meta({ title: 'Description', description: 'What it is for, in a sentence.' }),
});

/**
 * What a plugin brings along in its folder, and the kinds of resources that people put into the store for it.
 */
export const resourcesSchema = z
  .record(
    z
      .string()
      .regex(/^[A-Za-z][\w-]{0,62}$/, { error: 'Letters, digits, hyphens and underscores; a letter first.' }),
    declaredSchema,
  )
  .meta({
    title: 'Resources',
    description:
      'Files and folders that the plugin brings along ({path, format}), and kinds of those that people put into the store ({format, permissions}).',
  });

export type DeclaredResource = z.output<typeof declaredSchema>;

/** What stands for a resource in a field: as people write it, or bound to its content. */
export const resourceReferenceSchema = z
  .strictObject({
    resource: z.string().regex(resourceNamePattern, { error: resourceNameRule }),
    version: z.int().min(1).exactOptional(),
    digest: z
      .string()
      .regex(resourceDigestPattern, { error: 'sha256: and 64 hexadecimal digits.' })
      .exactOptional(),
    format: z.enum(resourceFormats).exactOptional(),
  })
  .meta({
    title: 'Resource',
    description:
      '{resource: NAME}: what `heddle resource list` shows; {resource: NAME, version: 3} for one version.',
  });

interface ResourceParts {
  readonly type: 'provider' | 'automator';
  readonly resources?: Readonly<Record<string, DeclaredResource>>;
  readonly fields?: Readonly<
    Record<
      'admin' | 'user',
      Readonly<
        Record<string, { readonly type: string; readonly resource?: string; readonly secret?: boolean }>
      >
    >
  >;
}

/** Declarations and the fields that take such resources fit together. */
export function checkResourceDeclarations({
  type,
  resources = {},
  fields,
}: ResourceParts): readonly Problem[] {
  const declared = Object.entries(resources).flatMap(([name, { path, format, permissions }]) => {
    const at = ['resources', name];
    if (path === undefined)
      return format === 'folder'
        ? [
            errorAt(
              [...at, 'format'],
              'is folder, and there is no path',
              'What people put into the store is a file or an archive.',
            ),
          ]
        : [];
    return [
      ...(format === 'archive'
        ? [
            errorAt(
              [...at, 'format'],
              'is archive, and there is a path',
              'What the plugin brings along is a file or a folder.',
            ),
          ]
        : []),
      ...(permissions === undefined
        ? []
        : [
            errorAt(
              [...at, 'permissions'],
              'belong to what people put into the store',
              'What the plugin brings along has its own.',
            ),
          ]),
    ];
  });
  const used = (['admin', 'user'] as const).flatMap((scope) =>
    Object.entries(fields?.[scope] ?? {}).flatMap(([key, field]) => {
      const at = ['fields', scope, key];
      if (field.resource === undefined)
        return field.type === 'resource'
          ? [
              errorAt(
                at,
                'takes a resource, and does not say which',
                'Name one of `resources` as its resource.',
              ),
            ]
          : [];
      const kind = resources[field.resource];
      if (scope === 'admin' || type === 'provider')
        return [errorAt(at, 'takes a resource', 'Only fields that users fill in for an automator can.')];
      if (field.type !== 'resource' && field.type !== 'string')
        return [
          errorAt(
            at,
            `takes a resource and is a ${field.type}`,
            'It is of type resource, or a string, where a text will do as well.',
          ),
        ];
      if (field.secret === true) return [errorAt(at, 'takes a resource and is a secret')];
      return kind === undefined || kind.path !== undefined
        ? [
            errorAt(
              [...at, 'resource'],
              `names ${field.resource}, which people cannot put into the store`,
              'Declare it under resources, with a format and without a path.',
            ),
          ]
        : [];
    }),
  );
  return [...declared, ...used];
}
