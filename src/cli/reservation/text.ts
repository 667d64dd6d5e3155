import type { ReservationView } from '../../model/reservation/view.js';
import { cleanLine } from '../clean-text.js';
import type { Output } from '../output.js';
import { formatDuration, formatMoment } from '../time-text.js';

/** A reservation for people. */
export function printReservation(
  output: Output,
  { id, state, why, user, image, from, to, machines }: ReservationView,
  now: number,
): void {
  output.line(
    cleanLine(
      `reservation ${id}: ${why?.startsWith(state) === true ? why : `${state}${why === undefined ? '' : `, ${why}`}`}`,
    ),
  );
  output.line(
    cleanLine(
      `  ${image} for ${user}, ${formatMoment(from)} to ${formatMoment(to)}${leftOf(state, from, to, now)}`,
    ),
  );
  for (const { name, stage, doing, why: because } of machines)
    output.line(
      cleanLine(
        `  ${name}: ${stage}${doing === undefined ? '' : `, ${doing}`}${because === undefined ? '' : `, ${because}`}`,
      ),
    );
}

function leftOf(state: ReservationView['state'], from: string, to: string, now: number): string {
  if (state === 'ready' || state === 'in use') return `, ${formatDuration(Date.parse(to) - now)} left`;
  return ['booked', 'preparing', 'prepared'].includes(state) && Date.parse(from) > now
    ? `, in ${formatDuration(Date.parse(from) - now)}`
    : '';
}
