import type { ListenerMeasures } from '../src/listener/measures.ts';

export const noListenerMeasures: ListenerMeasures = {
  countFailedCallback: () => {},
  countRefusedConnection: () => {},
  countFailedHandshake: () => {},
  countCutOffResponse: () => {},
  countRefusedBody: () => {},
  setSizes: () => {},
};
