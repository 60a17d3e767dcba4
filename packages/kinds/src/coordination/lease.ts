import { ageColumn, defineKind, nameColumn, type ObjectOf } from '@cluster-apiserver/model/kind';
import { field, int32, microTime, object, publicationOf, string } from '@cluster-apiserver/model/schema';

const coordination = { group: 'coordination.k8s.io', version: 'v1' };

const specSchema = object(
  {
    holderIdentity: field(1, string, 'Who holds the lease; empty if it is free.', 'given'),
    leaseDurationSeconds: field(
      2,
      int32,
      'How long others wait after the last renewal that they saw before they take the lease.',
      'given',
    ),
    acquireTime: field(3, microTime, 'When the holder got the lease.'),
    renewTime: field(4, microTime, 'When the holder last renewed it.'),
    leaseTransitions: field(5, int32, 'How often the holder changed.', 'given'),
    strategy: field(6, string, 'How a coordinated election chooses the holder. Not supported: it is dropped.', 'given'),
    preferredHolder: field(7, string, 'Who should get the lease next. Not supported: it is dropped.', 'given'),
  },
  { publication: publicationOf({ ...coordination, kind: 'LeaseSpec' }, 'Who holds a lease, and since when.') },
);

const fields = { spec: field(2, specSchema, 'Who holds the lease, and since when.', 'always') };

export type Lease = ObjectOf<typeof fields>;

/** What candidates compete for: its holder leads. */
export const lease = defineKind({
  ...coordination,
  kind: 'Lease',
  plural: 'leases',
  singular: 'lease',
  qualifiedFinalizers: false,
  description: 'Says who holds something that only one may hold, and until when.',
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
    { name: 'Holder', description: 'Who holds the lease.', value: ({ spec }) => spec.holderIdentity ?? '' },
    ageColumn,
  ],
});

/** Like kube-apiserver, whose coordinated elections are off by default. */
function withoutCoordination(written: Lease): Lease {
  const { strategy, preferredHolder, ...spec } = written.spec;
  return strategy === undefined && preferredHolder === undefined ? written : { ...written, spec };
}
