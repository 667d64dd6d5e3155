import { createHash } from 'node:crypto';
import { AwsClient } from 'aws4fetch';
import { XMLParser } from 'fast-xml-parser';
import { anySignal } from '../../model/signals.js';
import { StoreError, type ByteRange } from '../store.js';

/** A bucket of an object store with Amazon's S3 API. */
export interface BucketSettings {
  /** Such as `https://s3.eu-central-1.amazonaws.com`. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  /** Prefix of all keys: empty, or with a slash at its end. */
  readonly prefix: string;
}

export interface BucketCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface StoredObject {
  /** Without the bucket's prefix. */
  readonly key: string;
  readonly size: number;
  /** When it was stored, in ms since the epoch. */
  readonly storedAt: number;
}

export interface Bucket {
  /** The location, for users. */
  readonly place: string;
  put(key: string, content: Uint8Array, signal?: AbortSignal): Promise<void>;
  /** All objects whose keys begin with the prefix, in the order of their keys. */
  list(prefix: string): Promise<readonly StoredObject[]>;
  /** The names of the folders directly below the prefix, which ends with a slash. */
  listFolders(prefix: string): Promise<readonly string[]>;
  read(key: string, range: ByteRange): Promise<Uint8Array>;
}

/** Timeout of one request, in ms. */
const requestMs = 30_000;
/** Interval after which credentials are read again, in ms. */
const credentialsMs = 60_000;

/** @param readCredentials called periodically, and after each refusal. */
export function openBucket(
  settings: BucketSettings,
  readCredentials: () => Promise<BucketCredentials>,
): Bucket {
  const { endpoint, bucket, region, prefix } = settings;
  const root = `${endpoint.replace(/\/+$/, '')}/${bucket}`;
  const place = `bucket ${bucket} at ${endpoint}`;
  let known: { readonly client: AwsClient; readonly until: number } | undefined;

  const client = async (): Promise<AwsClient> => {
    if (known === undefined || Date.now() > known.until)
      known = {
        client: new AwsClient({ ...(await readCredentials()), service: 's3', region, retries: 0 }),
        until: Date.now() + credentialsMs,
      };
    return known.client;
  };

  /** @throws StoreError for every response except success. */
  const request = async (what: string, url: string, init: RequestInit = {}): Promise<Response> => {
    const { signal } = init;
    const limit = AbortSignal.timeout(requestMs);
    const response = await (
      await client()
    )
      // A redirect would send the signed request to another host.
      .fetch(url, { ...init, redirect: 'manual', signal: anySignal(signal ? [signal, limit] : [limit]) })
      .catch((cause: unknown) => {
        throw new StoreError(`${what}: ${place} does not answer: ${reasonOf(cause)}`, { cause });
      });
    if (response.ok) return response;
    if (response.status === 401 || response.status === 403) known = undefined;
    const location = response.headers.get('location');
    const why =
      location === null
        ? describeRefusal(await response.text().catch(() => ''))
        : ` and redirects to ${location.slice(0, 200)}; if that is correct, set it as the endpoint`;
    throw new StoreError(`${what}: ${place} answers ${response.status}${why}`);
  };

  const readPages = async (wanted: Readonly<Record<string, string>>): Promise<readonly Page[]> => {
    const pages: Page[] = [];
    for (let token: string | undefined = ''; token !== undefined;) {
      const query = new URLSearchParams({ 'list-type': '2', ...wanted });
      if (token !== '') query.set('continuation-token', token);
      const response = await request('listing logs failed', `${root}?${query.toString()}`);
      const page = parsePage(await response.text(), place);
      pages.push(page);
      token = page.next;
    }
    return pages;
  };

  return {
    place,
    async put(key, content, signal) {
      const sha256 = createHash('sha256').update(content).digest('hex');
      const headers = { 'content-type': 'application/x-ndjson', 'x-amz-content-sha256': sha256 };
      const body = Buffer.from(content);
      const url = `${root}/${encodeKey(prefix + key)}`;
      await (
        await request('sending a log failed', url, { method: 'PUT', body, headers, signal })
      ).arrayBuffer();
    },
    async list(from) {
      const pages = await readPages({ prefix: prefix + from });
      return pages.flatMap(({ objects }) =>
        objects.map((object) => ({ ...object, key: object.key.slice(prefix.length) })),
      );
    },
    async listFolders(from) {
      const pages = await readPages({ prefix: prefix + from, delimiter: '/' });
      return pages.flatMap(({ folders }) =>
        folders.map((folder) => folder.slice(prefix.length + from.length, -1)),
      );
    },
    async read(key, { offset, length }) {
      if (length === 0) return new Uint8Array();
      const headers = { range: `bytes=${offset}-${offset + length - 1}` };
      const response = await request('reading a log failed', `${root}/${encodeKey(prefix + key)}`, {
        headers,
      });
      return new Uint8Array(await response.arrayBuffer());
    },
  };
}

function encodeKey(key: string): string {
  return key.split('/').map(encodeURIComponent).join('/');
}

const parser = new XMLParser({
  parseTagValue: false,
  isArray: (name) => /^(Contents|CommonPrefixes)$/.test(name),
});

interface Page {
  readonly objects: readonly StoredObject[];
  readonly folders: readonly string[];
  /** Where the next page begins. */
  readonly next?: string;
}

interface ListBucketResult {
  readonly IsTruncated?: string;
  readonly NextContinuationToken?: string;
  readonly Contents?: readonly {
    readonly Key?: string;
    readonly Size?: string;
    readonly LastModified?: string;
  }[];
  readonly CommonPrefixes?: readonly { readonly Prefix?: string }[];
}

function parsePage(xml: string, place: string): Page {
  const { ListBucketResult: page } = parse<{ readonly ListBucketResult?: ListBucketResult | '' }>(xml);
  if (page === undefined || page === '')
    throw new StoreError(`listing logs failed: ${place} does not respond like S3; check its endpoint`);
  const objects = (page.Contents ?? []).map(({ Key: key = '', Size: size, LastModified: stored = '' }) => ({
    key,
    size: Number(size),
    storedAt: Date.parse(stored) || Infinity,
  }));
  const folders = (page.CommonPrefixes ?? []).map(({ Prefix: folder = '' }) => folder);
  return { objects, folders, next: page.IsTruncated === 'true' ? page.NextContinuationToken : undefined };
}

function describeRefusal(body: string): string {
  const { Error: error } = parse<{ readonly Error?: { readonly Code?: string; readonly Message?: string } }>(
    body,
  );
  const words = [error?.Code, error?.Message].filter((word) => word !== undefined).join(': ');
  return words === '' ? '' : ` (${words.slice(0, 300)})`;
}

/** Returns no elements for text that is not XML. */
function parse<Document>(xml: string): Partial<Document> {
  try {
    return parser.parse(xml) as Partial<Document>;
  } catch {
    return {};
  }
}

/** The reason of a `fetch failed` error is in its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message || error.name;
}
