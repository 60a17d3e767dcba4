import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { createSimpleLimits } from '@cluster-apiserver/gates';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { type OpenPipeline, openPipeline } from '../test/open-pipeline.ts';
import { robotKind } from '../test/robots.ts';
import { data, literals, requestHeaders } from '@cluster-apiserver/testkit/http2-frames';
import { http2Answer, type Served, serve } from '../test/listener.ts';

const robots = '/api/v1/namespaces/n/robots';
const body = '{"metadata":{"name":"polite"}}';
const clients = 300;
const perConnection = 100;

const limits = {
  control: createSimpleLimits(systemClock, { readOnly: 400, mutating: 200 }),
  seatsOf: () => 1,
};

let pipeline: OpenPipeline;
let served: Served;
let uploads: number;
beforeEach(async () => {
  uploads = 0;
  pipeline = await openPipeline({ kinds: [robotKind], chain: { limits } });
  served = await serve((request) => {
    if (request.header('x-slow')) uploads++;
    return pipeline.handle(request);
  });
});
afterEach(async () => {
  await served.close();
  await pipeline.close();
});

const attacks: Readonly<Record<string, () => Promise<void>>> = {
  'HTTP/1.1': async () => {
    for (let i = 0; i < clients; i++) {
      const client = await served.raw();
      client.send(`POST ${robots} HTTP/1.1\r\nHost: a\r\nX-Slow: 1\r\nContent-Length: 1000\r\n\r\n{`);
    }
  },
  'HTTP/2': async () => {
    const head = Buffer.concat([
      Buffer.from([0x83, 0x87, 0x01, 0x01, 0x61, 0x04, robots.length]),
      Buffer.from(robots),
      literals([['x-slow', '1']]),
    ]);
    for (let sent = 0; sent < clients; sent += perConnection) {
      const client = await served.frames();
      for (let i = 0; i < perConnection; i++)
        client.send(Buffer.concat([requestHeaders(2 * i + 1, head, false), data(2 * i + 1, Buffer.from('{'))]));
    }
  },
};

test.each(Object.keys(attacks))(
  '%s clients that send their bodies byte by byte do not delay the writes of others',
  async (protocol) => {
    await (attacks[protocol] as () => Promise<void>)();
    await untilTurned(() => uploads === clients);
    const stream = served.http2().request({ ':method': 'POST', ':path': robots });
    stream.end(body);
    expect((await http2Answer(stream)).status).toBe(201);
  },
);
