/**
 * A replica that loads this first appends its long event-loop iterations to the file TURNS_FILE: the time, and the
 * milliseconds of CPU time.
 */
import fs from 'node:fs';
import { meterTurns } from './turns.ts';

const file = process.env['TURNS_FILE'] ?? '';
meterTurns(10, ({ processorMs }) => fs.appendFileSync(file, `${Date.now()} ${processorMs}\n`));
