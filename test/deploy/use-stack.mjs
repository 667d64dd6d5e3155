// @ts-check
import { run, waitFor } from './processes.mjs';

/**
 * @typedef {object} Stack
 * @property {(name: string) => { words: readonly string[], options: { cwd: string, environment:
 * Readonly<Record<string, string>> } }} here
 * @property {(text: string) => string} rewrite
 * @property {Readonly<Record<string, string>>} secrets
 * @property {(line: string) => void} passed
 * @property {() => Promise<void>} restartServer
 */

/** What a person would do with the stack, and what must be true of it then. @param {Stack} stack */
export async function useStack({ here, rewrite, secrets, passed, restartServer }) {
  const { words, options } = here('heddle');
  const cli = words[0] ?? 'heddle';
  /** @param {readonly string[]} args */
  const heddle = (...args) => run([cli, ...args], { ...options, limitMs: 180_000 });
  /** @param {readonly string[]} args */
  const temporal = (...args) => run(['temporal', ...args], options);

  const ui = rewrite('http://127.0.0.1:8080');
  const codec = `${rewrite('http://127.0.0.1:8081')}/${secrets['HEDDLE_CODEC_TOKEN']}`;
  const settings = await (await fetch(`${ui}/api/v1/settings`)).text();
  expect(
    !settings.includes(secrets['HEDDLE_CODEC_TOKEN'] ?? ''),
    'the Web UI does not hold the token of the codec server',
  );
  expect(JSON.parse(settings).DisableWriteActions === false, 'the Web UI may change things');
  passed('the Web UI answers, keeps no token of the codec server, and may change things');

  /** @param {string} origin */
  const decodeFrom = async (origin) =>
    (
      await fetch(`${codec}/decode`, {
        method: 'POST',
        body: '{"payloads":[]}',
        headers: { origin, 'content-type': 'application/json', 'x-namespace': 'default' },
      })
    ).status;
  expect(
    (await decodeFrom('http://evil.invalid')) === 403 && (await decodeFrom(ui)) === 200,
    "the codec server answers the Web UI's page alone",
  );
  passed("the codec server answers the Web UI's page and no other");

  await heddle('apply', 'examples/web.yaml', '--no-wait');
  await restartServer();
  await waitFor('the server', () => temporal('operator', 'cluster', 'health'));
  passed('the Temporal server is killed while six nodes are on their way, and started again');

  // The same spec again: it waits for the operation that is under way.
  await heddle('apply', 'examples/web.yaml');
  const { nodes, history } = JSON.parse(await heddle('status', 'web', '--json'));
  const states = nodes.map((/** @type {{ state: string }} */ node) => node.state);
  expect(
    states.length === 6 && states.every((/** @type {string} */ state) => state === 'ready'),
    `six nodes are ready, not ${states}`,
  );
  expect(history.length === 1, `one operation did it, not ${history.length}`);
  passed('the operation goes on to its end: six nodes are ready');

  const show = ['workflow', 'show', '--workflow-id', 'cluster/web', '--output', 'json'];
  const raw = payloadsOf(await temporal(...show));
  const shown = payloadsOf(await temporal(...show, '--codec-endpoint', codec));
  expect(
    !raw.includes('ipaddress') && shown.includes('ipaddress'),
    'payloads are readable with the key alone',
  );
  passed('the server holds nothing readable, and the codec server shows it');

  await heddle('delete', 'web', '--yes');
  const { clusters } = JSON.parse(await heddle('list', '--json'));
  expect(clusters.length === 0, 'no cluster is left');
  passed('heddle delete leaves no cluster');
}

/** What the payloads of a history hold. @param {string} history */
function payloadsOf(history) {
  return [...history.matchAll(/"data": "([^"]+)"/g)]
    .map(([, data]) => Buffer.from(data ?? '', 'base64').toString('latin1'))
    .join('\n');
}

/** @param {boolean} truth @param {string} what */
function expect(truth, what) {
  if (!truth) throw new Error(`should be so, and is not: ${what}`);
}
