export {
  type LabelSelectorField,
  type SelectorRequirementField,
  validateLabelRequirement,
  validateLabelSelector,
  validateRequirementValues,
} from './label-selector.ts';
export {
  allowTrailingDash,
  anyNames,
  dnsWordLabel,
  labelNames,
  labelValueRule,
  type NameRule,
  type NameRules,
  pathSegment,
  pathSegmentNames,
  qualifiedName,
  subdomainNames,
  validateDomainPrefixedPath,
} from './names.ts';
export {
  foregroundFinalizer,
  type MetadataChecks,
  standardFinalizers,
  isPrintable,
  orphanFinalizer,
  validateAnnotations,
  validateFinalizers,
  validateLabelCount,
  validateLabels,
  validateManager,
  validateObjectMeta,
  validateUpdatedMeta,
} from './object-meta.ts';
export { countValues, requireBoundedMembers, requireBoundedValues } from './values.ts';
