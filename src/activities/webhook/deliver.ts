import { activityInfo } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Delivery, DeliveryReply } from '../../model/webhook.js';
import type { Settings } from '../../schema/config.js';
import type { ActivityParts } from '../parts.js';
import { signedHeaders } from './sign.js';

export interface WebhookParts extends Pick<ActivityParts, 'log' | 'resolveSecrets'> {
  /** Only administrators write them, so their addresses are trusted. */
  readonly settings: Pick<Settings, 'webhooks'>;
}

/** Longest time that a receiver has, in ms. */
const patienceMs = 20_000;
/** Longest delay that a receiver can request, in ms. */
const maxDelayMs = 3_600_000;

/** The activity DELIVER: one attempt to deliver an event to a webhook. */
export async function deliver(parts: WebhookParts, { webhook, event }: Delivery): Promise<DeliveryReply> {
  const account = parts.settings.webhooks[webhook];
  if (account === undefined)
    throw failed(
      `${event.type} was not delivered: heddle.yaml of this worker has no webhook ${webhook}. All workers that serve the queue heddle/core need the same webhooks`,
    );
  try {
    const status = await post(account.url, await sign(parts, webhook, event));
    return { status, attempts: activityInfo().attempt };
  } catch (error) {
    parts.log.warn({ webhook, event: event.id }, error instanceof Error ? error.message : String(error));
    throw error;
  }
}

interface Message {
  readonly webhook: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The timestamp is that of the attempt: receivers refuse old ones, which may have been recorded. */
async function sign(
  { resolveSecrets, settings: { webhooks } }: WebhookParts,
  webhook: string,
  { id, ...event }: Delivery['event'],
): Promise<Message> {
  const place = `webhooks.${webhook}.secret`;
  const { value } = await resolveSecrets(webhooks[webhook]?.secret ?? null, {
    writtenBy: 'administrator',
    place,
  });
  const body = JSON.stringify(event);
  const timestamp = Math.floor(Date.now() / 1_000);
  const headers = signedHeaders(typeof value === 'string' ? value : '', { id, timestamp, body });
  if (headers !== undefined) return { webhook, headers, body };
  throw failed(
    `${place} is not a valid webhook secret, which consists of whsec_ and 24 to 64 bytes in Base64, such as the output of: echo "whsec_$(openssl rand -base64 32)"`,
  );
}

/**
 * @throws ApplicationFailure for any answer but success; it never contains the address, which
 * may hold a token.
 */
async function post(url: string, { webhook, headers, body }: Message): Promise<number> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': 'heddle', ...headers },
    body,
    signal: AbortSignal.timeout(patienceMs),
    redirect: 'manual',
  }).catch((error: unknown) => {
    throw failed(`${webhook} did not answer: ${reasonOf(error)}`);
  });
  // Nothing is read of it, but a body that is not taken keeps the connection.
  await response.body?.cancel();
  const { status } = response;
  if (response.ok) return status;
  // By the specification such a receiver wants no further messages.
  if (status === 410) throw ApplicationFailure.nonRetryable(`${webhook} answered 410: it is gone`, 'Invalid');
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  throw failed(`${webhook} answered ${status}`, seconds > 0 ? seconds * 1_000 : undefined);
}

function failed(message: string, delayMs?: number): ApplicationFailure {
  const nextRetryDelay = delayMs === undefined ? undefined : Math.min(delayMs, maxDelayMs);
  return ApplicationFailure.create({ message, type: 'Retryable', nextRetryDelay });
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && cause.message !== '' ? cause.message : message;
}
