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
        "Path in the plugin's folder, beginning with ./. Without it, users store resources of this kind (heddle resource put).",
    }),
  format: z
    .enum(['file', 'folder', 'archive'])
    .meta({
      title: 'Format',
      description:
        'file; folder, for resources that the plugin contains; archive, for resources that users store.',
    }),
  permissions: z
    .string()
    .regex(/^0?[0-7]{3}$/, { error: 'Three octal digits, such as "0400".' })
    .exactOptional()
    .meta({
      title: 'Permissions',
      description:
        'Permissions of the files on the worker, such as "0400". Default: those in the archive, restricted to the owner.',
    }),
  description: z
    .string()
    .exactOptional()
    .meta({ title: 'Description', description: 'Purpose of the resource, in one sentence.' }),
});

/**
 * Resources that a plugin contains in its folder, and kinds of resources that users store for it.
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
      'Files and folders that the plugin contains ({path, format}), and kinds of resources that users store ({format, permissions}).',
  });

export type DeclaredResource = z.output<typeof declaredSchema>;

/** A reference to a resource in a field: as users write it, or bound to its content. */
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
      'A resource of `heddle resource list`: {resource: NAME}, or {resource: NAME, version: 3} for one version.',
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

/** Checks declared resources, and the fields that accept them. */
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
              'is folder, which requires path',
              'Resources that users store are files or archives.',
            ),
          ]
        : [];
    return [
      ...(format === 'archive'
        ? [
            errorAt(
              [...at, 'format'],
              'is archive, which cannot be combined with path',
              'Resources that the plugin contains are files or folders.',
            ),
          ]
        : []),
      ...(permissions === undefined
        ? []
        : [
            errorAt(
              [...at, 'permissions'],
              'cannot be combined with path',
              'Files that the plugin contains have their own permissions.',
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
                'is of type resource, but has no resource',
                'Set resource to one of the declared resources.',
              ),
            ]
          : [];
      const kind = resources[field.resource];
      if (scope === 'admin' || type === 'provider')
        return [errorAt(at, 'cannot accept a resource', "Only users' fields of automators can.")];
      if (field.type !== 'resource' && field.type !== 'string')
        return [
          errorAt(
            at,
            `cannot accept a resource, because its type is ${field.type}`,
            'Set type to resource, or to string if it also accepts text.',
          ),
        ];
      if (field.secret === true)
        return [errorAt(at, 'cannot accept a resource, because it is a secret', 'Remove one of them.')];
      return kind === undefined || kind.path !== undefined
        ? [
            errorAt(
              [...at, 'resource'],
              `names ${field.resource}, which users cannot store`,
              'Declare it under resources, with format and without path.',
            ),
          ]
        : [];
    }),
  );
  return [...declared, ...used];
}
