import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { contextOf } from '../../../../src/cli/provider-call.js';
import { childEnvironment } from '../../../../src/config/child-environment.js';
import type { JsonObject } from '../../../../src/model/json.js';
import type { ConsoleCommand } from '../../../../src/plugins/contract.js';
import { RedfishProvider } from '../../../../src/plugins/providers/redfish/redfish.js';
import { loadRegistry } from '../../../../src/plugins/registry.js';
import { hasTerminal } from '../../../harness/cli/terminal.js';
import { addToRedfish, type AddedTo } from '../../../harness/bmc/redfish-additions.js';
import { noRedfish, type RedfishService, startRedfish } from '../../../harness/bmc/redfish.js';
import { makeHostKey, startNode, type TestNode } from '../../../harness/ssh-server.js';
import { until } from '../../../harness/until.js';

/** The end of the path of the emulator's first system. */
const system = '/Systems/00000000-0000-4000-8000-000000000000';

describe.skipIf(noRedfish !== undefined || !hasTerminal)(
  `consoles of Redfish controllers${noRedfish === undefined ? '' : ` (left out: ${noRedfish})`}`,
  () => {
    let service: RedfishService;
    let bmc: TestNode;
    let proxy: AddedTo | undefined;
    beforeAll(async () => {
      service = await startRedfish([{ name: 'blade', power: 'On' }]);
    });
    afterAll(() => service.stop());
    beforeEach(async () => {
      bmc = await startNode({ password: 'secret' });
    });
    afterEach(async () => {
      await proxy?.close();
      proxy = undefined;
      await bmc.close();
    });

    /** The console of a machine whose controller has these properties besides its own. */
    async function consoleOf(
      added: Readonly<Record<string, JsonObject>>,
      more: JsonObject = {},
    ): Promise<ConsoleCommand> {
      proxy = await addToRedfish(service, added);
      const controller = { url: proxy.url, user: 'admin', password: 'secret', hostKey: bmc.target.hostKey };
      const fields = {
        machines: [{ name: 'blade', address: '127.0.0.1' }],
        controllers: { blade: { ...controller, ...more } },
      };
      const registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
      const context = contextOf(registry.provider('redfish'), { name: 'rack', fields, machine: 'blade' });
      await registry.close();
      return new RedfishProvider(context).console({ providerid: 'blade', key: '', tags: {}, fields });
    }

    /** Runs it on a terminal, as the command line does. */
    function open({ command, environment = {} }: ConsoleCommand) {
      const line = command.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
      const terminal = spawn('script', ['-qec', line, '/dev/null'], {
        stdio: ['pipe', 'pipe', 'inherit'],
        env: childEnvironment({ set: { ...environment, TERM: 'xterm' } }),
      });
      let shown = '';
      terminal.stdout.setEncoding('utf8').on('data', (chunk: string) => (shown += chunk));
      return {
        type: (text: string) => terminal.stdin.write(text),
        shows: (text: string) =>
          until(`the console to show ${text}: ${shown}`, () => shown.includes(text), 60_000),
        ended: once(terminal, 'close'),
        shown: () => shown,
      };
    }

    const openBmc = (port: number): JsonObject => ({
      SerialConsole: {
        MaxConcurrentSessions: 15,
        SSH: { ServiceEnabled: true, Port: port, HotKeySequenceDisplay: 'Press ~. to exit console' },
        IPMI: { ServiceEnabled: true },
      },
    });

    it('SSH is used if the system names its port, with the password of the controller', async () => {
      bmc.faults.noise = 'blade login: ';
      const opened = await consoleOf({ [system]: openBmc(bmc.target.port) });
      expect(opened.command.join(' ')).not.toContain('secret');
      const console = open(opened);
      await console.shows('blade login: ');
      console.type('echo read $((40 + 2))\n');
      await console.shows('read 42');
      console.type('\r~.');
      await console.ended;
      expect(console.shown()).not.toContain('secret');
      expect(bmc.passwords).toEqual(['secret']);
    });

    it('the command that the administrator names opens it in the shell of the controller', async () => {
      bmc.faults.loginShell = ['/bin/sh', '-c', 'echo "started $0"; exec cat'];
      const manager = '/redfish/v1/Managers/of-blade';
      const console = open(
        await consoleOf(
          {
            [system]: { Links: { ManagedBy: [{ '@odata.id': manager }] } },
            '/Managers/of-blade': {
              SerialConsole: { ServiceEnabled: true, ConnectTypesSupported: ['SSH', 'IPMI'] },
              NetworkProtocol: { '@odata.id': `${manager}/NetworkProtocol` },
            },
            '/Managers/of-blade/NetworkProtocol': {
              SSH: { ProtocolEnabled: true, Port: bmc.target.port },
              IPMI: { ProtocolEnabled: true, Port: 623 },
            },
          },
          { consoleCommand: 'console com2' },
        ),
      );
      await console.shows('started console com2');
      console.type('\r~.');
      await console.ended;
      expect(bmc.commands).toEqual(['console com2']);
    });

    it('IPMI is used if the controller has nothing better', async () => {
      const { command, environment } = await consoleOf({
        [system]: {
          SerialConsole: { SSH: { ServiceEnabled: false }, IPMI: { ServiceEnabled: true, Port: 6230 } },
        },
      });
      expect(command.join(' ')).toMatch(/^ipmitool -I lanplus -H 127.0.0.1 -p 6230 -U admin .*sol activate$/);
      expect(environment).toEqual({ IPMI_PASSWORD: 'secret' });
    });

    it('a controller without one is refused with a remedy', async () => {
      await expect(consoleOf({})).rejects.toMatchObject({
        kind: 'Invalid',
        message: expect.stringContaining('enable one of them at the controller'),
      });
    });

    it('get no password if the host key is another', async () => {
      const console = open(
        await consoleOf({ [system]: openBmc(bmc.target.port) }, { hostKey: makeHostKey().line }),
      );
      expect(await console.ended).toEqual([255, null]);
      expect(console.shown()).toMatch(/Host key verification failed|HOST IDENTIFICATION HAS CHANGED/);
      expect(bmc.passwords).toEqual([]);
    });
  },
);
