import type { AccessInput, AccountsOutcome, RunOutcome, Shell } from '../../contract.js';

/**
 * Creates the account of a machine's user. The names of these accounts, and of no others, begin with `hd-`.
 * Only a machine with a system of its own gets them: on a machine that is a folder, `useradd` would change
 * the host.
 */
export async function grantAccess(shell: Shell, input: AccessInput, sudo: boolean): Promise<AccountsOutcome> {
  const place = await readPlace(shell);
  if (place !== 'own') return { answer: 'not done', why: reasons[place] };
  const { login, password = '', publicKey = '', until, renewed } = input;
  const ends = until === undefined ? '' : dayAfter(until);
  const lines = [login, ends, sudo ? 'sudo' : '', renewed === true ? 'renewed' : '', password, publicKey];
  const outcome = await runAsRoot(shell, grantProgram, lines);
  const read = readOutcome(`account ${login} could not be created`, outcome);
  // Root can hide changes from the digest, so no later digest may equal this one.
  return sudo && read.accounts !== undefined ? { ...read, accounts: `sudo:${read.accounts}` } : read;
}

export async function revokeAccess(shell: Shell, { login }: AccessInput): Promise<AccountsOutcome> {
  const place = await readPlace(shell);
  if (place === 'shared' || place === 'none') return { answer: 'done' };
  if (place !== 'own') return { answer: 'not done', why: reasons[place] };
  const outcome = await runAsRoot(shell, revokeProgram, []);
  return readOutcome(`account ${login} could not be removed`, outcome);
}

/**
 * `own`: the machine has accounts of its own, and the login may change them. `shared`: the login's home is
 * not the one that its system knows. `none`: the login may not change accounts, and there are none to remove.
 * `refused`: there are.
 */
type Place = 'own' | 'shared' | 'none' | 'refused';

const reasons: Readonly<Record<Exclude<Place, 'own'>, string>> = {
  shared: 'the machine shares its system with others, so it cannot have accounts of its own',
  none: 'its login is not root and may not use sudo without a password, so no account can be created',
  refused: 'its login is not root and may not use sudo without a password, so its accounts cannot be removed',
};

const placeProgram = `
own=$(getent passwd "$(id -u)" 2>/dev/null | cut -d: -f6) || own=
if [ -z "$own" ] || [ "$own" != "$HOME" ]; then echo shared
elif [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; then echo own
elif grep -q '^hd-' /etc/passwd; then echo refused
else echo none
fi
`;

async function readPlace(shell: Shell): Promise<Place> {
  const { stdout } = await shell.exec(['sh', '-c', placeProgram], { timeoutMs: 20_000 });
  const places: readonly Place[] = ['own', 'shared', 'none'];
  return places.find((place) => place === stdout.trim()) ?? 'refused';
}

/**
 * `run` executes once per task: a retry waits for the same run, and an abandoned task cannot overtake a later
 * one.
 */
function runAsRoot(shell: Shell, program: string, lines: readonly string[]): Promise<RunOutcome> {
  return shell.run({ text: program, stdin: lines.map((line) => `${line}\n`).join(''), sudo: true });
}

function readOutcome(wrong: string, { exitCode, stdout, stderr }: RunOutcome): AccountsOutcome {
  const accounts = /^accounts ([0-9a-f]{64})$/m.exec(stdout)?.[1];
  if (exitCode === 0 && accounts !== undefined) return { answer: 'done', accounts };
  return { answer: 'not done', why: `${wrong}: ${stderr.trim().slice(-300) || `exit code ${exitCode}`}` };
}

/** Accounts expire at the beginning of a day. */
function dayAfter(moment: string): string {
  return new Date(Date.parse(moment) + 24 * 3_600_000).toISOString().slice(0, 10);
}

/**
 * `accounts` prints a digest of everything that grants access, except `hd-` accounts: accounts,
 * passwords, groups, sudo rules and authorized keys. `purge` locks an account, ends its
 * processes, and removes it with its files in world-writable folders, because another account
 * may get its number. Processes in containers and their files have subordinate numbers of the
 * account: they are treated alike, and the numbers go to no later account.
 */
