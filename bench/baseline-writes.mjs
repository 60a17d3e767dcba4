// baseline-writes.mjs ETCD SECONDS: conditional creates straight to etcd from one Node process, the ceiling of every
// write. Prints their number per second.
import http2 from 'node:http2';

const [etcd = '', seconds = ''] = process.argv.slice(2);
const width = 32;
const valueBytes = 1_000;

const session = http2.connect(etcd);
const value = Buffer.alloc(valueBytes, 'x');
const prefix = Buffer.from(`/bench-baseline/${process.pid}-`);

let created = 0;
const beganMs = Date.now();
const endMs = beganMs + Number(seconds) * 1_000;
const lane = async () => {
  while (Date.now() < endMs) await create(created++);
};
await Promise.all(Array.from({ length: width }, lane));
console.log(created / ((Date.now() - beganMs) / 1_000));
session.destroy();

/** One transaction: if the key does not exist, put it, else get it. */
function create(number) {
  const key = Buffer.concat([prefix, Buffer.from(String(number))]);
  const isAbsent = Buffer.concat([Buffer.from([0x10, 2]), field(3, key), Buffer.from([0x30, 0])]);
  const put = Buffer.concat([field(1, key), field(2, value)]);
  const message = Buffer.concat([field(1, isAbsent), field(2, field(2, put)), field(3, field(1, field(1, key)))]);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/etcdserverpb.KV/Txn',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    // An error has no body, and its trailers come as headers.
    let end = {};
    for (const event of ['response', 'trailers']) stream.on(event, (fields) => (end = fields));
    const fail = () => reject(new Error(`etcd answered ${end['grpc-status']} ${end['grpc-message'] ?? ''}`));
    stream.on('end', () => (end['grpc-status'] === '0' ? resolve(undefined) : fail()));
    stream.on('error', reject);
    stream.resume();
    stream.end(Buffer.concat([head, message]));
  });
}

/** A length-delimited protobuf field. */
function field(number, bytes) {
  const head = [(number << 3) | 2];
  let rest = bytes.length;
  for (; rest > 127; rest >>>= 7) head.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([...head, rest]), bytes]);
}
