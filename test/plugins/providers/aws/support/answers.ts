/** EC2's XML, as far as a proxy has to look into it. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  /** An answer of a service other than EC2. */
  readonly isJson?: true;
}

export function errorXml(status: number, code: string, message: string): Answer {
  return {
    status,
    body: `<?xml version="1.0" encoding="UTF-8"?>\n<Response><Errors><Error><Code>${code}</Code><Message>${message}</Message></Error></Errors><RequestID>7a62c49f-347e-4fc4-9331-6e8eEXAMPLE</RequestID></Response>`,
  };
}

export function errorJson(status: number, type: string, Message: string): Answer {
  return { status, body: JSON.stringify({ __type: type, Message }), isJson: true };
}

export function idsIn(xml: string): readonly string[] {
  return [...new Set([...xml.matchAll(/<instanceId>(i-[0-9a-f]+)</g)].map(([, id = '']) => id))];
}

/** Rewrites each reservation of a description; each holds the instances of one RunInstances. */
export function mapReservations(xml: string, map: (reservation: string) => string): string {
  const [head = '', ...reservations] = xml.split(/(?=<item>\s*<reservationId>)/);
  return [head, ...reservations.map(map)].join('');
}

export function withoutReservations(xml: string): string {
  return xml.replace(/<reservationSet>[\s\S]*<\/reservationSet>/, '<reservationSet/>');
}
