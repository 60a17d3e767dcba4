/** The inspector of a running server, which every Node.js process opens when it gets SIGUSR1. */
import { once } from 'node:events';
import { until } from '@cluster-apiserver/testkit/until';

/** Node's default; `--inspect-port` names another one. */
const defaultPort = 9229;

/**
 * Makes the process collect all its garbage, which V8 often leaves while a process is idle. Then its memory is what it
 * really keeps. Returns the MiB in its heap.
 */
export const collectGarbage = (pid: number, port = defaultPort): Promise<number> =>
  withInspector(pid, port, async (socket) => {
    await call(socket, 'HeapProfiler.collectGarbage');
    const usage = (await call(socket, 'Runtime.getHeapUsage')) as { readonly usedSize: number };
    return usage.usedSize / 2 ** 20;
  });

/** Evaluates an expression in the process. Its value must be one of JSON. */
export const evaluate = (pid: number, expression: string, port = defaultPort): Promise<unknown> =>
  withInspector(pid, port, (socket) => valueOf(socket, expression));

async function withInspector<Value>(
  pid: number,
  port: number,
  use: (socket: WebSocket) => Promise<Value>,
): Promise<Value> {
  const socket = new WebSocket(await inspectorOf(pid, port));
  await once(socket, 'open');
  try {
    const found = await valueOf(socket, 'process.pid');
    if (found !== pid) throw new Error(`the inspector belongs to process ${String(found)}, not to ${pid}`);
    return await use(socket);
  } finally {
    socket.close();
  }
}

async function valueOf(socket: WebSocket, expression: string): Promise<unknown> {
  const { result, exceptionDetails } = (await call(socket, 'Runtime.evaluate', {
    ...{ expression, returnByValue: true, awaitPromise: true },
  })) as {
    readonly result: { readonly value?: unknown; readonly description?: string };
    readonly exceptionDetails?: unknown;
  };
  if (exceptionDetails !== undefined) throw new Error(`${expression}: ${result.description}`);
  return result.value;
}

async function inspectorOf(pid: number, port: number): Promise<string> {
  process.kill(pid, 'SIGUSR1');
  const url = await until('the inspector', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/json/list`).catch(() => undefined);
    const [target] = ((await response?.json()) ?? []) as { readonly webSocketDebuggerUrl: string }[];
    return target?.webSocketDebuggerUrl;
  });
  return url;
}

async function call(socket: WebSocket, method: string, params: object = {}): Promise<unknown> {
  const response = once(socket, 'message') as Promise<[{ readonly data: string }]>;
  socket.send(JSON.stringify({ id: 1, method, params }));
  const [{ data }] = await response;
  const { result, error } = JSON.parse(data) as { readonly result?: unknown; readonly error?: { message: string } };
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}
