import { forbiddenResource, type StatusError } from '@cluster-apiserver/model';
import { type AdmissionContext, type AdmissionPlugin, nameOf } from './admission.ts';

/** Refuses each write. */
export const alwaysDenyWrites: AdmissionPlugin = {
  name: 'AlwaysDeny',
  mutate: (context) => {
    throw refusalOf(context);
  },
  validate: (context) => {
    throw refusalOf(context);
  },
};

const refusalOf = (context: AdmissionContext): StatusError =>
  forbiddenResource(context.resource, nameOf(context), 'admission control is denying all modifications');
