/**
 * One client of each replica, which work on definitions of one name together. What they see is judged at once: a status that
 * should not be, and objects, fields and events of an earlier definition.
 */
import { until } from '@cluster-apiserver/testkit/until';
import type { Client, ClientResponse } from '@cluster-apiserver/testkit/api-client';
import type { WatchTransport } from '@cluster-apiserver/testkit/open-watch';
import type { Replica } from './replicas.ts';

const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const registration = '/apis/admissionregistration.k8s.io/v1';
const merge = 'application/merge-patch+json';
const quotaMax = 2;

interface Metadata {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly [field: string]: unknown;
}

interface Item {
  readonly metadata: Metadata;
  readonly [field: string]: unknown;
}

interface Watch {
  readonly url: string;
  /** The names of the objects that exist by its events, by their uids. */
  readonly present: Map<string, string>;
  readonly seen: Set<string>;
  isClosed: boolean;
}

interface Condition {
  readonly type: string;
  readonly status: string;
}

export class DefinitionLoad {
  readonly problems: string[] = [];
  readonly group: string;
  readonly #replicas: readonly Replica[];
  readonly #clients: readonly Client[];
  readonly #transport: WatchTransport;
  readonly #offset: number;
  readonly #name: string;
  readonly #namespace: string;
  /** The uids of objects of earlier definitions. */
  readonly #old = new Set<string>();
  readonly #ofRound = new Set<string>();
  #round = 0;
  #steps = 0;

  constructor(replicas: readonly Replica[], transport: WatchTransport, at: number) {
    this.group = `load-${at}.example.com`;
    this.#name = `things.${this.group}`;
    this.#namespace = `load-${at}`;
    this.#replicas = replicas;
    this.#clients = replicas.map((replica) => replica.client());
    this.#transport = transport;
    this.#offset = at;
  }

  close(): void {
    for (const client of this.#clients) client.close();
  }

  /** Never rejects, so that all problems of a round are reported together. */
  async round(round: number): Promise<void> {
    this.#round = round;
    await this.#go().catch((error: unknown) => this.#blame(String(error)));
  }

  async #go(): Promise<void> {
    const round = this.#round;
    this.#steps = round + this.#offset;
    if (round === 0) await this.#prepare();
    if (this.#steps % 3 === 2) await this.#beHasty();
    await this.#define();
    const objects = await this.#useAtOnce();
    let watches = await this.#watch(objects);
    const versions = await this.#change(watches);
    if (this.#steps % 4 === 0) watches = await this.#storeInAnother(versions, watches);

    await this.#delete();
    await until('the end of all watches', () => watches.every(({ isClosed }) => isClosed) || undefined);
    for (const { url, seen, present } of watches) {
      if (present.size > 0) this.#blame(`a watch at ${url} ended without DELETED for ${[...present.values()].join()}`);
      for (const uid of seen) this.#ofRound.add(uid);
    }
    for (const uid of this.#ofRound) this.#old.add(uid);
    this.#ofRound.clear();
  }

  get #isNamespaced(): boolean {
    return this.#round % 2 === 0;
  }

  /** The field that only definitions of this round have. */
  get #field(): string {
    return `round${this.#round}`;
  }

  get #collection(): string {
    const root = `/apis/${this.group}/v1`;
    return this.#isNamespaced ? `${root}/namespaces/${this.#namespace}/things` : `${root}/things`;
  }

