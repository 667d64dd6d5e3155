import type { Descriptor } from '../schema/descriptor.js';

/** A rule of docs/reference/plugins/contract.md, in the words of its table. */
export interface ContractRule {
  readonly of: 'all' | Descriptor['type'];
  readonly name: string;
  readonly text: string;
  /** The cases that test it. */
  readonly cases: readonly string[];
}

export const contractRules: readonly ContractRule[] = [
  {
    of: 'all',
    name: 'Repetition',
    text: 'MUST tolerate every call twice, and interruption at any point',
    cases: ['repetition', 'lost-create', 'lost-delete', 'once', 'lost-connection'],
  },
  { of: 'all', name: 'Results', text: "MUST return plain JSON; MUST NOT set Heddle's own keys", cases: [] },
  {
    of: 'all',
    name: 'Failures',
    text: 'MUST throw a PluginError of the right kind; SHOULD say what a user can do',
    cases: ['refusals', 'unreachable', 'wrong-flavor', 'wrong-credentials', 'failing'],
  },
  {
    of: 'all',
    name: 'Answers',
    text: 'MUST NOT treat a broken or missing answer as success, or as absence',
    cases: ['garbage'],
  },
  {
    of: 'all',
    name: 'Client',
    text: 'MAY keep a client open with a static start; MUST close everything in a static stop',
    cases: ['drain'],
  },
  { of: 'all', name: 'Signal', text: 'MUST pass signal to everything that waits', cases: ['cancel'] },
  {
    of: 'all',
    name: 'Secrets',
    text: 'MUST NOT return secrets of an account; MUST NOT print them in other encodings',
    cases: ['redaction'],
  },
  {
    of: 'all',
    name: 'Fields',
    text: 'MUST declare its fields and which are required, unless it uses the older form; SHOULD declare options and defaults',
    cases: ['missing-fields', 'wrong-fields'],
  },
  {
    of: 'provider',
    name: 'CREATE',
    text: 'MUST create at most one machine for a key; MUST tag it in the creating call if the provider has tags; SHOULD return before it is ready',
    cases: ['life', 'lost-create', 'same-moment'],
  },
  {
    of: 'provider',
    name: 'CONFIRM',
    text: 'MUST only read; MUST throw NotReady until it is ready; MUST return an address; SHOULD return the host key',
    cases: ['life', 'login', 'states'],
  },
  {
    of: 'provider',
    name: 'DELETE',
    text: 'MUST succeed for an absent machine; MUST fail if absence was not observed; MUST work with a key and no id',
    cases: ['absent', 'unreachable', 'wrong-credentials'],
  },
  {
    of: 'provider',
    name: 'Keys',
    text: "MUST act on a machine only after it verified the machine's key; an id alone MUST NOT be enough",
    cases: ['other-key', 'power-other-key', 'load-other-key', 'capture-other-key', 'unload-other-key'],
  },
  {
    of: 'provider',
    name: 'Abilities',
    text: 'SHOULD have list and find; MUST have find if its idempotency is name or tag; MUST NOT have a method that only throws; list MUST read all pages',
    cases: ['find', 'created', 'list', 'list-apart', 'list-pages', 'states', 'offers'],
  },
  {
    of: 'provider',
    name: 'API calls',
    text: 'SHOULD wait for calls.take() before each call of its API, and declare countsCalls',
    cases: ['counted'],
  },
  {
    of: 'provider',
    name: 'Steps',
    text: 'MUST complete a machine whose CREATE was interrupted, or not call it created; MAY create it by a table of steps',
    cases: ['half-made', 'lost-create', 'lost-delete'],
  },
  {
    of: 'automator',
    name: 'BOOTSTRAP',
    text: 'MUST be idempotent; MUST NOT change files of others, or its own when the node is prepared; SHOULD prepare only nodes that use it; MAY return without contact if it has nothing to do',
    cases: ['bootstrap', 'unreachable'],
  },
  {
    of: 'automator',
    name: 'Scripts',
    text: 'MUST change the node only through shell.run; MAY use shell.exec for repeatable commands',
    cases: ['once', 'lost-connection', 'cancel'],
  },
  {
    of: 'automator',
    name: 'Data',
    text: 'MUST pass script and data on byte for byte; MUST tolerate any output',
    cases: ['data', 'garbage'],
  },
  {
    of: 'automator',
    name: 'Exit codes',
    text: 'MUST throw ScriptFailed for a failed script',
    cases: ['failing'],
  },
  {
    of: 'automator',
    name: 'Accounts',
    text: 'MAY create accounts for users; MUST then keep at most one valid credential, and none after revocation',
    cases: ['access', 'tried'],
  },
];

/** The rules that a case tests; none for cases that only the page's list of cases describes. */
export function rulesOf(type: Descriptor['type'], id: string): readonly ContractRule[] {
  return contractRules.filter(({ of, cases }) => (of === 'all' || of === type) && cases.includes(id));
}
