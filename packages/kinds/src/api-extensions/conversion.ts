import type { SyncTask } from '@cluster-apiserver/base';
import type { Problems } from '@cluster-apiserver/model';
import { dnsWordLabel } from '@cluster-apiserver/model/validation';
import { validateClientConfig } from '../admission-registration/client-config.ts';
import { findBundleProblem } from './ca-bundle.ts';
import type { Conversion } from './definition-fields.ts';

/** Versions of ConversionReview that this server can send. */
const reviewVersions = ['v1', 'v1beta1'];

/** Whether a bundle without certificates is refused: one that is stored so, or not in use yet, may stay. */
interface ConversionOptions {
  readonly requiresBundle: boolean;
}

/** Errors name the fields of the form in which upstream holds definitions. */
export function* validateConversion(
  { strategy, webhook }: Conversion,
  { requiresBundle }: ConversionOptions,
  problems: Problems,
): SyncTask<void> {
  if (strategy === '') problems.at('strategy').required();
  else problems.at('strategy').oneOf(strategy, ['None', 'Webhook']);
  const [configAt, versionsAt] = [problems.at('webhookClientConfig'), problems.at('conversionReviewVersions')];
  const { clientConfig, conversionReviewVersions } = webhook ?? {};
  const versions = conversionReviewVersions ?? [];
  if (strategy !== 'Webhook') {
    const detail = 'should not be set when strategy is not set to Webhook';
    if (clientConfig) configAt.forbidden(detail);
    if (versions.length > 0) versionsAt.forbidden(detail);
    return;
  }
  if (clientConfig) {
    yield* validateClientConfig(clientConfig, configAt);
    const { caBundle = '' } = clientConfig;
    const problem = requiresBundle && caBundle ? yield* findBundleProblem(caBundle) : undefined;
    if (problem !== undefined) configAt.at('caBundle').invalid(caBundle, problem);
  } else configAt.required('required when strategy is set to Webhook');
  validateReviewVersions(versions, versionsAt);
}

function validateReviewVersions(versions: readonly string[], problems: Problems): void {
  if (versions.length === 0) return void problems.required();
  const seen = new Set<string>();
  problems.each(versions, (version, at) => {
    if (seen.has(version)) at.invalid(version, 'duplicate version');
    else at.check(dnsWordLabel, version);
    seen.add(version);
  });
  if (!versions.some((version) => reviewVersions.includes(version)))
    problems.invalid(versions, `must include at least one of ${reviewVersions.join(', ')}`);
}
