/**
 * Fills Secrets of the type kubernetes.io/service-account-token with a token of their account, and deletes those whose
 * account does not exist.
 *
 * A Secret is reconciled when it changes and when its account comes, goes or is replaced: so one that is filled while its
 * account is deleted is reconciled again, and goes. What is written depends on the state that was decided on.
 */
import { type Secret, serviceAccountNameAnnotation, serviceAccountTokenType } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { CachedObject, Resource, StoredObject } from '@cluster-apiserver/registry';
import { type ItemChange, itemKey, textOfItemKey } from '@cluster-apiserver/storage';
import { changeObject, deleteUnlessChanged } from '../change-object.ts';
import { isLoaded, readable, readBarrier } from '../memory.ts';
import { requireKind } from '../object-of-kind.ts';
import {
  type ControllerContext,
  type ControllerOptions,
  type ControllerServices,
  type Reconciler,
  runController,
  manager,
} from '../run-controller.ts';

export const uidAnnotation = 'kubernetes.io/service-account.uid';

/** As in Kubernetes. */
const workers = 5;

type TokenOptions = ControllerOptions & Pick<ControllerServices, 'rootCertificates'> & TokenSigner;

interface TokenSigner {
  readonly signSecretToken: NonNullable<ControllerServices['signSecretToken']>;
}

/** Runs until the signal aborts, and resolves when no work is running any more. */
export async function fillTokenSecrets(options: ControllerOptions & ControllerServices): Promise<void> {
  const { api, signal, signSecretToken } = options;
  const secrets = api.byGroupKind('', 'Secret');
  const accounts = api.byGroupKind('', 'ServiceAccount');
  if (!secrets || !accounts || !signSecretToken || signal.aborted) return;
  await runController(options, {
    workers,
    reconciled: secrets,
    alsoFollowed: [accounts],
    start: (context) => new TokenSecrets({ ...options, signSecretToken }, secrets, accounts, context),
  });
}

/** A Secret that memory held at its last reconciliation. */
interface KnownSecret {
  readonly uid: string;
  readonly accountKey: string;
}

class TokenSecrets implements Reconciler {
  readonly #options: TokenOptions;
  readonly #secrets: Resource;
  readonly #accounts: Resource;
  readonly #context: ControllerContext;
  /** The token Secrets by their keys, and their keys by those of their accounts. */
  readonly #known = new Map<string, KnownSecret>();
  readonly #byAccount = new Map<string, Set<string>>();

  constructor(options: TokenOptions, secrets: Resource, accounts: Resource, context: ControllerContext) {
    this.#options = options;
    this.#secrets = secrets;
    this.#accounts = accounts;
    this.#context = context;
  }

