import type { ListenerMeasures } from '@cluster-apiserver/pipeline';
import { createLog } from '@cluster-apiserver/telemetry';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { expect, test } from '@jest/globals';
import { withRefusedConnectionLog, withRejectionLog } from './rejection-log.ts';

test('requests rejected with 429 have a line at once, and one a minute after it', () => {
  const clock = fakeClock();
  const lines: string[] = [];
  const log = createLog({ clock, format: 'text', verbosity: 0, pid: 1, write: (line) => lines.push(line) });
  let counted = 0;
  const measures = withRejectionLog({ used() {}, rejected: () => counted++, refused: () => counted++ }, log, clock);
  const request = { user: { name: 'ada' }, flow: { schema: { name: 'global-default' } } };
  const reject = (): void => {
    measures.rejected('readOnly', request as never);
    measures.refused(request as never);
  };
  for (let i = 0; i < 5; i++) reject();
  expect(lines).toHaveLength(1);
  clock.advance(60_000);
  reject();
  expect(counted).toBe(12);
  expect(lines.map((line) => /requests=\d+/.exec(line)?.[0])).toEqual(['requests=1', 'requests=10']);
  expect(lines.at(-1)).toContain(' user="ada" flowSchema="global-default"');
});

test('refused connections have a line at once, and one a minute after it', () => {
  const clock = fakeClock();
  const lines: string[] = [];
  const log = createLog({ clock, format: 'text', verbosity: 0, pid: 1, write: (line) => lines.push(line) });
  let counted = 0;
  const counting = { countRefusedConnection: () => counted++ } as unknown as ListenerMeasures;
  const measures = withRefusedConnectionLog(counting, log, clock);
  for (let i = 0; i < 5; i++) measures.countRefusedConnection('peer');
  clock.advance(60_000);
  measures.countRefusedConnection('descriptors');
  expect(counted).toBe(6);
  expect(lines.map((line) => /connections=\d+ reason="\w+"/.exec(line)?.[0])).toEqual([
    'connections=1 reason="peer"',
    'connections=5 reason="descriptors"',
  ]);
});
