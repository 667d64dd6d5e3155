/**
 * First process of a sandbox, run by /bin/sh in namespaces of its own: builds the root file system, moves
 * into it, prints "ready <pid>" and stays as the parent of all. Everything inside dies with it. Its input
 * gives the password.
 *
 * Arguments: 1 disk, 2 host name, 3 data folder, 4 Node, 5 lower layers, 6 address, 7 port, 8 sshd or
 * nothing. Paths are used relative to the disk, for the options of a mount cannot carry blanks or commas.
 */
export const sandboxInit = `
set -eu
disk=$1 name=$2 data=$3 node=$4 lower=$5 address=$6 port=$7 sshd=$8
read -r password
# /proc still is the host's, so this is the pid that the host knows.
read -r pid rest </proc/self/stat
cd "$disk"
mount -t overlay overlay -o "lowerdir=$lower,upperdir=upper,workdir=work" mnt
mount -t proc proc mnt/proc
mount -t sysfs -o ro sysfs mnt/sys 2>/dev/null || true
mount --rbind /dev mnt/dev
if [ -d mnt/dev/shm ]; then mount -t tmpfs -o mode=1777 tmpfs mnt/dev/shm; fi
mount -t tmpfs -o mode=755 tmpfs mnt/run
mount -t tmpfs -o mode=1777 tmpfs mnt/tmp
if [ -d mnt/root ]; then mount --bind root mnt/root; fi
if [ -d mnt/home ]; then mount --bind home mnt/home; fi
if [ -d "mnt$data" ]; then mount -t tmpfs -o ro,mode=000 tmpfs "mnt$data"; fi
if [ ! -e "mnt$node" ] && [ ! -e mnt/usr/bin/node ]; then
  mkdir -p mnt/usr/local/bin; : >mnt/usr/local/bin/node; mount --bind "$node" mnt/usr/local/bin/node
fi
hostname "$name"
if [ ! -s provisioned ]; then
  umask 022
  # Containers mount these over the root, so that the lower layer has them empty.
  cat /etc/resolv.conf >resolv.conf 2>/dev/null || :
  rm -f mnt/etc/resolv.conf; mv resolv.conf mnt/etc/resolv.conf
  { cat /etc/hosts 2>/dev/null || :; echo "$address $name"; } >hosts; rm -f mnt/etc/hosts; mv hosts mnt/etc/hosts
  echo "$name" >mnt/etc/hostname
  # As in containers: installing a package does not start its service, whose port may be taken by another sandbox.
  if [ ! -e mnt/usr/sbin/policy-rc.d ]; then printf '#!/bin/sh\\nexit 101\\n' >mnt/usr/sbin/policy-rc.d; chmod 755 mnt/usr/sbin/policy-rc.d; fi
  mkdir -p mnt/etc/ssh
  (umask 077; cat host-key >mnt/etc/ssh/heddle_host_key)
  echo done >provisioned
fi
cd mnt
pivot_root . .
umount -l .
cd /
if [ -z "$sshd" ]; then
  sleep 2147483647 &
else
  mkdir -p /run/sshd
  printf 'root:%s\\n' "$password" | chpasswd
  password=
  set -- -D -e -f /dev/null -h /etc/ssh/heddle_host_key -p "$port" -o "ListenAddress=$address" -o PidFile=none -o UsePAM=no \\
    -o StrictModes=no -o UseDNS=no -o PermitRootLogin=yes -o PasswordAuthentication=yes -o AuthorizedKeysFile=.ssh/authorized_keys \\
    -o "Subsystem=sftp internal-sftp"
  # Newer versions lock out addresses that fail often; all clients here share one.
  if "$sshd" -t "$@" -o PerSourcePenalties=no 2>/dev/null; then set -- "$@" -o PerSourcePenalties=no; fi
  "$sshd" "$@" </dev/null >/dev/null &
fi
echo "ready $pid"
exec >/dev/null </dev/null
# Waiting for one child reaps all others that lost their parent.
wait $!
`;
