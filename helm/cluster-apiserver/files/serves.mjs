// Run by `helm test` with the URL of the Service and the seconds to wait for it.
import { setTimeout as sleep } from 'node:timers/promises';

const [url, seconds] = process.argv.slice(-2);
const deadline = Date.now() + Number(seconds) * 1000;

async function untilReady() {
  for (;;) {
    try {
      const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) });
      if (response.status === 200) return;
      throw new Error(`/readyz returned ${response.status}`);
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await sleep(1_000);
  }
}

await untilReady();
// In every configuration, a list requires a credential is rejected.
const { status } = await fetch(`${url}/api/v1/serviceaccounts?limit=1`);
if (status !== 401 && status !== 403) throw new Error(`a list without a credential returned ${status}`);
console.log(`${url} is ready, and rejects a list without a credential with ${status}`);