const functions = `
set -eu
LC_ALL=C PATH=$PATH:/usr/sbin:/sbin
export LC_ALL PATH
for word in useradd usermod userdel chpasswd getent find sha256sum; do
  command -v "$word" >/dev/null || { echo "the machine has no $word" >&2; exit 1; }
done
rule=/etc/sudoers.d/heddle-access
# A package that is being installed may have the accounts locked.
patiently() {
  tries=0
  until "$@"; do tries=$((tries + 1)); [ $tries -lt 15 ] || return 1; sleep 1; done
}
accounts() {
  {
    for file in /etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/sudoers; do
      echo "$file"
      grep -v '^hd-' "$file" 2>/dev/null || :
    done
    find /etc/sudoers.d -type f ! -name 'heddle-access*' 2>/dev/null | sort | while read -r file; do
      echo "$file"
      cat "$file"
    done
    grep -v '^hd-' /etc/passwd | cut -d: -f6 | sort -u | while read -r home; do
      for file in "$home/.ssh/authorized_keys" "$home/.ssh/authorized_keys2"; do
        [ ! -f "$file" ] || { echo "$file"; cat "$file"; }
      done
    done
  } | sha256sum | cut -d' ' -f1 | sed 's/^/accounts /'
}
logins() { cut -d: -f1 /etc/passwd | grep '^hd-' || :; }
# The subordinate numbers of an account in a file: FIRST:LAST.
subordinate() {
  [ -f "$1" ] || return 0
  while IFS=: read -r who first count; do
    case $who in "$2"|"$3") ;; *) continue;; esac
    [ "$first" -ge 65536 ] || { echo "subordinate numbers of $2 begin with $first" >&2; return 1; }
    echo "$first:$((first + count - 1))"
  done <"$1"
}
within() {
  number=$1
  shift
  for range in "$@"; do
    [ "$number" -lt "\${range%:*}" ] || [ "$number" -gt "\${range#*:}" ] || return 0
  done
  return 1
}
# Processes of numbers. One that has ended and waits for its parent no longer runs.
processes_of() {
  for status in /proc/[0-9]*/status; do
    state= numbers=
    while read -r name value others; do
      case $name in
        State:) state=$value;;
        Uid:) numbers="$value $others"; break;;
      esac
    done 2>/dev/null <"$status" || :
    case $state in Z|X) continue;; esac
    for owner in $numbers; do
      ! within "$owner" "$@" || { status=\${status#/proc/}; echo "\${status%/status}"; break; }
    done
  done 2>/dev/null
}
remove_files() {
  kind=$1
  shift
  for place in /tmp /var/tmp /dev/shm /dev/mqueue /run /var/lock /var/spool /var/mail /var/crash; do
    for range in "$@"; do
      find "$place" -xdev -mindepth 1 "-$kind" +$((\${range%:*} - 1)) "-$kind" -$((\${range#*:} + 1)) -delete 2>/dev/null || :
    done
  done
}
# The first number that no earlier account had, for SUB_UID_MIN or SUB_GID_MIN.
unused=/etc/heddle-subordinate
first_unused() { sed -n "s/^$1 //p" "$unused" 2>/dev/null || :; }
set_aside() {
  word=$1
  shift
  next=$(first_unused "$word")
  for range in "$@"; do [ "\${range#*:}" -lt "\${next:-0}" ] || next=$((\${range#*:} + 1)); done
  [ -z "$next" ] || { { grep -v "^$word " "$unused" 2>/dev/null || :; echo "$word $next"; } >"$unused.new"; mv -f "$unused.new" "$unused"; }
}
purge() {
  login=$1
  uid=$(id -u "$login") home=$(getent passwd "$login" | cut -d: -f6)
  case $home in */"$login") ;; *) echo "the home of $login is $home" >&2; exit 1;; esac
  [ "$uid" != 0 ] || { echo "account $login has number 0" >&2; exit 1; }
  rm -f "$rule" "$rule.new"
  patiently usermod -p '!' -e 1970-01-02 "$login" || :
  rm -rf "$home/.ssh"
  for verb in disable-linger terminate-user; do loginctl $verb "$login" 2>/dev/null || :; done
  if command -v crontab >/dev/null; then crontab -r -u "$login" 2>/dev/null || :; fi
  rm -f "/var/spool/cron/crontabs/$login" "/var/spool/cron/$login"
  find /var/spool/cron/atjobs /var/spool/at -type f -user "$uid" -delete 2>/dev/null || :
  uids=$(subordinate /etc/subuid "$login" "$uid")
  gids=$(subordinate /etc/subgid "$login" "$uid")
  set_aside SUB_UID_MIN $uids
  set_aside SUB_GID_MIN $gids
  tries=0
  while left=$(processes_of "$uid:$uid" $uids); [ -n "$left" ]; do
    kill -KILL $left 2>/dev/null || :
    tries=$((tries + 1))
    [ $tries -lt 100 ] || { echo "processes of $login do not end" >&2; exit 1; }
    sleep 0.1
  done
  remove_files uid "$uid:$uid" $uids
  remove_files gid $gids
  patiently userdel "$login"
  rm -rf "$home"
  if getent passwd "$login" >/dev/null; then echo "account $login is still there" >&2; exit 1; fi
}
purge_all() {
  for one in $(logins); do purge "$one"; done
  rm -f "$rule" "$rule.new"
}
`;

/**
 * Reads lines: the account, the day it expires, `sudo`, `renewed`, password, public key. All but the first
 * may be empty.
 */
const grantProgram = `${functions}
for line in account ends sudo renewed password key; do read -r "$line" || :; done
if [ -n "$renewed" ]; then
  patiently usermod -e "$ends" "$account"
  accounts
  exit 0
fi
purge_all
accounts
shell=/bin/sh
[ ! -x /bin/bash ] || shell=/bin/bash
set --
for word in SUB_UID_MIN SUB_GID_MIN; do
  least=$(first_unused "$word")
  [ -z "$least" ] || set -- "$@" -K "$word=$least"
done
patiently useradd -m -s "$shell" -c 'user of a Heddle machine' -e "$ends" "$@" "$account"
home=$(getent passwd "$account" | cut -d: -f6)
chmod 700 "$home"
if [ -n "$sudo" ] && command -v sudo >/dev/null && [ -d /etc/sudoers.d ]; then
  (umask 337; echo "$account ALL=(ALL:ALL) NOPASSWD: ALL" >"$rule.new")
  mv -f "$rule.new" "$rule"
fi
if [ -n "$key" ]; then
  mkdir -m 700 "$home/.ssh"
  echo "$key" >"$home/.ssh/authorized_keys"
  chmod 600 "$home/.ssh/authorized_keys"
  chown -R "$account:" "$home/.ssh"
  # No password fits, and the account is not locked.
  patiently usermod -p '*' "$account"
else
  printf '%s:%s\\n' "$account" "$password" | chpasswd
fi
`;

const revokeProgram = `${functions}
purge_all
accounts
`;
