/** Chromium without a window, driven by its debugging protocol. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { until } from '@cluster-apiserver/testkit/until';

export const chromium = 'chromium';

/** On a machine that runs other tests. */
const slowMs = 60_000;

export interface Browser {
  /** Resolves when the page has loaded. */
  open(url: string): Promise<void>;
  /** The value of an expression in the page. */
  evaluate(expression: string): Promise<unknown>;
  /** As PNG. */
  screenshot(): Promise<Buffer>;
  /** What the console of the open page shows as errors, and exceptions. */
  readonly errors: readonly string[];
  close(): Promise<void>;
}

export async function openBrowser(): Promise<Browser> {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'chromium-'));
  const child = spawn(
    chromium,
    [
      '--headless=new',
      // Tests run as root, and in containers with little shared memory.
      '--no-sandbox',
      '--disable-dev-shm-usage',
      '--disable-gpu',
      '--no-first-run',
      '--window-size=1280,860',
      `--user-data-dir=${home}`,
      '--remote-debugging-port=0',
      'about:blank',
    ],
    { stdio: 'ignore', env: { ...process.env, HOME: home } },
  );
  const exit = once(child, 'exit');
  const close = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exit;
    fs.rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const portFile = path.join(home, 'DevToolsActivePort');
    const port = await until(
      'Chromium',
      () => (fs.existsSync(portFile) ? fs.readFileSync(portFile, 'utf8').split('\n')[0] || undefined : undefined),
      slowMs,
    );
    const pages = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as readonly Target[];
    const page = pages.find(({ type }) => type === 'page');
    if (!page) throw new Error('Chromium has no page');
    return { ...(await drive(page.webSocketDebuggerUrl)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function drive(url: string): Promise<Omit<Browser, 'close'>> {
  const socket = new WebSocket(url);
  await once(socket, 'open');
  const errors: string[] = [];
  let loads = 0;
  let last = 0;
  const waiting = new Map<number, (message: Message) => void>();
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Message;
    if (message.id !== undefined) waiting.get(message.id)?.(message);
    if (message.method === 'Page.loadEventFired') loads++;
    if (message.method === 'Runtime.exceptionThrown') errors.push(JSON.stringify(message.params));
    if (message.params?.entry?.level === 'error') errors.push(message.params.entry.text);
    if (message.method === 'Runtime.consoleAPICalled' && message.params?.type === 'error')
      errors.push(JSON.stringify(message.params));
  });
  const call = async (method: string, params: object = {}): Promise<Result> => {
    const id = ++last;
    const answer = new Promise<Message>((resolve) => waiting.set(id, resolve));
    socket.send(JSON.stringify({ id, method, params }));
    const { result = {}, error } = await answer;
    waiting.delete(id);
    if (error) throw new Error(`${method}: ${error.message}`);
    if (result.exceptionDetails) throw new Error(JSON.stringify(result.exceptionDetails));
    return result;
  };
  for (const domain of ['Page', 'Runtime', 'Log']) await call(`${domain}.enable`);
  return {
    open: async (address) => {
      errors.length = 0;
      const before = loads;
      const { errorText } = await call('Page.navigate', { url: address });
      if (errorText) throw new Error(`${address}: ${errorText}`);
      await until('the page', () => loads > before || undefined, slowMs);
    },
    evaluate: async (expression) => (await call('Runtime.evaluate', { expression, returnByValue: true })).result?.value,
    screenshot: async () => Buffer.from((await call('Page.captureScreenshot')).data ?? '', 'base64'),
    errors,
  };
}

interface Target {
  readonly type: string;
  readonly webSocketDebuggerUrl: string;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly type?: string; readonly entry?: { readonly level: string; readonly text: string } };
  readonly result?: Result;
  readonly error?: { readonly message: string };
}

interface Result {
  readonly errorText?: string;
  readonly exceptionDetails?: object;
  readonly result?: { readonly value?: unknown };
  readonly data?: string;
}
