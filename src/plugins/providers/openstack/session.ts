import { createHash } from 'node:crypto';
import { z } from 'zod';
import { isUnprotected, withoutUserInfo } from '../../../model/endpoint.js';
import { PluginError, type Calls } from '../../contract.js';
import type { OpenStackFields } from './field-types.js';
import type { HttpResponse } from '../../provider-base/http.js';
import { readBody, refusal, send, type HttpCall } from './http.js';

const tokenSchema = z.object({
  token: z.object({
    expires_at: z.string(),
    catalog: z.array(
      z.object({
        type: z.string(),
        endpoints: z.array(
          z.object({
            interface: z.string(),
            region_id: z.string().nullish(),
            region: z.string().nullish(),
            url: z.string(),
          }),
        ),
      }),
    ),
  }),
});

interface Token {
  readonly id: string;
  readonly expiresAt: number;
  readonly catalog: z.output<typeof tokenSchema>['token']['catalog'];
}

export type Service = 'compute' | 'network' | 'image';

type ServiceCall = Omit<HttpCall, 'url'> & { readonly path: string };

interface Sent {
  readonly answer: HttpResponse;
  readonly sent: HttpCall;
}

/** Versions that the catalogue leaves out of addresses. */
const versions: Readonly<Partial<Record<Service, string>>> = { network: '/v2.0', image: '/v2' };

/** Tags in the creating call, since Pike. */
const microversion = '2.52';

/** A token is not used in the last minutes of its life, in ms. */
const marginMs = 5 * 60_000;

/** Tokens of this process, by account: Keystone is not asked for each call. */
const tokens = new Map<string, Token>();

/** Calls of an account's services, with a token of Keystone. */
export class Session {
  readonly #fields: OpenStackFields;
  readonly #signal: AbortSignal;
  readonly #calls: Calls;

  constructor(fields: OpenStackFields, signal: AbortSignal, calls: Calls) {
    this.#fields = fields;
    this.#signal = signal;
    this.#calls = calls;
  }

