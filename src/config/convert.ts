import type { NotifySettings } from '../activities/reservation/parts.js';
import type { ReservationSettings } from '../model/reservation/state.js';
import { defaultSweep, type SweepSettings } from '../model/sweep/sweep.js';
import type { WrittenConfig } from '../schema/config.js';
import type { PluginLimits } from '../schema/descriptor-program.js';
import { milliseconds } from '../model/milliseconds.js';

export function toLimits({ time, ...limits }: WrittenConfig['pluginLimits'][string]): PluginLimits {
  return { ...limits, ...(time === undefined ? {} : { timeMs: milliseconds(time) }) };
}

export function toSweep({
  every,
  minimumAge,
  cap,
  delete: deletes,
}: NonNullable<WrittenConfig['sweep']> = {}): SweepSettings {
  const { everyMs, policy } = defaultSweep;
  return {
    everyMs: every === undefined ? everyMs : milliseconds(every),
    policy: {
      minimumAgeMs: minimumAge === undefined ? policy.minimumAgeMs : milliseconds(minimumAge),
      cap: cap ?? policy.cap,
      delete: deletes ?? policy.delete,
    },
  };
}

export interface ReservationConfig {
  readonly settings: ReservationSettings;
  /** Receivers of notifications about reservations. */
  readonly notify: NotifySettings;
}

export function toReservations({
  prepare = 15 * 60,
  remind = 10 * 60,
  longest = 7 * 24 * 3_600,
  notify = {},
}: NonNullable<WrittenConfig['reservations']> = {}): ReservationConfig {
  const settings = {
    prepareMs: milliseconds(prepare),
    remindMs: milliseconds(remind),
    longestMs: milliseconds(longest),
  };
  return { settings, notify };
}
