import { maxLabels } from './cluster/labels.js';
import {
  count,
  id,
  jsonObject,
  list,
  number,
  object,
  optional,
  outline,
  record,
  text,
  typed,
  type Fields,
  type Shape,
} from './shape.js';

/** Shapes that messages of several workflows have. */

/** A request that carries only the requester, and `more`. */
export function asked(): Shape<{ readonly by: string }>;
export function asked<const More extends Fields>(
  more: More,
): ReturnType<typeof object<More & { by: Shape<string> }>>;
export function asked(more: Fields = {}): Shape {
  return object({ by: who(), ...more });
}

/** Who requests it, as the client names itself. */
export function who(): Shape<string> {
  return text(200);
}

export function workflowId(): Shape<string> {
  return text(1_000);
}

/** Milliseconds since the epoch. */
export function moment(): Shape<number> {
  return number(0, 8.64e15);
}

export function milliseconds(): Shape<number> {
  return number(0, 30 * 24 * 3_600_000);
}

/** Checked by the planner, against what workers have. */
export function spec(): Shape<unknown> {
  return jsonObject(1_500_000);
}

/** The state that a run gets from the one before, which sealed it. */
export function carried<State>(fields: Fields): Shape<{ readonly carried: State }> {
  return typed(object({ carried: outline(fields) }));
}

export function machines(): Shape<readonly { readonly key: string; readonly providerid: string }[]> {
  return list(outline({ key: text(500), providerid: text(1_000, 0) }), 100_000);
}

/** A shell command, to be executed once on nodes. */
export function commandText(): Shape<string> {
  const fits = text(64 * 1024);
  return (value, at) =>
    fits(value, at) ??
    ((value as string).trim() === '' ? `${at}: is blank, and must be a shell command` : undefined);
}

/** A machine image and its revision. */
export function image(): Shape<{ readonly name: string; readonly revision: string }> {
  return object({ name: text(100), revision: text(100) });
}

export function groups(): Shape<readonly string[]> {
  return list(text(40), 20);
}

export function labels(): Shape<Readonly<Record<string, string>>> {
  return record(text(63), maxLabels);
}

export function requestIds(): Shape<readonly string[]> {
  return list(text(200), 100_000);
}

/** The version of the peers that the caller has, 0 for none, and after which node to continue. */
export function peersRequest(): Shape<{ readonly since: number; readonly after?: string }> {
  return object({ since: count(), after: optional(id()) });
}
