/** Several claims of machines of one account in one message. Machines are released first. */
export interface ClaimRequest {
  /** Keys that need a machine: the one they have, or the first free one of a list in `candidates`. */
  readonly take: readonly { readonly key: string; readonly candidates: number }[];
  /** Lists of machine names. */
  readonly candidates: readonly (readonly string[])[];
  /** Keys whose machine becomes free. */
  readonly release: readonly string[];
}
