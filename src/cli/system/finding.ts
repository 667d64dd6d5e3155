/** What one check of `heddle doctor` found. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warn' | 'fail' | 'skipped';
  readonly text: string;
  /** The command that helps. */
  readonly next?: string;
}

export function ok(check: string, text: string): Finding {
  return { check, state: 'ok', text };
}

export function warn(check: string, text: string, next?: string): Finding {
  return { check, state: 'warn', text, next };
}

export function fail(check: string, text: string, next?: string): Finding {
  return { check, state: 'fail', text, next };
}

export function skipped(check: string, text: string): Finding {
  return { check, state: 'skipped', text };
}
