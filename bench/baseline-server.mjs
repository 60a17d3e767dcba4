// The baseline: the least that a Node process can do to answer the bench's requests over TLS. It does not
// authenticate, stores nothing and looks nothing up but ready-made buffers, so no real server can be faster on one core.
import https from 'node:https';
import fs from 'node:fs';

const [port, cert, key] = process.argv.slice(2);
const pad = 'x'.repeat(600);
const byName = new Map();
const byNs = new Map();
for (let k = 0; k < 10000; k++) {
  const ns = `bench-${k % 100}`;
  const b = Buffer.from(
    JSON.stringify({
      kind: 'ServiceAccount',
      apiVersion: 'v1',
      metadata: {
        name: `sa-${k}`,
        namespace: ns,
        uid: 'ffd42717-29e0-472b-aceb-ec61c9df65cb',
        resourceVersion: '12345',
        creationTimestamp: '2026-01-01T00:00:00Z',
        labels: { app: `app-${k % 100}`, tier: k % 2 ? 'front' : 'back', idx: `${k}` },
        annotations: { 'example.com/pad': pad },
        managedFields: [
          {
            manager: 'node',
            operation: 'Update',
            apiVersion: 'v1',
            time: '2026-01-01T00:00:00Z',
            fieldsType: 'FieldsV1',
            fieldsV1: {
              'f:imagePullSecrets': {},
              'f:metadata': {
                'f:annotations': { '.': {}, 'f:example.com/pad': {} },
                'f:labels': { '.': {}, 'f:app': {}, 'f:idx': {}, 'f:tier': {} },
              },
              'f:secrets': { '.': {}, 'k:{"name":"s"}': {} },
            },
          },
        ],
      },
      secrets: [{ name: `s-${k}` }],
      imagePullSecrets: [{ name: 'reg' }],
    }),
  );
  byName.set(`${ns}/sa-${k}`, b);
  if (!byNs.has(ns)) byNs.set(ns, []);
  byNs.get(ns).push(b);
}
const all = [...byName.values()];
const one = [byName.get('bench-77/sa-77')];
const head = Buffer.from(
  '{"kind":"ServiceAccountList","apiVersion":"v1","metadata":{"resourceVersion":"12345"},"items":[',
);
const tail = Buffer.from(']}\n');
const watchers = new Set();

function list(res, items) {
  let length = head.length + tail.length + items.length - 1;
  for (const b of items) length += b.length;
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': length });
  const SIZE = 256 * 1024;
  let chunk = Buffer.allocUnsafe(Math.min(length, SIZE + 65536));
  let used = head.copy(chunk, 0);
  let i = 0;
  const pump = () => {
    while (i < items.length) {
      if (i) chunk[used++] = 0x2c;
      used += items[i++].copy(chunk, used);
      if (used >= SIZE) {
        const full = chunk.subarray(0, used);
        chunk = Buffer.allocUnsafe(SIZE + 65536);
        used = 0;
        if (!res.write(full)) {
          res.once('drain', pump);
          return;
        }
      }
    }
    used += tail.copy(chunk, used);
    res.end(chunk.subarray(0, used));
  };
  pump();
}

https
  .createServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key) }, (req, res) => {
    const q = req.url.indexOf('?');
    const seg = (q < 0 ? req.url : req.url.slice(0, q)).split('/');
    if (req.method !== 'GET') {
      let text = '';
      req.on('data', (d) => (text += d));
      req.on('end', () => {
        const tick = JSON.parse(text).metadata?.annotations?.tick;
        if (tick) {
          const frame = Buffer.from(
            JSON.stringify({
              type: 'MODIFIED',
              object: {
                kind: 'ServiceAccount',
                apiVersion: 'v1',
                metadata: { name: 'w', annotations: { pad, tick }, managedFields: 'y'.repeat(350) },
              },
            }) + '\n',
          );
          for (const w of watchers) w.write(frame);
        }
        res.writeHead(200, { 'content-type': 'application/json' });
        res.end(req.method === 'GET' ? '' : '{"metadata":{"resourceVersion":"1"}}');
      });
      return;
    }
    if (req.url.includes('watch=')) {
      res.writeHead(200, { 'content-type': 'application/json' });
      res.flushHeaders();
      watchers.add(res);
      res.on('close', () => watchers.delete(res));
    } else if (seg[3] === 'serviceaccounts') {
      list(res, req.url.includes('labelSelector=idx') ? one : req.url.includes('limit=500') ? all.slice(0, 500) : all);
    } else if (seg[6] === undefined) {
      list(res, byNs.get(seg[4]) ?? one);
    } else {
      const b = byName.get(`${seg[4]}/${seg[6]}`);
      res.writeHead(200, {
        'content-type': 'application/json',
        'content-length': b.length,
        'cache-control': 'no-cache, private',
      });
      res.end(b);
    }
  })
  .listen(Number(port), '127.0.0.1', () => console.log('ready'));
