// fan-out.mjs SERVER TOKEN WATCHERS WRITES_PER_SECOND SECONDS PIDS [custom]: how the changes of one namespace reach many watchers.
// Prints the events, their latency, and the CPU time of the server per event, as JSON.
import fs from 'node:fs';
import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { builtIn, custom } from './objects.mjs';

const [server = '', token, watchers, rate, seconds, pids = '', which] = process.argv.slice(2);
const { root, apiVersion, kind, plural } = which === 'custom' ? custom : builtIn;
const objects = 16;
const padding = 'x'.repeat(600);
/** Latencies of every twentieth watcher suffice. */
const sampled = 20;
const drainMs = 15_000;
const newLine = 10;

const watchAgent = new https.Agent({ keepAlive: true, maxSockets: Infinity, rejectUnauthorized: false });
const agent = new https.Agent({ keepAlive: true, maxSockets: objects, rejectUnauthorized: false });
const headers = { authorization: `Bearer ${token}` };
const collection = `${root}/namespaces/fan-${Date.now()}/${plural}`;

let delivered = 0;
const latenciesMs = [];

for (let index = 0; index < objects; index++) {
  const metadata = { name: `w-${index}`, annotations: { pad: padding } };
  await send('POST', collection, { apiVersion, kind, metadata });
}
const { resourceVersion } = JSON.parse((await send('GET', collection)).text).metadata;
for (let index = 0; index < Number(watchers); index++) await openWatch(index % sampled === 0);
await sleep(1_000);

delivered = 0;
const usedBeforeMs = usedMs();
const { acknowledged, sent } = await write();
const expected = () => acknowledged() * Number(watchers);
const drainedMs = performance.now() + drainMs;
while ((acknowledged() < sent || delivered < expected()) && performance.now() < drainedMs) await sleep(50);

latenciesMs.sort((one, other) => one - other);
const percentile = (share) => Number((latenciesMs[Math.floor(latenciesMs.length * share)] ?? NaN).toFixed(1));
console.log(
  JSON.stringify({
    writes: acknowledged(),
    delivered,
    expected: expected(),
    latencyP50: percentile(0.5),
    latencyP99: percentile(0.99),
    cpuUsPerEvent: ((usedMs() - usedBeforeMs) * 1_000) / Math.max(1, delivered),
  }),
);
process.exit(0);

/** Patches objects at the rate, whether or not the responses keep up. */
async function write() {
  const beganMs = performance.now();
  const passedSeconds = () => (performance.now() - beganMs) / 1_000;
  let count = 0;
  let done = 0;
  while (passedSeconds() < Number(seconds)) {
    const due = Math.floor(passedSeconds() * Number(rate));
    for (; count < due; count++) {
      const body = { metadata: { annotations: { tick: performance.now().toFixed(3) } } };
      void send('PATCH', `${collection}/w-${count % objects}`, body, 'application/merge-patch+json').then(
        ({ status }) => (done += status === 200 ? 1 : 0),
      );
    }
    await sleep(2);
  }
  return { sent: count, acknowledged: () => done };
}

function openWatch(isSampled) {
  const url = new URL(`${collection}?watch=true&resourceVersion=${resourceVersion}`, server);
  return new Promise((resolve, reject) => {
    const request = https.request(url, { agent: watchAgent, headers }, (response) => {
      response.on('data', (piece) => countEvents(piece, isSampled));
      if (response.statusCode === 200) resolve(undefined);
      else reject(new Error(`watch: HTTP ${response.statusCode}`));
    });
    request.on('error', reject);
    request.end();
  });
}

function countEvents(piece, isSampled) {
  for (let at = piece.indexOf(newLine); at !== -1; at = piece.indexOf(newLine, at + 1)) delivered++;
  if (!isSampled) return;
  const nowMs = performance.now();
  for (const [, tick] of piece.latin1Slice().matchAll(/"tick":"(\d+\.\d+)"/g)) latenciesMs.push(nowMs - Number(tick));
}

function send(method, path, body, type = 'application/json') {
  return new Promise((resolve, reject) => {
    const options = { agent, method, headers: { ...headers, 'content-type': type } };
    const request = https.request(new URL(path, server), options, (response) => {
      let text = '';
      response.on('data', (piece) => (text += piece));
      response.on('end', () => resolve({ status: response.statusCode, text }));
    });
    request.on('error', reject);
    request.end(body && JSON.stringify(body));
  });
}

/** CPU time of the server. */
function usedMs() {
  return pids.split(',').reduce((sum, pid) => {
    const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return sum + (Number(fields[11]) + Number(fields[12])) * 10;
  }, 0);
}
