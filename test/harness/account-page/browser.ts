import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { until } from '../until.js';

/** `npm run setup:extras` installs it. */
export const chromium = ['chromium', 'chromium-browser', 'google-chrome'].find(
  (name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0,
);

/** One page of a headless Chromium of its own. */
export interface Browser {
  open(url: string): Promise<void>;
  /** The value of an expression in the page. */
  see(expression: string): Promise<unknown>;
  /** Runs an expression that leads to another document, and waits for that. */
  leave(expression: string): Promise<void>;
  /** Puts a text into an input as a keyboard would. */
  type(id: string, text: string): Promise<void>;
  /** Gives the page the width of a device, in CSS pixels. */
  resize(width: number): Promise<void>;
  /** The address of everything that pages asked for since the last call. */
  takeRequests(): readonly string[];
  close(): Promise<void>;
}

interface Answer {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly request?: { readonly url: string } };
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

/**
 * Driven over the DevTools protocol, which Chromium speaks on file descriptors 3 and 4: JSON with a zero byte
 * after each message.
 */
export async function openBrowser(program: string, profile: string): Promise<Browser> {
  const child = spawn(
    program,
    [
      '--headless=new',
      '--remote-debugging-pipe',
      `--user-data-dir=${profile}`,
      '--no-first-run',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      // Root has no other way; the pages are our own.
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      'about:blank',
    ],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] },
  );
  const [toBrowser, fromBrowser] = [child.stdio[3] as Writable, child.stdio[4] as Readable];
  const waiting = new Map<number, (answer: Answer) => void>();
  let requests: string[] = [];
  let last = 0;
  let unread = '';
  toBrowser.on('error', () => undefined);
  fromBrowser.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (unread + chunk).split('\0');
    unread = parts.pop() ?? '';
    for (const part of parts) {
      const answer = JSON.parse(part) as Answer;
      if (answer.id !== undefined) waiting.get(answer.id)?.(answer);
      if (answer.method === 'Network.requestWillBeSent') requests.push(answer.params?.request?.url ?? '');
    }
  });
  const ended = once(child, 'close').then(() => {
    for (const answer of waiting.values()) answer({ error: { message: 'the browser ended' } });
  });
  const call = async (
    method: string,
    params: object,
    sessionId?: string,
  ): Promise<Readonly<Record<string, unknown>>> => {
    const id = (last += 1);
    const { result, error } = await new Promise<Answer>((resolve) => {
      waiting.set(id, resolve);
      toBrowser.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
    waiting.delete(id);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result ?? {};
  };

  const { targetId } = await call('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = (await call('Target.attachToTarget', { targetId, flatten: true })) as {
    readonly sessionId: string;
  };
  await call('Network.enable', {}, sessionId);
  const see = async (expression: string): Promise<unknown> => {
    const { result, exceptionDetails } = (await call(
      'Runtime.evaluate',
      { expression, awaitPromise: true, returnByValue: true, userGesture: true },
      sessionId,
    )) as {
      readonly result: { readonly value?: unknown; readonly description?: string };
      readonly exceptionDetails?: unknown;
    };
    if (exceptionDetails !== undefined) throw new Error(`${expression}: ${result.description ?? 'failed'}`);
    return result.value;
  };
  /** A mark in the window is gone with its document. */
  const untilReplaced = (what: string): Promise<unknown> =>
    until(
      what,
      async () =>
        (await see(
          `window.old === undefined && location.href !== 'about:blank' && document.readyState === 'complete'`,
        ).catch(() => false)) === true,
    );
  return {
    see,
    async open(url) {
      await see('window.old = true');
      await call('Page.navigate', { url }, sessionId);
      await untilReplaced(url);
    },
    async leave(expression) {
      await see(`window.old = true; ${expression}`);
      await untilReplaced(`another document after ${expression}`);
    },
    async type(id, text) {
      await see(`document.getElementById(${JSON.stringify(id)}).focus(); document.activeElement.select()`);
      await call('Input.insertText', { text }, sessionId);
    },
    async resize(width) {
      const device = { width, height: 800, deviceScaleFactor: 1, mobile: false };
      await call('Emulation.setDeviceMetricsOverride', device, sessionId);
    },
    takeRequests() {
      const taken = requests;
      requests = [];
      return taken;
    },
    async close() {
      await call('Browser.close', {}).catch(() => undefined);
      await ended;
    },
  };
}
