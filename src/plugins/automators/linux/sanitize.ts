import { markFile } from '../../../model/machine/load-mark.js';
import { renewHostKeys } from './host-keys.js';

/** Removes what names this machine or its users from the home of the login before a capture. */
export const captureHomeProgram = `
set -eu
rm -rf "\${HOME:?}/.heddle" "$HOME/${markFile}"
rm -f "$HOME/.bash_history" "$HOME/.ash_history" "$HOME/.sh_history" "$HOME/.viminfo" "$HOME/.lesshst"
`;

/**
 * The same outside of it, as root; for a login that may become root, also in root's home. Only if
 * HOME is the home that the system knows: a machine that is a folder shares the rest with others.
 */
export const captureSystemProgram = `
set -eu
own=$(getent passwd "$(id -u)" 2>/dev/null | cut -d: -f6) || own=
if [ "$(id -u)" = 0 ] && [ "$own" = "$HOME" ]; then
  ${captureHomeProgram}
  if [ -s /etc/machine-id ] && [ ! -L /etc/machine-id ]; then : >/etc/machine-id; fi
  rm -f /var/lib/dhcp/*.leases /etc/udev/rules.d/70-persistent-net.rules
  ${renewHostKeys}
elif [ "$(id -u)" != 0 ] && [ "$own" = "$HOME" ] && ls /etc/ssh/ssh_host_*_key >/dev/null 2>&1; then
  echo 'the host keys of SSH and the machine id stay in the image: the login is not root, and may not use sudo without a password' >&2
fi
sync
`;

/** Exit code of `sanitizeProgram` for processes of the user that do not end. */
export const processesLeft = 75;

/**
 * Removes what a user leaves on a machine that no load follows; word 1 is the user, or empty. Ends the user's
 * processes and timed jobs, and removes files from world-writable folders. Accounts and homes stay: they are
 * the administrator's. Root and the login itself are never treated as the user.
 */
export const sanitizeProgram = `
set -eu
user=$1
rm -f "\${HOME:?}/.bash_history" "$HOME/.ash_history" "$HOME/.sh_history"
case $user in ''|root|*[!A-Za-z0-9._-]*|-*) exit 0;; esac
id "$user" >/dev/null 2>&1 || exit 0
uid=$(id -u "$user")
if [ "$uid" = 0 ] || [ "$uid" = "$(id -u)" ]; then exit 0; fi
crontab -r -u "$user" >/dev/null 2>&1 || :
tries=0
while [ $tries -lt 20 ]; do
  left=0
  for status in /proc/[0-9]*/status; do
    owner=$(sed -n 's/^Uid:[[:space:]]*\\([0-9]*\\).*/\\1/p' "$status" 2>/dev/null) || owner=
    # A process that has ended and waits for its parent no longer runs.
    if [ "$owner" = "$uid" ] && ! grep -q '^State:[[:space:]]*[ZX]' "$status" 2>/dev/null; then left=1; pid=\${status#/proc/}; kill -KILL "\${pid%/status}" 2>/dev/null || :; fi
  done
  [ $left = 1 ] || break
  tries=$((tries + 1)); sleep 0.1
done
[ $left = 0 ] || { echo "processes of $user do not end" >&2; exit ${processesLeft}; }
find /tmp /var/tmp -xdev -mindepth 1 -user "$uid" -delete 2>/dev/null || :
`;
