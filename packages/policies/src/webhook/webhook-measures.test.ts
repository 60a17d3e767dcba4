import { expect, test } from '@jest/globals';
import { createMetrics } from '@cluster-apiserver/telemetry';
import { createAdmissionWebhookMeasures } from './webhook-measures.ts';
import { exposed } from '@cluster-apiserver/testkit/exposition';
import { createConditionMeasures } from '../condition-measures.ts';

test('the number of series is bounded for webhooks under ever new names', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const { admit, validating } = createAdmissionWebhookMeasures(metrics, createConditionMeasures(metrics));
  for (let at = 0; at < 1_500; at++) (at % 2 ? admit : validating).called(`hook-${at}`, 'CREATE', false, 200, 0.01);
  const text = await exposed(metrics);
  const lines = text.split('\n').filter((line) => line.startsWith('apiserver_admission_webhook_request_total{'));
  expect(lines).toHaveLength(1_002);
  for (const type of ['admit', 'validating'])
    expect(lines).toContain(
      `apiserver_admission_webhook_request_total{name="other",type="${type}",operation="CREATE",code="200",rejected="false"} 250`,
    );
});
