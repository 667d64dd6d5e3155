import type { Json } from '../../model/json.js';
import { pinReference, type Catalogue } from '../../model/artifact/state.js';
import { readResourceReference } from '../../model/artifact/reference.js';
import type { ClusterSpec, ServiceActionSpec, ServiceSpec } from '../../model/cluster/spec.js';

/** Whether a spec names any resource that is not bound to its content yet. */
export function namesResources({ services }: ClusterSpec): boolean {
  return Object.values(services).some(({ actions }) =>
    Object.values(actions).some(({ fields }) =>
      Object.values(fields).some((field) => readResourceReference(field) !== undefined),
    ),
  );
}

/**
 * The spec with each `{resource: NAME}` in a field of a service's action bound to the content that the name
 * means. From then on the spec says exactly what a cluster uses; another meaning of the name is another spec,
 * which planning sees as a change.
 */
export function pinResources(spec: ClusterSpec, catalogue: Catalogue): ClusterSpec {
  const pinField = (field: Json): Json => {
    const reference = readResourceReference(field);
    const pinned = reference === undefined ? undefined : pinReference(catalogue, reference);
    return pinned === undefined ? field : { ...pinned };
  };
  const pinAction = (action: ServiceActionSpec): ServiceActionSpec => ({
    ...action,
    fields: mapValues(action.fields, pinField),
  });
  const pinService = (service: ServiceSpec): ServiceSpec => ({
    ...service,
    actions: mapValues(service.actions, pinAction),
  });
  return { ...spec, services: mapValues(spec.services, pinService) };
}

function mapValues<From, To>(
  object: Readonly<Record<string, From>>,
  change: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}
