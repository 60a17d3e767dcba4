export { readFieldSelector, readLabelSelector, type SelectorAttributes } from './access-selector.ts';
export { type FieldSelector, fieldMatcher, parseFieldSelector } from './field-selector.ts';
export {
  type LabelSelector,
  labelMatcher,
  matcherOfField,
  type LabelRequirement,
  parseLabelSelector,
} from './label-selector.ts';
export { SelectorSyntaxError } from './selector-error.ts';
export {
  formatShardSelector,
  matchesShards,
  parseShardSelector,
  type ShardSelector,
  shardHash,
} from './shard-selector.ts';
