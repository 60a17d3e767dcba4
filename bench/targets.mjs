// The servers that the bench measures.
import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { builtIn } from './objects.mjs';

const namespaces = 100;
const objects = 10_000;
const seedWidth = 32;
const padding = 'x'.repeat(600);

/** @typedef {{ url: string, token: string, pids: readonly string[], etcd: string }} Target */

/** Creates 10,000 service accounts of about 1 KB in 100 namespaces, unless they exist. */
export async function seed({ url, token }, objectsOf = builtIn) {
  const agent = new https.Agent({ keepAlive: true, maxSockets: seedWidth, rejectUnauthorized: false });
  const request = (method, path, body) => send(agent, url, token, method, path, body);
  const last = objects - 1;
  if (objectsOf.definition) await define(request, objectsOf, objectsOf.definition);
  const { status: found } = await request('GET', `${accountsIn(objectsOf, last)}/sa-${last}`);
  if (found === 200) return;
  let next = 0;
  const lane = async () => {
    while (next < objects) {
      const number = next++;
      const { status, text } = await request('POST', accountsIn(objectsOf, number), account(objectsOf, number));
      if (status !== 201 && status !== 409) throw new Error(`seeding: HTTP ${status} ${text.slice(0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: seedWidth }, lane));
  agent.destroy();
}

/** Creates the definition of a kind, and waits until it is served. */
async function define(request, { root, plural }, definition) {
  const { status, text } = await request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
  if (status !== 201 && status !== 409) throw new Error(`defining: HTTP ${status} ${text.slice(0, 300)}`);
  while ((await request('GET', `${root}/${plural}?limit=1`)).status !== 200) await sleep(50);
}

const accountsIn = ({ root, plural }, number) => `${root}/namespaces/bench-${number % namespaces}/${plural}`;

const account = ({ apiVersion, kind }, number) => ({
  apiVersion,
  kind,
  metadata: {
    name: `sa-${number}`,
    labels: { app: `app-${number % 100}`, tier: number % 2 ? 'front' : 'back', idx: `${number}` },
    annotations: { 'example.com/pad': padding },
  },
  secrets: [{ name: `s-${number}` }],
  imagePullSecrets: [{ name: 'reg' }],
});

function send(agent, url, token, method, path, body) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const request = https.request(new URL(path, url), { agent, method, headers }, (response) => {
      let text = '';
      response.on('data', (piece) => (text += piece));
      response.on('end', () => resolve({ status: response.statusCode, text }));
    });
    request.on('error', reject);
    request.end(body && JSON.stringify(body));
  });
}
