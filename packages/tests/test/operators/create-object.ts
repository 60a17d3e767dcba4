import { expect } from '@jest/globals';
import type { Client } from '@cluster-apiserver/testkit/api-client';

export async function createObject(client: Client, target: string, body: object): Promise<void> {
  const { status, body: text } = await client.request('POST', target, { body });
  expect(status === 201 ? status : text).toBe(201);
}
