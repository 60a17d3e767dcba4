import type { View } from '@cluster-apiserver/storage';
import type { Resource } from '../resource.ts';
import { type CachedObject, unreadableTerm } from '../stored-object.ts';

/** Whether a collection holds anything below the text; maybe, while it is not served. */
export const hasItemWithin = ({ collection }: Resource, within: string): boolean =>
  !collection.isReady || hasWithin(collection.view().items, within);

/** Whether a collection holds an unreadable object below the text; all are while it is not served. */
export const hasUnreadableWithin = ({ collection }: Resource, within: string): boolean =>
  !collection.isReady || hasWithin(collection.view().terms.get(unreadableTerm)?.items, within);

function hasWithin(items: View<CachedObject>['items'] | undefined, within: string): boolean {
  let found = false;
  items?.visit(within, ({ key }) => {
    found = key.startsWith(within);
    return false;
  });
  return found;
}
