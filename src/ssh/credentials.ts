import ssh2, {
  type AnyAuthMethod,
  type IdentityCallback,
  type ParsedKey,
  type SignCallback,
  type SigningRequestOptions,
} from 'ssh2';
import { PluginError } from '../plugins/errors.js';
import { describeTarget, remedyFor, type SshTarget } from './target.js';

// Node cannot name these exports of a CommonJS module by itself.
const { BaseAgent, createAgent, utils } = ssh2;

const sha1Refused =
  'the server accepts RSA keys only with SHA-1 signatures, which are refused; use an ed25519 key or a newer server';

/**
 * The login methods that the target's credentials allow, strongest first.
 * @throws PluginError Auth if there is none, Invalid if the key cannot be read.
 */
export function authMethods(target: SshTarget): AnyAuthMethod[] {
  const { user: username, privateKey, agent, password } = target;
  const methods: AnyAuthMethod[] = [];
  if (privateKey !== undefined)
    methods.push({ type: 'publickey', username, key: readPrivateKey(target, privateKey) });
  if (agent !== undefined) methods.push({ type: 'agent', username, agent: new Sha2Agent(agent) });
  if (password !== undefined) {
    methods.push({ type: 'password', username, password });
    // Servers that leave passwords to PAM ask for them this way. Only a single hidden prompt gets the
    // password.
    methods.push({
      type: 'keyboard-interactive',
      username,
      prompt: (_name, _instructions, _language, prompts, finish) => {
        finish(prompts.length === 1 && prompts[0]?.echo !== true ? [password] : []);
      },
    });
  }
  if (methods.length > 0) return methods;
  throw new PluginError(
    'Auth',
    `no credential to log in as ${describeTarget(target)}: specify a private key, an agent or a password`,
    remedyFor(target, 'add `keyFile`, `agent` or `password`', 'login'),
  );
}

const privateKeyRemedy = 'replace the private key';

function readPrivateKey(target: SshTarget, text: string): ParsedKey {
  const key = utils.parseKey(text, target.passphrase);
  if (key instanceof Error) {
    throw new PluginError(
      'Invalid',
      `the private key for ${describeTarget(target)} cannot be read: ${key.message}`,
      { cause: key, ...remedyFor(target, privateKeyRemedy, 'login') },
    );
  }
  if (!key.isPrivateKey()) {
    throw new PluginError(
      'Invalid',
      `the private key for ${describeTarget(target)} is a public key; specify the private key`,
      remedyFor(target, privateKeyRemedy, 'login'),
    );
  }
  const sign = key.sign.bind(key);
  // ssh2 falls back to SHA-1 for RSA when the server names no better algorithm.
  key.sign = (data, algorithm) => {
    if (algorithm === 'sha1') throw new Error(sha1Refused);
    return sign(data, algorithm);
  };
  return key;
}

/** An agent that signs, but never with SHA-1. */
class Sha2Agent extends BaseAgent {
  readonly #agent: InstanceType<typeof BaseAgent>;

  constructor(socketPath: string) {
    super();
    this.#agent = createAgent(socketPath);
  }

  override getIdentities(callback: IdentityCallback<ParsedKey | Buffer | string>): void {
    this.#agent.getIdentities(callback);
  }

  override sign(
    key: ParsedKey | Buffer | string,
    data: Buffer,
    options: SigningRequestOptions | SignCallback,
    callback?: SignCallback,
  ): void {
    if (typeof options === 'function') this.#agent.sign(key, data, options);
    else if (options.hash === 'sha1') callback?.(new Error(sha1Refused));
    else this.#agent.sign(key, data, options, callback);
  }
}
