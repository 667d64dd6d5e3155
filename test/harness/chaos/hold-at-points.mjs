// @ts-check
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { activityInfo } from '@temporalio/activity';
import { Worker } from '@temporalio/worker';

/**
 * Makes every worker of this process hold its activities at points that are armed from outside: a file
 * `armed.<number>.<before|after>.<ACTION>` in the folder. Who meets it renames it to `met.<number>.<pid>`,
 * and waits until it is gone.
 * @param {string} folder
 */
export function holdAtPoints(folder) {
  const create = Worker.create.bind(Worker);
  Worker.create = (options) => {
    const activity = [...(options.interceptors?.activity ?? []), () => ({ inbound: holdingAt(folder) })];
    return create({ ...options, interceptors: { ...options.interceptors, activity } });
  };
}

/**
 * @param {string} folder
 * @returns {import('@temporalio/worker').ActivityInboundCallsInterceptor}
 */
function holdingAt(folder) {
  return {
    async execute(input, next) {
      const { activityType } = activityInfo();
      await meet(folder, 'before', activityType);
      const result = await next(input);
      await meet(folder, 'after', activityType);
      return result;
    },
  };
}

/**
 * @param {string} folder
 * @param {'before' | 'after'} moment
 * @param {string} action
 */
async function meet(folder, moment, action) {
  const name = readdirSync(folder).find(
    (candidate) => candidate.startsWith('armed.') && candidate.endsWith(`.${moment}.${action}`),
  );
  if (name === undefined) return;
  const met = join(folder, `met.${name.split('.')[1]}.${process.pid}`);
  try {
    renameSync(join(folder, name), met);
  } catch {
    // Another worker met it first.
    return;
  }
  while (existsSync(met)) await pause(10);
}
