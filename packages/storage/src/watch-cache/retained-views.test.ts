import { expect, test } from '@jest/globals';
import { revision } from '../revision.ts';
import { RetainedViews } from './retained-views.ts';
import { emptyView } from './view.ts';

test('views older than the window are dropped, in whatever order they were added', () => {
  const views = new RetainedViews();
  // A list at an exact revision adds a view that is older than others.
  for (const at of [30, 10, 40, 20]) views.add(emptyView(revision(at)), views.epoch);
  views.dropBefore(revision(30));
  expect([10, 20, 30, 40].filter((at) => views.get(revision(at)))).toEqual([30, 40]);
});

test('the view that was added first is dropped for the 65th', () => {
  const views = new RetainedViews();
  for (let at = 1; at <= 65; at++) views.add(emptyView(revision(at)), views.epoch);
  expect([1, 2, 65].map((at) => views.get(revision(at)) !== undefined)).toEqual([false, true, true]);
});

test('a view that was made before all were cleared is not kept', () => {
  const views = new RetainedViews();
  const { epoch } = views;
  views.clear();
  views.add(emptyView(revision(1)), epoch);
  expect(views.get(revision(1))).toBeUndefined();
});