  async reconcile(key: string): Promise<void> {
    await readBarrier([this.#secrets, this.#accounts], this.#context.call(), this.#options.signal);
    if (!isLoaded([this.#secrets, this.#accounts])) return; // the load begins a sync
    const item = this.#secrets.collection.get(key);
    if (item?.unreadable) return; // it is enqueued when it can be read
    const secret = tokenSecret(item);
    const object = secret && requireKind(secret.object, 'Secret');
    const accountKey = secret && object && accountKeyOf(secret.namespace, object);
    const before = this.#known.get(key);
    this.#note(key, secret && accountKey !== undefined ? { uid: secret.uid, accountKey } : undefined);
    const account = accountKey === undefined ? undefined : this.#accounts.collection.get(accountKey);
    if (before && before.uid !== secret?.uid) await this.#removeReference(before.accountKey, nameOf(key));
    if (!secret || !object || account?.unreadable) return; // the Secrets of an account are enqueued when it can be read
    const uid = object.metadata.annotations?.[uidAnnotation] ?? '';
    if (!account || (uid !== '' && uid !== account.uid)) await this.#delete(secret);
    else if (!object.immutable) await this.#fill(secret, object, account);
  }

  changed(resource: Resource, { key, previous, current }: ItemChange<CachedObject>): void {
    const { enqueue, pace } = this.#context;
    if (resource === this.#secrets) {
      if (tokenSecret(previous) || tokenSecret(current)) enqueue(key);
      return;
    }
    const own = this.#byAccount.get(key);
    // The end of the term ends it, too.
    if (own && readable(previous)?.uid !== readable(current)?.uid) pace.forEach(own, enqueue).catch(() => {});
  }

  async sync(): Promise<void> {
    const { enqueue, forEachKey, pace } = this.#context;
    await pace.forEach(this.#known.keys(), enqueue);
    await forEachKey((key) => {
      if (tokenSecret(this.#secrets.collection.get(key))) enqueue(key);
    });
  }

  #note(key: string, now: KnownSecret | undefined): void {
    const before = this.#known.get(key);
    if (before && before.accountKey !== now?.accountKey) {
      const others = this.#byAccount.get(before.accountKey);
      others?.delete(key);
      if (others?.size === 0) this.#byAccount.delete(before.accountKey);
    }
    if (!now) {
      this.#known.delete(key);
      return;
    }
    this.#known.set(key, now);
    const own = this.#byAccount.get(now.accountKey);
    if (own) own.add(key);
    else this.#byAccount.set(now.accountKey, new Set([key]));
  }

  async #delete({ key, namespace, name, uid }: StoredObject): Promise<void> {
    const { log } = this.#options;
    if (await deleteUnlessChanged(this.#secrets, { namespace, name, uid }, this.#context.call()))
      log.debug(2, 'deleted a token secret without its service account', { secret: textOfItemKey(key) });
  }

  /** Adds what is missing, and replaces other root certificates. */
  async #fill(secret: StoredObject, { data = {} }: Secret, account: StoredObject): Promise<void> {
    const { signSecretToken, rootCertificates: roots, log } = this.#options;
    const { key, namespace, name, revision } = secret;
    const missing: Record<string, string> = {
      ...(roots !== undefined && data['ca.crt'] !== toBase64(roots) && { 'ca.crt': toBase64(roots) }),
      ...(!data['namespace'] && { namespace: toBase64(namespace) }),
      ...(!data['token'] && { token: toBase64(await signSecretToken(identityOf(account), name)) }),
    };
    if (Object.keys(missing).length === 0) return;
    const annotations = { [serviceAccountNameAnnotation]: account.name, [uidAnnotation]: account.uid };
    const change = (current: KubeObject): object => {
      // A state that was not decided on causes the next change.
      if (current.metadata.resourceVersion !== String(revision)) return current;
      const { metadata, data: present } = requireKind(current, 'Secret');
      return {
        ...current,
        metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
        data: { ...present, ...missing },
      } satisfies Secret;
    };
    await changeObject(this.#secrets, secret, { manager, change }, this.#context.call());
    log.debug(2, 'filled a token secret', { secret: textOfItemKey(key) });
  }

  /** Takes a Secret that is gone out of the `secrets` of its account. */
  async #removeReference(accountKey: string, secretName: string): Promise<void> {
    const account = readable(this.#accounts.collection.get(accountKey));
    if (!account) return;
    const isOther = ({ name }: { readonly name?: string }): boolean => name !== secretName;
    const { secrets = [] } = requireKind(account.object, 'ServiceAccount');
    if (secrets.every(isOther)) return;
    const change = (current: KubeObject): object => ({
      ...current,
      secrets: (requireKind(current, 'ServiceAccount').secrets ?? []).filter(isOther),
    });
    await changeObject(this.#accounts, account, { manager, change }, this.#context.call());
  }
}

export const tokenSecret = (item: CachedObject | undefined): StoredObject | undefined => {
  const stored = readable(item);
  return stored?.fields?.['type'] === serviceAccountTokenType ? stored : undefined;
};

export function accountKeyOf(namespace: string, { metadata }: Secret): string | undefined {
  const name = metadata.annotations?.[serviceAccountNameAnnotation];
  return name === undefined ? undefined : itemKey(`${namespace}/${name}`);
}

const identityOf = ({ namespace, name, uid }: StoredObject) => ({ namespace, name, uid });

const nameOf = (key: string): string => textOfItemKey(key.slice(key.indexOf('/') + 1));

const toBase64 = (text: string): string => Buffer.from(text).toString('base64');
