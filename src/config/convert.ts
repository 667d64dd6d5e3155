import type { NotifySettings } from '../activities/reservation/parts.js';
import type { ReservationSettings } from '../model/reservation/state.js';
import { defaultSweep, type SweepSettings } from '../model/sweep/sweep.js';
import type { WrittenConfig } from '../schema/config.js';
import type { PluginLimits } from '../schema/descriptor-program.js';
import { parseDuration } from '../schema/duration.js';

export function toLimits({ time, ...limits }: WrittenConfig['pluginLimits'][string]): PluginLimits {
  const timeMs = time === undefined ? undefined : parseDuration(time);
  return { ...limits, ...(timeMs === undefined ? {} : { timeMs }) };
}

export function toSweep({
  every,
  minimumAge,
  cap,
  delete: deletes,
}: NonNullable<WrittenConfig['sweep']> = {}): SweepSettings {
  const ms = (time: string | number | undefined): number | undefined =>
    time === undefined ? undefined : parseDuration(time);
  const { everyMs, policy } = defaultSweep;
  return {
    everyMs: ms(every) ?? everyMs,
    policy: {
      minimumAgeMs: ms(minimumAge) ?? policy.minimumAgeMs,
      cap: cap ?? policy.cap,
      delete: deletes ?? policy.delete,
    },
  };
}

export interface ReservationConfig {
  readonly settings: ReservationSettings;
  /** Who hears of reservations. */
  readonly notify: NotifySettings;
}

export function toReservations({
  prepare = '15m',
  remind = '10m',
  longest = '7d',
  notify = {},
}: NonNullable<WrittenConfig['reservations']> = {}): ReservationConfig {
  const ms = (time: string | number): number => parseDuration(time) ?? 0;
  return { settings: { prepareMs: ms(prepare), remindMs: ms(remind), longestMs: ms(longest) }, notify };
}
