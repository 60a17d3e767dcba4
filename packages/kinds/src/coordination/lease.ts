import { ageColumn, defineKind, nameColumn, type ObjectOf } from '@cluster-apiserver/model/kind';
import { field, int32, microTime, object, publicationOf, string } from '@cluster-apiserver/model/schema';

const coordination = { group: 'coordination.k8s.io', version: 'v1' };

const specSchema = object(
  {
    holderIdentity: field(1, string, 'Identity of the holder; empty if the lease is free.', 'given'),
    leaseDurationSeconds: field(
      2,
      int32,
      'Seconds that others wait after the last renewal that they saw before they take the lease.',
      'given',
    ),
    acquireTime: field(3, microTime, 'Time at which the holder acquired the lease.'),
    renewTime: field(4, microTime, 'Time of the last renewal by the holder.'),
    leaseTransitions: field(5, int32, 'Number of changes of the holder.', 'given'),
    strategy: field(6, string, 'Strategy of a coordinated election. Not supported: it is dropped.', 'given'),
    preferredHolder: field(7, string, 'Holder that should get the lease next. Not supported: it is dropped.', 'given'),
  },
  { publication: publicationOf({ ...coordination, kind: 'LeaseSpec' }, 'Holder of a lease, and its times.') },
);

const fields = { spec: field(2, specSchema, 'Holder of the lease, and its times.', 'always') };

export type Lease = ObjectOf<typeof fields>;

/** What candidates compete for: its holder leads. */
export const lease = defineKind({
  ...coordination,
  kind: 'Lease',
  plural: 'leases',
  singular: 'lease',
  qualifiedFinalizers: false,
  metadataChecks: 'change',
  description: 'A lock that one holder has until it expires, for example the leadership of controllers.',
  fields,
  createOnUpdate: true,
  updateNeedsVersion: true,
  prepare: withoutCoordination,
  validate: ({ spec: { leaseDurationSeconds, leaseTransitions } }, _, problems) => {
    if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0)
      problems.at('spec', 'leaseDurationSeconds').invalid(leaseDurationSeconds, 'must be greater than 0');
    if (leaseTransitions !== undefined && leaseTransitions < 0)
      problems.at('spec', 'leaseTransitions').invalid(leaseTransitions, 'must be greater than or equal to 0');
  },
  columns: [
    nameColumn,
    { name: 'Holder', description: 'Identity of the holder.', value: ({ spec }) => spec.holderIdentity ?? '' },
    ageColumn,
  ],
});

/** Like kube-apiserver, whose coordinated elections are off by default. */
function withoutCoordination(written: Lease): Lease {
  const { strategy, preferredHolder, ...spec } = written.spec;
  return strategy === undefined && preferredHolder === undefined ? written : { ...written, spec };
}
