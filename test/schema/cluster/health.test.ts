import { describe, expect, test } from 'vitest';
import { probeOf } from '../../../src/model/node/health.js';
import { parseSpec } from '../../../src/schema/cluster/read.js';
import { formatProblem } from '../../../src/schema/problem.js';

function read(check: unknown, actions: object = { start: { type: 'shell', fields: { script: 'x' } } }) {
  const reading = parseSpec({
    name: 'web',
    nodes: { app: { count: 1, provider: 'p', services: ['s'] } },
    services: { s: { check, actions } },
  });
  return {
    check: reading.ok ? reading.spec.services['s']?.check : undefined,
    spec: reading.ok ? reading.spec : undefined,
    said: (reading.ok ? reading.warnings : reading.problems).map(formatProblem),
  };
}

const patience = { within: 60, every: 1, timeout: 5 };

describe('the check of a service', () => {
  test.each([
    [
      { command: 'pg_isready -q' },
      { probe: { kind: 'command', command: 'pg_isready -q', sudo: false }, ...patience },
    ],
    [
      { command: 'true', sudo: true },
      { probe: { kind: 'command', command: 'true', sudo: true }, ...patience },
    ],
    [{ tcp: 5432 }, { probe: { kind: 'tcp', host: '127.0.0.1', port: 5432 }, ...patience }],
    [
      { tcp: 'node:5432', within: '2m', every: 2, timeout: '500ms' },
      { probe: { kind: 'tcp', host: 'node', port: 5432 }, within: 120, every: 2, timeout: 0.5 },
    ],
    [{ tcp: '[::1]:80' }, { probe: { kind: 'tcp', host: '[::1]', port: 80 }, ...patience }],
    [
      { http: 'https://node:8443/health?full=1' },
      { probe: { kind: 'http', url: 'https://node:8443/health?full=1' }, ...patience },
    ],
  ])('%j is read', (written, closed) => {
    const { check, spec, said } = read(written);
    const { probe, ...patience } = closed;
    expect(said).toEqual([]);
    expect(check).toMatchObject(patience);
    expect(check && probeOf(check)).toEqual(probe);
    // What a client sends is read again by the workers.
    expect(parseSpec(spec)).toMatchObject({ ok: true });
  });

  test.each([
    [{}, 'must have one of command, tcp and http'],
    [{ tcp: 80, http: 'http://node/' }, 'must have one of command, tcp and http'],
    [{ tcp: 80, sudo: true }, 'has sudo, which requires command'],
    [{ tcp: 70_000 }, 'services.s.check.tcp'],
    [{ tcp: 'node' }, 'services.s.check.tcp'],
    [{ tcp: '$(id):80' }, 'services.s.check.tcp'],
    [{ http: 'ftp://node/' }, 'services.s.check.http'],
    [{ http: 'http://user:password@node/' }, 'services.s.check.http'],
    [{ command: ' ' }, 'services.s.check.command'],
    [{ tcp: 80, every: 'often' }, 'services.s.check.every'],
    [{ tpc: 80 }, 'Did you mean "tcp"?'],
  ])('%j is refused', (written, named) => {
    expect(read(written).said.join('\n')).toContain(named);
  });

  test('without a start action is a warning: nothing waits for it', () => {
    expect(read({ tcp: 80 }, { install: { type: 'shell', fields: { script: 'x' } } }).said).toEqual([
      expect.stringContaining(
        'services.s.check: has no effect on START, because the service has no start action',
      ),
    ]);
  });
});
