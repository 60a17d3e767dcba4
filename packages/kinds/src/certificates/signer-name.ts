import type { Problems } from '@cluster-apiserver/model';
import { labelNames, subdomainNames } from '@cluster-apiserver/model/validation';

/** Of clients that are older than names of signers. */
export const legacySignerName = 'kubernetes.io/legacy-unknown';

const domainBytesMax = 253;
const pathBytesMax = 253 + 63 + 1;
const nameBytesMax = domainBytesMax + pathBytesMax + 1;

/** A domain and a path in it: `example.com/signer`. */
export function validateSignerName(name: string, problems: Problems): void {
  if (name === '') {
    problems.required();
    return;
  }
  const [domain = '', path, ...others] = name.split('/');
  if (path === undefined || others.length > 0) {
    problems.invalid(name, "must be a fully qualified domain and path of the form 'example.com/signer-name'");
    return;
  }
  if (domain.length > domainBytesMax) problems.tooLong(domainBytesMax);
  const labels = domain.split('.');
  validateLabels(labels, domain, labelNames.whole, problems);
  if (labels.length < 2) problems.invalid(domain, 'should be a domain with at least two segments separated by dots');
  validateLabels(path.split('.'), path, subdomainNames.whole, problems);
  if (name.length > nameBytesMax) problems.tooLong(nameBytesMax);
}

/** Only the first wrong one is named. */
function validateLabels(
  labels: readonly string[],
  whole: string,
  rule: (label: string) => readonly string[],
  problems: Problems,
): void {
  const wrong = labels.find((label) => rule(label).length > 0);
  if (wrong === undefined) return;
  for (const detail of rule(wrong)) problems.invalid(whole, `validating label "${wrong}": ${detail}`);
}
