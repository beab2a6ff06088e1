/** Why a link ended. Exactly one is recorded per link, and the first one recorded stays. */
export type Cause =
  | 'left'
  | 'peer-closed'
  | 'link-dead'
  | 'peer-unreachable'
  | 'name-unresolved'
  | 'untrusted'
  | 'process-hung'
  | 'business-hung'
  | 'peer-not-reading'
  | 'never-answered'
  | 'we-were-late'
  | 'protocol-error'
  | 'policy'
  | 'local'
  | 'unknown';
