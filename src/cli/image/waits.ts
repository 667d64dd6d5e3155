import type { ImageView } from '../../schema/output/image.js';
import { siteOf } from '../../model/names.js';
import type { ActivityView, ServerView } from '../../schema/output/status.js';

/** A task that a worker takes sooner is not reported, in ms. */
const quietMs = 2_000;

/** What the work on an image waits for, a line each; empty if nothing is known. */
export function waitsOf(view: ImageView | undefined, server: ServerView, now: number): readonly string[] {
  return [
    ...server.activities.flatMap((activity) => waitOf(activity, server, now) ?? []),
    ...(view === undefined ? [] : waitsOfView(view)),
  ];
}

function waitOf(
  { title, state, queue = '', since, step, failure }: ActivityView,
  { queues }: ServerView,
  now: number,
): string | undefined {
  if (state === 'waits for a worker' && failure === undefined) {
    if (now - Date.parse(since) < quietMs) return undefined;
    const isPolled = queues.some(
      (known) => known.queue === queue && known.tasks === 'activities' && known.workers > 0,
    );
    const whom = `a ${isBuilderQueue(queue) ? 'builder' : 'worker'} of site ${siteOf(queue)}`;
    if (isPolled) return `${title} waits for ${whom}: all are busy`;
    const start = isBuilderQueue(queue) ? 'heddle builder start' : 'heddle worker';
    return `${title} waits for ${whom}: none polls queue ${queue}; next: ${start}`;
  }
  if (state === 'under way' && step !== undefined) return `${title}: ${step}`;
  if (failure === undefined) return undefined;
  const message = failure.message.startsWith(`${title}: `)
    ? failure.message.slice(title.length + 2)
    : failure.message;
  return `${title} is being retried (${failure.kind}): ${message.split('\n')[0] ?? ''}`;
}

function waitsOfView({ name, builds, machines, paused, request, leaving }: ImageView): readonly string[] {
  return [
    ...(paused === undefined || request === undefined || leaving !== undefined
      ? []
      : [`it is paused (${paused.why}); the request stays until heddle image resume ${name}`]),
    ...builds.flatMap(({ number, uploads }) =>
      uploads.flatMap(({ provider, state, why }) =>
        why === undefined || (state !== 'deleting' && state !== 'waiting')
          ? []
          : [
              state === 'waiting'
                ? `build ${number} waits: ${why}`
                : `build ${number} could not be deleted at ${provider} and is being retried: ${why}`,
            ],
      ),
    ),
    ...(leaving === undefined ? [] : machines.map((machine) => `machine ${machine} is being deleted`)),
  ];
}

function isBuilderQueue(queue: string): boolean {
  return queue.endsWith('/build') || queue.endsWith('/upload');
}
