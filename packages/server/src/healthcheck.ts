#!/usr/bin/env node
import https from 'node:https';

/**
 * The health check of a container that has neither a shell nor curl: exits with 0 if the server answers 200. A program of
 * its own, because it runs every few seconds: loading the whole server would take ten times as long as the request.
 */

const [url = 'https://127.0.0.1:6443/readyz'] = process.argv.slice(2);

/** Less than what engines give a check by our image, so that the reason is written before they kill it. */
const timeoutMs = 8_000;

const fail = (reason: string): never => {
  process.stderr.write(`${url}: ${reason}\n`);
  process.exit(1);
};

// It asks its own container about readiness and sends no credential, so there is nobody to be mistaken for.
const request = https.get(url, { rejectUnauthorized: false, timeout: timeoutMs }, (response) => {
  if (response.statusCode === 200) process.exit(0);
  let body = '';
  response.setEncoding('utf8');
  response.on('data', (piece: string) => (body += piece));
  response.on('end', () => fail(`${response.statusCode} ${body.trim()}`));
});
request.on('timeout', () => fail(`no answer within ${timeoutMs} ms`));
request.on('error', ({ message }) => fail(message));
