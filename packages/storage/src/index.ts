export {
  CollectionDetachedError,
  CollectionSuspendedError,
  CorruptValueError,
  HistoryReplacedError,
  KeyExistsError,
  KeyUnavailableError,
  PreconditionFailedError,
  RevisionCompactedError,
  RevisionMismatchError,
  RevisionReplacedError,
  RevisionTooLargeError,
  StorageFullError,
  StorageUnavailableError,
  ValueTooLargeError,
  WriteInDoubtError,
} from './errors.ts';
export { EtcdClient, type EtcdOptions } from './etcd/client.ts';
export type { EtcdEvent } from './etcd/etcd-event.ts';
export { type CompactionEvent, type CompactionOptions, startCompaction } from './etcd/compaction.ts';
export { Election, type ElectionEvent, type ElectionOptions } from './etcd/election.ts';
export { isTooOld, oldestVersion } from './etcd/supported-version.ts';
export { type EtcdStoreOptions, EtcdStore } from './etcd/etcd-store.ts';
export { type HistoryReplaced } from './etcd/history.ts';
export { type GetCredentials, http2Connect } from './etcd/http2-transport.ts';
export type { TlsCredentials } from './etcd/http2/dial.ts';
export type { EtcdMeasures, EtcdOperation } from './etcd/measures.ts';
export { type Revision, revision } from './revision.ts';
export type {
  Call,
  Change,
  ChangeSet,
  Entry,
  Feed,
  FollowedStore,
  Precondition,
  Range,
  ReadResult,
  ListResult,
  Store,
  UnreadableEntry,
  WriteOptions,
} from './store.ts';
export type { StoredValue } from './stored-value.ts';
export { aesCbc } from './transform/aes-cbc.ts';
export { aesGcm } from './transform/aes-gcm.ts';
export { kmsV1Service, kmsV2Service } from './transform/kms/grpc-service.ts';
export { kmsV1 } from './transform/kms/kms-v1.ts';
export { KmsV2 } from './transform/kms/kms-v2.ts';
export type { KmsMeasures, KmsPlugin, KmsPluginOptions } from './transform/kms/plugin-monitor.ts';
export { nonceBudget } from './transform/nonce-budget.ts';
export { identityProvider, prefixOf, prefixTransformer, type Provider } from './transform/prefix-transformer.ts';
export { followTransformer, type RetirableTransformer, makeRetirable } from './transform/retirable-transformer.ts';
export { secretbox } from './transform/secretbox.ts';
export { identity, rawTransformer, type Transformed, type Transformer } from './transform/transformer.ts';
export { Collection, type CollectionStatistics, type ListPage } from './watch-cache/collection.ts';
export type { CacheItem, CollectionDescriptor, ReadMeasures } from './watch-cache/collection-descriptor.ts';
export { itemKey, textOfItemKey } from './watch-cache/entry-decoder.ts';
export type { HistoryReader } from './watch-cache/history-reader.ts';
export { WatchCache } from './watch-cache/watch-cache.ts';
export type { WatchCacheEvent } from './watch-cache/watch-cache-event.ts';
export { SortedSet } from './watch-cache/sorted-set.ts';
export type { View } from './watch-cache/view.ts';
export type { ItemChange } from './watch-cache/change-window.ts';
export { PrefixMap } from './watch-cache/prefix-map.ts';
