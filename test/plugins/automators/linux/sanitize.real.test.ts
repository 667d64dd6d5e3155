import { beforeAll, describe, expect, it } from 'vitest';
import { startStack, type Stack } from '../../../harness/stack.js';
import { openGround, type Ground } from '../../../harness/machine/ground.js';
import { unable } from '../../../harness/reservation/real-machine.js';

describe.skipIf(unable !== undefined)('UNLOAD by the system linux', () => {
  let stack: Stack;
  let ground: Ground;
  beforeAll(async () => {
    stack = await startStack({ kind: 'sandbox' });
    await stack.startWorker();
    ground = openGround(stack);
  });

  const bootOf = (name: string): Promise<string> => ground.onMachine(name, 'cut -d" " -f22 /proc/1/stat');
  const processesOf = (name: string): Promise<string> =>
    ground.onMachine(name, 'grep -lE "^Uid:[[:space:]]$(id -u kim)[[:space:]]" /proc/[0-9]*/status; true');
  const begin = async (name: string): Promise<void> => {
    await ground.add(name);
    await ground.onMachine(name, 'useradd -m kim');
    await ground.operate(name, { kind: 'reserve', user: 'kim' });
  };

  it('ends processes of the user and removes temporary files, without a reset', async () => {
    await begin('calm');
    const asKim = 'setpriv --reuid=kim --regid=kim --clear-groups';
    await ground.onMachine(
      'calm',
      `${asKim} touch /tmp/of-kim; setsid ${asKim} sleep 100000 </dev/null >/dev/null 2>&1 &`,
    );
    const boot = await bootOf('calm');
    const { operation, machine } = await ground.operate('calm', { kind: 'unload' });
    expect(operation).toMatchObject({ state: 'done' });
    expect(machine.state).toBe('available');
    expect(await processesOf('calm')).toBe('');
    expect(await ground.onMachine('calm', 'ls /tmp/of-kim 2>/dev/null; true')).toBe('');
    expect(await bootOf('calm')).toBe(boot);
  });

  it('resets a machine on which something starts processes of the user again', async () => {
    await begin('busy');
    const again = 'while :; do setpriv --reuid=kim --regid=kim --clear-groups sleep 100000; done';
    await ground.onMachine(
      'busy',
      `for n in 1 2 3 4 5 6; do setsid sh -c '${again}' </dev/null >/dev/null 2>&1 & done`,
    );
    const boot = await bootOf('busy');
    const { operation, machine } = await ground.operate('busy', { kind: 'unload' });
    expect(operation).toMatchObject({ state: 'done' });
    expect(machine.state).toBe('available');
    expect(await processesOf('busy')).toBe('');
    expect(await bootOf('busy')).not.toBe(boot);
  });
});
