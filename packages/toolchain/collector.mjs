#!/usr/bin/env node
// node packages/toolchain/collector.mjs: builds the OpenTelemetry Collector for the tracing tests. The build takes 90 s
// of CPU time, so no test run does it; `npm test -- tracing/collector` uses the result.
import path from 'node:path';
import { outputOf, run } from './child.mjs';
import { cache, Failure, main, root } from './project.mjs';

await main(async () => {
  if (!outputOf('go', ['version'])) throw new Failure('Go is needed to build the collector: install it first.');
  const copy = path.join(cache, 'otel-collector', 'otel-collector');
  console.log('Building the OpenTelemetry Collector …');
  return run('go', ['build', '-trimpath', '-ldflags', '-s -w', '-o', copy, '.'], {
    cwd: path.join(root, 'packages', 'tests', 'collector'),
  });
});
