import { expect, test } from '@jest/globals';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { createReconnectingExporter } from './reconnecting-exporter.ts';

test('each failed export is followed by a new connection, and the old one is closed', () => {
  const sent: number[] = [];
  const closed: number[] = [];
  const pending: ((result: ExportResult) => void)[] = [];
  let opened = 0;
  const exporter = createReconnectingExporter(() => {
    const connection = ++opened;
    return {
      export: (_, done) => {
        sent.push(connection);
        pending.push(done);
      },
      shutdown: async () => void closed.push(connection),
    };
  });
  const results: ExportResult[] = [];
  const send = (): void => exporter.export([], (result) => results.push(result));
  const answer = (code: ExportResultCode): void => pending.shift()?.({ code });
  send();
  send();
  answer(ExportResultCode.FAILED);
  answer(ExportResultCode.FAILED);
  send();
  answer(ExportResultCode.FAILED);
  send();
  answer(ExportResultCode.SUCCESS);
  send();
  expect([sent, closed, results.length]).toEqual([[1, 1, 2, 3, 3], [1, 2], 4]);
});