  /** Tells accounts apart; a hash, with nothing secret to be read in it. */
  get account(): string {
    return keyOf(this.#fields);
  }

  /** The answer in this shape. @throws PluginError for every answer but 2xx. */
  async read<Schema extends z.ZodType>(
    schema: Schema,
    service: Service,
    call: ServiceCall,
  ): Promise<z.output<Schema>> {
    const { answer, sent } = await this.#call(service, call);
    if (answer.status >= 300) throw refusal(answer, sent);
    return readBody(schema, answer, sent);
  }

  /** Undefined if the service itself reports that it does not exist. */
  async find<Schema extends z.ZodType>(
    schema: Schema,
    service: Service,
    path: string,
  ): Promise<z.output<Schema> | undefined> {
    const { answer, sent } = await this.#call(service, { method: 'GET', path });
    if (answer.status === 404) return isAbsence(answer, sent);
    if (answer.status >= 300) throw refusal(answer, sent);
    return readBody(schema, answer, sent);
  }

  /** Whether there was anything to delete. */
  async remove(service: Service, path: string): Promise<boolean> {
    const { answer, sent } = await this.#call(service, { method: 'DELETE', path });
    if (answer.status === 404) {
      isAbsence(answer, sent);
      return false;
    }
    if (answer.status !== 204 && answer.status !== 202)
      throw answer.status < 300
        ? new PluginError(
            'Retryable',
            `DELETE ${path} was answered with ${answer.status}, which is not a response of OpenStack`,
          )
        : refusal(answer, sent);
    return true;
  }

  async #call(service: Service, { path, headers, ...call }: ServiceCall): Promise<Sent> {
    const attempt = async (token: Token): Promise<Sent> => {
      const sent: HttpCall = {
        ...call,
        url: `${this.#endpointOf(token, service)}${path}`,
        headers: {
          'x-auth-token': token.id,
          ...(service === 'compute' ? { 'openstack-api-version': `compute ${microversion}` } : {}),
          ...headers,
        },
      };
      return { answer: await send(sent, this.#signal, this.#calls), sent };
    };
    const key = keyOf(this.#fields);
    const known = tokens.get(key);
    const first = await attempt(
      known !== undefined && known.expiresAt - Date.now() > marginMs ? known : await this.#logIn(),
    );
    // The token may have been revoked before it expired.
    if (first.answer.status !== 401 || known === undefined) return first;
    tokens.delete(key);
    return attempt(await this.#logIn());
  }

  /** A catalog that cannot be used is read again at the next call, when it may have been corrected. */
  #endpointOf(token: Token, service: Service): string {
    try {
      return endpointOf(token, service, this.#fields);
    } catch (error) {
      tokens.delete(keyOf(this.#fields));
      throw error;
    }
  }

  async #logIn(): Promise<Token> {
    const { authUrl } = this.#fields;
    const call: HttpCall = {
      method: 'POST',
      url: `${withVersion(authUrl)}/auth/tokens`,
      body: { auth: identityOf(this.#fields) },
    };
    const answer = await send(call, this.#signal, this.#calls);
    if (answer.status >= 300) throw refusal(answer, call);
    const { token } = readBody(tokenSchema, answer, call);
    const id = answer.headers['x-subject-token'];
    const expiresAt = Date.parse(token.expires_at);
    if (typeof id !== 'string' || Number.isNaN(expiresAt))
      throw new PluginError('Retryable', `Keystone at ${authUrl} returned no token. Is that its address?`);
    const made = { id, expiresAt, catalog: token.catalog };
    tokens.set(keyOf(this.#fields), made);
    return made;
  }
}

/** A 404 of something else than the service, such as a proxy, says nothing. */
function isAbsence(answer: HttpResponse, call: HttpCall): undefined {
  const says = z.union([
    z.object({ itemNotFound: z.looseObject({}) }),
    z.object({ NeutronError: z.looseObject({}) }),
    // Of Glance.
    z.object({ code: z.string().startsWith('404'), title: z.string() }),
  ]);
  if (!says.safeParse(answer.json).success)
    throw new PluginError(
      'Retryable',
      `${call.method} ${new URL(call.url).pathname} was answered with a 404 that is not from OpenStack. Is the address in the service catalog correct?`,
    );
  return undefined;
}

function identityOf({
  applicationCredentialId,
  applicationCredentialSecret,
  username,
  password,
  project,
  userDomain,
  projectDomain,
}: OpenStackFields): object {
  if (applicationCredentialId !== undefined)
    return {
      identity: {
        methods: ['application_credential'],
        application_credential: { id: applicationCredentialId, secret: applicationCredentialSecret },
      },
    };
  return {
    identity: {
      methods: ['password'],
      password: { user: { name: username, password, domain: { name: userDomain } } },
    },
    scope: { project: { name: project, domain: { name: projectDomain } } },
  };
}

function endpointOf(
  { catalog }: Token,
  service: Service,
  { region, interface: side, gateway, authUrl, insecure }: OpenStackFields,
): string {
  const endpoints = catalog
    .filter(({ type }) => type === service)
    .flatMap((entry) => entry.endpoints)
    .filter(
      (one) =>
        one.interface === side && (region === undefined || one.region_id === region || one.region === region),
    );
  const regions = [...new Set(endpoints.map((one) => one.region_id ?? one.region ?? ''))];
  const [first] = endpoints;
  if (first === undefined)
    throw new PluginError(
      'Invalid',
      `the catalog of ${authUrl} has no ${side} endpoint of the service ${service}${region === undefined ? '' : ` in region ${region}`}`,
    );
  if (regions.length > 1)
    throw new PluginError(
      'Invalid',
      `the catalog of ${authUrl} has several regions (${regions.join(', ')}): set the field region`,
    );
  const url = URL.canParse(first.url) ? new URL(first.url) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw new PluginError(
      'Invalid',
      `the catalog of ${authUrl} names ${JSON.stringify(withoutUserInfo(first.url.slice(0, 200)))} for the service ${service}, which is not an address of HTTP. Change the ${side} endpoint in the catalog to https://HOST:PORT/PATH`,
    );
  if (!gateway && !insecure && isUnprotected(first.url)) {
    throw new PluginError(
      'Invalid',
      `the catalog of ${authUrl} names ${url.origin} for the service ${service}, which is not encrypted: the network could read the token. Change the catalog to https://, or set \`insecure: true\``,
    );
  }
  const given = url.pathname.replace(/\/$/, '');
  const path = /\/v\d(\.\d+)?(\/|$)/.test(given) ? given : `${given}${versions[service] ?? ''}`;
  return `${gateway ? new URL(authUrl).origin : url.origin}${path}`;
}

function withVersion(authUrl: string): string {
  const given = authUrl.replace(/\/$/, '');
  return /\/v3$/.test(given) ? given : `${given}/v3`;
}

/** Other credentials are another account. */
function keyOf(fields: OpenStackFields): string {
  return createHash('sha256')
    .update(JSON.stringify([fields.authUrl, identityOf(fields)]))
    .digest('hex');
}