  #blame(problem: string): void {
    this.problems.push(`${this.#name}, round ${this.#round}: ${problem}`);
  }

  /** Each step is taken through the next replica. */
  #next(): Client {
    return this.#clients[this.#steps++ % this.#clients.length] as Client;
  }

  async #send(
    client: Client,
    [method, path, body, contentType]: readonly [method: string, path: string, body?: object, contentType?: string],
    allowed: readonly number[],
  ): Promise<ClientResponse> {
    const response = await client.request(method, path, {
      ...(body && { body }),
      ...(contentType && { contentType }),
    });
    if (!allowed.includes(response.status))
      this.#blame(`${method} ${path} was answered ${response.status}: ${response.body.slice(0, 500)}`);
    return response;
  }

  /** What waits for the kind: a quota of the namespace, and a policy whose parameter is an object of the kind. */
  async #prepare(): Promise<void> {
    const [client] = this.#clients as readonly [Client];
    await this.#send(client, ['POST', '/api/v1/namespaces', { metadata: { name: this.#namespace } }], [201]);
    const hard = { [`count/things.${this.group}`]: `${quotaMax}` };
    const quotas = `/api/v1/namespaces/${this.#namespace}/resourcequotas`;
    await this.#send(client, ['POST', quotas, { metadata: { name: 'few' }, spec: { hard } }], [201]);
    const metadata = { name: this.#name };
    const creations = { apiGroups: [this.group], apiVersions: ['*'], operations: ['CREATE'] };
    const policy = {
      metadata,
      spec: {
        paramKind: { apiVersion: `${this.group}/v1`, kind: 'Thing' },
        matchConstraints: {
          resourceRules: [{ ...creations, resources: ['things'] }],
          excludeResourceRules: [{ ...creations, resources: ['things'], resourceNames: ['limit'] }],
        },
        validations: [{ expression: 'object.metadata.name != params.metadata.labels.forbidden' }],
      },
    };
    await this.#send(client, ['POST', `${registration}/validatingadmissionpolicies`, policy], [201]);
    const binding = {
      metadata,
      spec: {
        policyName: this.#name,
        validationActions: ['Deny'],
        paramRef: { selector: { matchLabels: { use: 'limit' } }, parameterNotFoundAction: 'Deny' },
      },
    };
    await this.#send(client, ['POST', `${registration}/validatingadmissionpolicybindings`, binding], [201]);
  }

  get #definition(): object {
    const schema = {
      openAPIV3Schema: { type: 'object', properties: { [this.#field]: { type: 'integer', default: this.#round } } },
    };
    return {
      metadata: { name: this.#name, labels: { load: this.#namespace } },
      spec: {
        group: this.group,
        scope: this.#isNamespaced ? 'Namespaced' : 'Cluster',
        names: { plural: 'things', kind: 'Thing' },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    };
  }

  /** A definition that is deleted before anything is known of it. */
  async #beHasty(): Promise<void> {
    await this.#send(this.#next(), ['POST', definitionsPath, this.#definition], [201]);
    await this.#delete();
  }

  async #define(): Promise<void> {
    await this.#send(this.#next(), ['POST', definitionsPath, this.#definition], [201]);
    const client = this.#next();
    await until('establishment', async () => {
      const { body } = await this.#send(client, ['GET', `${definitionsPath}/${this.#name}`], [200]);
      const { status } = JSON.parse(body) as { status?: { conditions?: readonly Condition[] } };
      return status?.conditions?.some((one) => one.type === 'Established' && one.status === 'True') || undefined;
    });
  }

  /** The kind has just been established: every replica serves it, with its schema, its quota and its policy. */
  async #useAtOnce(): Promise<readonly Item[]> {
    const lists = this.#clients.map(async (client) =>
      this.#list(await this.#send(client, ['GET', this.#collection], [200])),
    );
    for (const items of await Promise.all(lists)) if (items.length > 0) this.#blame('a new kind has objects');
    const [watcher] = this.#clients as readonly [Client];
    await this.#send(watcher, ['GET', `/apis/${this.group}/v1`], [200]);
    const limit = await this.#create(this.#next(), 'limit', [201], { labels: { use: 'limit', forbidden: 'bad' } });
    await Promise.all(
      this.#clients.map((client) =>
        // A replica that does not know the parameter yet refuses all.
        until('the parameter at each replica', async () => {
          const path = `${this.#collection}/limit?resourceVersion=0`;
          return (await client.request('GET', path)).status === 200 || undefined;
        }),
      ),
    );
    const bad = await Promise.all(this.#clients.map((client) => this.#create(client, 'bad', [422])));
    // One of two is left by the quota, for the parameter is counted, too.
    const room = this.#isNamespaced ? [201, 403] : [201];
    const good = await Promise.all(this.#clients.map((client, at) => this.#create(client, `good-${at}`, room)));
    const created = [...limit, ...bad.flat(), ...good.flat()];
    const expected = this.#isNamespaced ? quotaMax : 1 + this.#clients.length;
    if (created.length !== expected) this.#blame(`${created.length} objects were created, not ${expected}`);
    return created;
  }

  async #create(
    client: Client,
    name: string,
    allowed: readonly number[],
    metadata: object = {},
  ): Promise<readonly Item[]> {
    const body = {
      apiVersion: `${this.group}/v1`,
      kind: 'Thing',
      metadata: { name, ...metadata },
      [`round${this.#round - 1}`]: 'of the round before, when it was known',
    };
    const response = await this.#send(client, ['POST', this.#collection, body], allowed);
    if (response.status !== 201) return [];
    const created = JSON.parse(response.body) as Item;
    this.#checkObject(created);
    return [created];
  }

  #list({ status, body }: ClientResponse): readonly Item[] {
    const items = status === 200 ? (JSON.parse(body) as { items: readonly Item[] }).items : [];
    for (const item of items) this.#checkObject(item);
    return items;
  }

  #checkObject(item: Item): void {
    const { metadata, apiVersion: _, kind: __, ...fields } = item;
    if (this.#old.has(metadata.uid)) this.#blame(`${metadata.name} is of an earlier definition`);
    for (const field of Object.keys(fields))
      if (![this.#field, 'added'].includes(field)) this.#blame(`${metadata.name} has the field ${field}`);
    if (fields[this.#field] !== this.#round) this.#blame(`${metadata.name} has no default for ${this.#field}`);
  }

  /** At each replica, from now and from the beginning. */
  async #watch(objects: readonly Item[]): Promise<readonly Watch[]> {
    const watches = this.#replicas.flatMap(({ url }) => [
      this.#watchAt(url, ''),
      this.#watchAt(url, '&resourceVersion=0'),
      this.#watchAt(url, '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'),
    ]);
    await until(
      'the initial events',
      () => watches.every(({ present }) => present.size >= objects.length) || undefined,
    );
    return watches;
  }

  #watchAt(url: string, query: string): Watch {
    const watch: Watch = { url, present: new Map(), seen: new Set(), isClosed: false };
    const path = `/apis/${this.group}/v1/things?watch=true&allowWatchBookmarks=true${query}`;
    this.#transport.open(url, path, {
      status: (code) => {
        if (code !== 200) this.#blame(`a watch was answered ${code}`);
      },
      line: (text) => {
        const { type, object } = JSON.parse(text) as { readonly type: string; readonly object: Item };
        if (type === 'BOOKMARK') return;
        if (type === 'ERROR') return this.#blame(`a watch got ${text}`);
        this.#checkObject(object);
        const { uid, name } = object.metadata;
        if ((type === 'ADDED') === watch.present.has(uid)) this.#blame(`a watch got ${type} of ${name} once too often`);
        watch.seen.add(uid);
        if (type === 'DELETED') watch.present.delete(uid);
        else watch.present.set(uid, name);
      },
      closed: () => (watch.isClosed = true),
    });
    return watch;
  }

  /** Another field, column, label and version, while objects are written. */
  async #change(watches: readonly Watch[]): Promise<Readonly<Record<string, unknown>>> {
    const { body } = await this.#send(this.#next(), ['GET', `${definitionsPath}/${this.#name}`], [200]);
    const { versions } = (JSON.parse(body) as { spec: { versions: readonly [Record<string, unknown>] } }).spec;
    const properties = { [this.#field]: { type: 'integer', default: this.#round }, added: { type: 'string' } };
    const schema = { openAPIV3Schema: { type: 'object', properties } };
    const additionalPrinterColumns = [{ name: 'Added', type: 'string', jsonPath: '.added' }];
    const v1 = { ...versions[0], schema };
    const steps: readonly object[] = [
      { versions: [v1] },
      { versions: [{ ...v1, additionalPrinterColumns }] },
      { versions: [v1, { ...v1, name: 'v2', storage: false }] },
    ];
    for (const [at, spec] of steps.entries()) {
      const patch = { metadata: { labels: { step: `${at}` } }, spec };
      const path = `${this.#collection}/limit`;
      await Promise.all([
        this.#send(this.#next(), ['PATCH', `${definitionsPath}/${this.#name}`, patch, merge], [200]),
        ...this.#clients.map((client, of) =>
          this.#send(client, ['PATCH', path, { metadata: { labels: { [`step-${of}`]: `${at}` } } }, merge], [200]),
        ),
      ]);
      await Promise.all(
        this.#clients.map((client) =>
          // Written only when all replicas know the field: one that has pruned it reads the objects again, and ends watches.
          until('the changed schema at each replica', async () => {
            const change = { added: `in step ${at}` };
            const response = await this.#send(client, ['PATCH', `${path}?dryRun=All`, change, merge], [200]);
            return (JSON.parse(response.body) as Item)['added'] !== undefined || undefined;
          }),
        ),
      );
      await this.#send(this.#next(), ['PATCH', path, { added: `in step ${at}` }, merge], [200]);
      for (const { url, isClosed } of watches) if (isClosed) this.#blame(`a watch at ${url} ended at step ${at}`);
    }
    await this.#inBothVersions();
    return v1;
  }

  /** Other watches after a change of the stored version, which ends them. Requests may meet a kind that is being loaded. */
  async #storeInAnother(v1: object, watches: readonly Watch[]): Promise<readonly Watch[]> {
    const spec = {
      versions: [
        { ...v1, storage: false },
        { ...v1, name: 'v2' },
      ],
    };
    await this.#send(this.#next(), ['PATCH', `${definitionsPath}/${this.#name}`, { spec }, merge], [200]);
    await until('the end of the watches', async () => {
      const patch = { metadata: { labels: { stored: 'again' } } };
      await this.#send(this.#next(), ['PATCH', `${this.#collection}/limit`, patch, merge], [200, 503]);
      return watches.every(({ isClosed }) => isClosed) || undefined;
    });
    for (const { seen } of watches) for (const uid of seen) this.#ofRound.add(uid);
    const lists = this.#clients.map((client) =>
      until('the kind at each replica', async () => {
        const response = await this.#send(client, ['GET', this.#collection], [200, 503]);
        return response.status === 200 ? this.#list(response) : undefined;
      }),
    );
    const [items = []] = await Promise.all(lists);
    return this.#watch(items);
  }

  async #inBothVersions(): Promise<void> {
    const path = `${this.#collection.replace('/v1/', '/v2/')}/limit`;
    for (const client of this.#clients)
      await until('the second version at each replica', async () => {
        const { status, body } = await this.#send(client, ['GET', path], [200, 404]);
        if (status === 200) this.#checkObject(JSON.parse(body) as Item);
        return status === 200 || undefined;
      });
  }

  /** By name or as a collection, while objects are created. */
  async #delete(): Promise<void> {
    const byName = ['DELETE', `${definitionsPath}/${this.#name}`] as const;
    const asCollection = ['DELETE', `${definitionsPath}?labelSelector=load%3D${this.#namespace}`] as const;
    const deletion = this.#send(this.#next(), this.#round % 3 === 0 ? asCollection : byName, [200]);
    let isGone = false;
    const creations = this.#clients.map(async (client, of) => {
      for (let at = 0; !isGone; at++) await this.#create(client, `late-${of}-${at}`, [201, 403, 404, 405, 422]);
    });
    await deletion;
    const client = this.#next();
    await until('the end of the definition', async () => {
      const { status } = await this.#send(client, ['GET', `${definitionsPath}/${this.#name}`], [200, 404]);
      return status === 404 || undefined;
    }).finally(() => (isGone = true));
    await Promise.all(creations);
  }
}
