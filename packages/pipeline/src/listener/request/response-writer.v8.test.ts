import { expect, test } from '@jest/globals';
import { promotedBytes } from '@cluster-apiserver/testkit/garbage';
import { createConnection, processBytes } from '../../../test/connection-bytes.ts';
import { ResponseWriter } from './response-writer.ts';

test('responses that were sent are not promoted by V8', () => {
  const steps = 50;
  const numbers = 1_000;
  const bytes = promotedBytes(steps, () => {
    const content = Array.from({ length: numbers }, (_, at) => at + 0.5);
    const pieces = new ResponseWriter(Object.assign(createConnection(), { content }), processBytes);
    pieces.addBuffered(pieces.pieceBytes);
    pieces.addSent(pieces.pieceBytes);
  });
  const bytesPerNumber = 8;
  expect(bytes).toBeLessThan((steps * numbers * bytesPerNumber) / 5);
});
