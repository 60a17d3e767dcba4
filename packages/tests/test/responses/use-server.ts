import { afterEach, beforeEach, expect } from '@jest/globals';
import { seededRandom } from '@cluster-apiserver/base';
import type { JsonResponse, ResponseBody } from '@cluster-apiserver/testkit/json-response';
import { type InMemoryServer, serveInMemory } from '../serve-in-memory.ts';
import { type ServedResource, validObject } from './resources.ts';

export const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

/** Stands for the version of the object in what replaces it as a whole: updates of some kinds have to name it. */
export const currentVersion = 'current version';

export const atVersionOf = ({ metadata }: ResponseBody, patch: object): object =>
  JSON.parse(JSON.stringify(patch).replaceAll(currentVersion, metadata.resourceVersion ?? '')) as object;

export interface Served {
  readonly server: InMemoryServer;
  /** Continues with an empty server that has these options. */
  restart(options: Parameters<typeof serveInMemory>[0]): Promise<void>;
  send(method: string, target: string, body?: object | string | Buffer, type?: string): Promise<JsonResponse>;
  /** Creates a valid object with the name x. */
  create(place: ServedResource, metadata?: object): Promise<JsonResponse>;
}

/** A server that each test has for itself. */
export function useServer(): Served {
  let server: InMemoryServer;
  const start = async (options: Parameters<typeof serveInMemory>[0] = {}): Promise<void> => {
    server = await serveInMemory({ random: seededRandom(5), ...options });
  };
  beforeEach(() => start());
  afterEach(() => server.close());
  const send: Served['send'] = (method, target, body, type) => server.askJson(method, target, body, type);
  return {
    get server() {
      return server;
    },
    restart: async (options) => {
      await server.close();
      await start(options);
    },
    send,
    create: async (place, metadata) => {
      const created = await send('POST', place.path, validObject(place, metadata));
      expect(created.status).toBe(201);
      return created;
    },
  };
}
