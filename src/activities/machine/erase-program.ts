/**
 * Erases one disk, and proves it: `program DEVICE METHOD [COMMAND...]`. It reads up to 64 blocks of 1
 * MiB before and after; each must read as zeros afterwards, or differ if the drive may return other
 * data (discard, cryptographic erase, own commands). A block that cannot be read proves nothing.
 * Results: bytes, samples, zeros, sha256. A disk with the running system, or with active volumes,
 * arrays or pools, is refused; other file systems and swap areas of the disk are unmounted first.
 */
export const eraseProgram = `
set -u
LC_ALL=C; export LC_ALL
fail() { echo "$1" >&2; exit 1; }
device=$1 method=$2; shift 2
real=$(readlink -f -- "$device") || fail "$device does not exist"
[ -b "$real" ] || [ -f "$real" ] || fail "$device does not exist, or is not a disk"

# In mountinfo and swaps, spaces and the like are octal.
decode() { printf '%b' "$(printf '%s\\n' "$1" | sed 's/\\\\\\([0-7][0-7][0-7]\\)/\\\\0\\1/g')"; }
number_of() { printf '%d:%d' $(stat -L -c '0x%t 0x%T' -- "$1"); }
# By device number, or by the source of a mount: those of btrfs have a number of their own.
on_disk() {
  case $numbers in *" $1 "*) return 0 ;; esac
  [ -b "$2" ] || return 1
  case $numbers in *" $(number_of "$2") "*) return 0 ;; esac
  return 1
}
# The newest first: a later mount may be inside or above an earlier one.
list_mounts() {
  awk '{ for (i = 7; i < NF && $i != "-"; i++) continue; line[NR] = $3 " " $5 " " $(i + 2) }
    END { for (n = NR; n > 0; n--) print line[n] }' /proc/self/mountinfo >"$mounts"
  [ -s "$mounts" ] || fail "the mounts of the system are unknown"
}
if [ -b "$real" ]; then
  number=$(number_of "$real") && [ -e "/sys/dev/block/$number/dev" ] || fail "the kernel does not describe $device"
  sys=/sys/dev/block/$number numbers=" $number "
  [ "$method" != nvme ] || [ ! -e "$sys/partition" ] || fail "$device is a partition: nvme erases its whole namespace"
  for part in "$sys"/*/partition; do
    [ ! -e "$part" ] || numbers="$numbers$(cat "\${part%/partition}/dev") " || fail "$part has no number"
  done
  mounts=$HEDDLE_RUN/mounts
  list_mounts
  while read -r id point source; do
    [ "$point" != / ] || ! on_disk "$id" "$source" || fail "$device has the running system"
  done <"$mounts"
  for holders in "$sys/holders" "$sys"/../holders "$sys"/*/holders; do
    names=$(echo $(ls "$holders" 2>/dev/null))
    [ -z "$names" ] || fail "$device is in use by $names, such as a volume or an array: stop it, or erase another device"
  done
  if command -v zpool >/dev/null 2>&1; then
    for member in $(zpool list -vHPL 2>/dev/null | awk '{ print $1 }'); do
      ! on_disk - "$member" || fail "$device is in use by ZFS: $member"
    done
  fi
  while read -r id point source; do
    on_disk "$id" "$source" || continue
    umount -- "$(decode "$point")" || fail "$device is in use: mounted at $point"
  done <"$mounts"
  list_mounts
  while read -r id point source; do
    ! on_disk "$id" "$source" || fail "$device is in use: still mounted at $point"
  done <"$mounts"
  for member in /sys/fs/btrfs/*/devices/*/dev; do
    [ ! -e "$member" ] || ! on_disk "$(cat "$member")" - || fail "$device is in use by btrfs"
  done
  sed 1d /proc/swaps >"$mounts" 2>/dev/null
  while read -r area rest; do
    area=$(decode "$area")
    ! on_disk - "$area" || swapoff "$area" || fail "$device is in use: swap area"
  done <"$mounts"
fi

if [ -b "$real" ]; then size=$(blockdev --getsize64 "$real"); else size=$(stat -c %s -- "$real"); fi
[ -n "$size" ] || fail "the size of $device is unknown"
[ "$size" -gt 0 ] || fail "$device has no bytes"
blocks=$((size / 4096)); length=256
[ "$blocks" -ge 1 ] || fail "$device is smaller than a block"
[ "$blocks" -ge "$length" ] || length=$blocks
count=$(((blocks + length - 1) / length)); [ "$count" -le 64 ] || count=64
direct=
dd if="$real" of=/dev/null bs=4096 count=1 iflag=direct 2>/dev/null && direct=iflag=direct
# Through a pipe: a file would leave what is on the disk on another one.
report=$HEDDLE_RUN/report whole=$HEDDLE_RUN/whole
sample() {
  at=0
  while [ "$at" -lt "$count" ]; do
    skip=0; [ "$count" -eq 1 ] || skip=$(((blocks - length) * at / (count - 1)))
    rm -f "$whole"
    digest=$({
      dd if="$real" bs=4096 skip="$skip" count="$length" $direct 2>"$report" &&
        grep -q "^$length+0 records in" "$report" && : >"$whole"
    } | sha256sum | cut -d' ' -f1)
    [ -e "$whole" ] && [ \${#digest} -eq 64 ] || digest=unreadable
    echo "$digest"
    at=$((at + 1))
  done
}
zero=$(dd if=/dev/zero bs=4096 count="$length" 2>/dev/null | sha256sum | cut -d' ' -f1)
[ \${#zero} -eq 64 ] || fail "sha256sum does not work"
before=$HEDDLE_RUN/before after=$HEDDLE_RUN/after
sample >"$before"

echo "erases $device ($size bytes) by $method"
case $method in
  blkdiscard) blkdiscard "$real" ;;
  nvme) nvme format "$real" --ses=1 --force ;;
  overwrite) dd if=/dev/zero of="$real" bs=4M count="$size" iflag=count_bytes conv=notrunc,fsync 2>&1 ;;
  command) "$@" ;;
  *) fail "there is no method $method" ;;
esac
code=$?
[ $code -eq 0 ] || fail "$method of $device ended with $code"
sync
[ ! -b "$real" ] || blockdev --flushbufs "$real"

sample >"$after"
zeros=0 kept=0 unknown=0
exec 3<"$before" 4<"$after"
while read -r new <&4; do
  read -r old <&3 || old=
  if [ "$new" = "$zero" ]; then zeros=$((zeros + 1))
  elif [ "$new" = unreadable ] || [ \${#old} -ne 64 ]; then unknown=$((unknown + 1))
  elif [ "$new" = "$old" ] || [ "$method" = overwrite ]; then kept=$((kept + 1)); fi
done
[ "$(wc -l <"$after")" -eq "$count" ] || fail "not all blocks of $device were compared"
[ "$unknown" -eq 0 ] || fail "$unknown of $count blocks of $device could not be read before or after $method"
[ "$kept" -eq 0 ] || fail "$kept of $count blocks of $device have data after $method; use another method"
{
  echo "bytes=$size"
  echo "samples=$count"
  echo "zeros=$zeros"
  echo "sha256=$(sha256sum <"$after" | cut -d' ' -f1)"
} >"$HEDDLE_RESULT"
`;
