import fs from 'node:fs';
import path from 'node:path';

/**
 * The launcher as it was built, which starts the built server: what `npm start` runs, and each process is there in half
 * of the time. `npm test` builds everything before.
 */
export const builtLauncher = path.resolve(import.meta.dirname, '../../devcluster/dist/main.js');

if (!fs.existsSync(builtLauncher)) throw new Error('nothing is built yet; run `npm test`, or `npm run build` before');
