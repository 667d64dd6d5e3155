import { afterAll, describe, test } from 'vitest';
import { automatorSuite } from '../../../src/testing/index.js';
import { composeIsMissing, startPodmanCompose } from '../automators/compose/support/podman-compose.js';

const missing = composeIsMissing();

if (missing !== undefined) test.skip(`automator compose: ${missing}`);
else {
  const { podman, admin } = await startPodmanCompose();
  // Shell text runs in a container with the node's own processes and home.
  const file = `
services:
  suite:
    image: ${podman.image}
    network_mode: host
    pid: host
    volumes: ["\${HOME}:\${HOME}", "\${HEDDLE_RESULT}:\${HEDDLE_RESULT}"]
    environment: {HOME: "\${HOME}", HEDDLE_RESULT: "\${HEDDLE_RESULT}"}
`;
  automatorSuite(
    { describe, test, afterAll },
    {
      name: 'compose',
      admin,
      script: (text, data) => ({ file, run: { service: 'suite', command: ['/bin/sh', '-c', text] }, data }),
      patienceMs: 90_000,
      without: { 'missing-fields': 'an action may go on with the compose file that the node keeps' },
    },
  );
  afterAll(() => podman.close());
}
