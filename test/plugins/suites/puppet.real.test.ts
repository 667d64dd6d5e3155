import { spawnSync } from 'node:child_process';
import { afterAll, describe, test } from 'vitest';
import { automatorSuite } from '../../../src/testing/index.js';

/** A resource that runs shell text, which Puppet hands on as it stands between single quotes. */
function manifest(text: string): string {
  const quoted = text.replaceAll('\\', '\\\\').replaceAll("'", "\\'");
  return `exec { 'what the suite asks for': command => '${quoted}', provider => shell, environment => "HOME=\${facts['heddle_home']}", logoutput => true, timeout => 0 }\n`;
}

if (spawnSync('puppet', ['--version']).status !== 0)
  test.skip('the suite: puppet is not installed: npm run setup:extras installs it');
else
  automatorSuite(
    { describe, test, afterAll },
    {
      name: 'puppet',
      script: (text, data) => ({ manifest: manifest(text), data }),
      patienceMs: 90_000,
      without: {
        data: 'a manifest has no standard input: data reaches it as the fact heddle_data, which its own test looks at',
        garbage: 'Puppet itself refuses output that is not text',
      },
    },
  );
