import type { Kind } from '@cluster-apiserver/model';
import { event } from './event/event.ts';
import { serviceAccount } from './service-account/service-account.ts';
import type { KindServices } from './services.ts';

export type { KindServices } from './services.ts';

/** The kinds that this server serves: a kind exists by its line here. */
export const kinds = (services: KindServices): readonly Kind[] => [event(services), serviceAccount];
