import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseOptions } from '../../src/local/options.js';

describe('command line of the machine service', () => {
  it('needs only a data folder', () => {
    expect(parseOptions(['--data', 'some folder'])).toEqual({
      dataFolder: resolve('some folder'),
      port: 0,
      kind: 'auto',
      sshd: undefined,
      addressRange: undefined,
      bootDelayMs: 300,
      deleteDelayMs: 200,
      writeDelayMs: 0,
      pageSize: 1_000,
      isTemporary: false,
      logLevel: 'info',
    });
  });

  it.each([
    [[], '--data FOLDER is missing'],
    [['--data', 'd', '--kind', 'cloud'], "--kind must be one of auto, sandbox, directory, not 'cloud'"],
    [['--data', 'd', '--port', 'http'], '--port must be a whole number'],
    [['--data', 'd', '--port', '70000'], '--port must be a whole number from 0 to 65535'],
    [['--data', 'd', '--address-range', '10.0.0'], '--address-range must be 127.A.B'],
    [['--data', 'd', '--address-range', '127.1.8'], '--address-range must be 127.A.B'],
    [['--data', 'd', '--kind', 'directory', '--address', '0.0.0.0'], '--address must be one IPv4 address'],
    [['--data', 'd', '--kind', 'directory', '--address', 'host'], '--address must be one IPv4 address'],
    [['--data', 'd', '--address', '10.0.0.2'], '--address is for --kind directory'],
    [['--data', 'd', '--size', '3'], '--size'],
  ])('refuses %j', (args, text) => {
    expect(() => parseOptions(args)).toThrow(text);
  });
});
