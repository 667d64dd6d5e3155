import { protoMs } from '../client/proto-time.js';
import type { google } from '@temporalio/proto';

/** `0.3 s`, `12 s`, `3 m 04 s`, `1 h 02 m`, `3 d 04 h`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, ms) / 1_000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)} m ${two(whole % 60)} s`;
  if (whole < 86_400) return `${Math.floor(whole / 3_600)} h ${two(Math.floor(whole / 60) % 60)} m`;
  return `${Math.floor(whole / 86_400)} d ${two(Math.floor(whole / 3_600) % 24)} h`;
}

/** How long ago a moment was; it is given as RFC 3339. */
export function formatAge(since: string, now: number): string {
  return formatDuration(now - Date.parse(since));
}

/** `12:03:04`, in the local time zone. */
export function formatClock(at: Date): string {
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** `2026-07-01 12:03:04`, in the local time zone. */
export function formatMoment(at: string): string {
  const date = new Date(at);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${formatClock(date)}`;
}

/** `1 node`, `2 nodes`. */
export function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The value after `before`, or nothing for undefined. */
export function optional(before: string, value: string | number | undefined): string {
  return value === undefined ? '' : `${before}${value}`;
}

/** A time of the server, as RFC 3339. */
export function timeText(time: google.protobuf.ITimestamp | null | undefined): string {
  return new Date(protoMs(time)).toISOString();
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
