/**
 * Erases one disk, and proves it: `program DEVICE METHOD [COMMAND...]`. It reads up to 64 blocks of 1 MiB before and
 * after; each must read as zeros afterwards, or differ if the drive may return other data (discard, cryptographic
 * erase, own commands). Results: bytes, samples, zeros, sha256. A disk with the running system is refused; other
 * file systems and swap areas of the disk are unmounted first.
 */
export const eraseProgram = `
set -u
LC_ALL=C; export LC_ALL
fail() { echo "$1" >&2; exit 1; }
device=$1 method=$2; shift 2
real=$(readlink -f -- "$device") || fail "there is no $device"
if [ -b "$real" ]; then size=$(blockdev --getsize64 "$real") || fail "the size of $device is not known"
elif [ -f "$real" ]; then size=$(stat -c %s -- "$real") || fail "the size of $device is not known"
else fail "there is no disk $device"; fi
[ "$size" -gt 0 ] || fail "$device has no bytes"

used() { sed -n "s|^$real\\(p\\{0,1\\}[0-9]*\\)[[:space:]]\\{1,\\}\\([^[:space:]]*\\).*|$1|p" "$2"; }
if [ -b "$real" ]; then
  for holders in "/sys/class/block/\${real##*/}/holders" "/sys/class/block/\${real##*/}"/*/holders; do
    [ -z "$(ls "$holders" 2>/dev/null)" ] || fail "$device is in use by $(ls "$holders" | tr '\\n' ' ')"
  done
  for point in $(used '\\2' /proc/mounts); do [ "$point" != / ] || fail "$device has the running system"; done
  for point in $(used '\\2' /proc/mounts); do
    umount -- "$(printf '%b' "$point")" || fail "$device is in use: mounted at $point"
  done
  for part in $(used '\\1' /proc/swaps); do swapoff "$real$part" || fail "$device is in use: swap area"; done
  for part in $(sed -n "s|^$real[[:space:]].*|yes|p" /proc/swaps); do swapoff "$real" || fail "$device is in use: swap area"; done
fi

blocks=$((size / 4096)); length=256
[ "$blocks" -ge 1 ] || fail "$device is smaller than a block"
[ "$blocks" -ge "$length" ] || length=$blocks
count=$(((blocks + length - 1) / length)); [ "$count" -le 64 ] || count=64
direct=
dd if="$real" of=/dev/null bs=4096 count=1 iflag=direct 2>/dev/null && direct=iflag=direct
sample() {
  at=0
  while [ "$at" -lt "$count" ]; do
    skip=0; [ "$count" -eq 1 ] || skip=$(((blocks - length) * at / (count - 1)))
    dd if="$real" bs=4096 skip="$skip" count="$length" $direct 2>/dev/null | sha256sum | cut -d' ' -f1
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
zeros=0 kept=0
exec 3<"$before" 4<"$after"
while read -r new <&4; do
  read -r old <&3 || old=
  if [ "$new" = "$zero" ]; then zeros=$((zeros + 1))
  elif [ "$new" = "$old" ] || [ "$method" = overwrite ] || [ \${#new} -ne 64 ]; then kept=$((kept + 1)); fi
done
read=$(wc -l <"$after")
[ "$read" -eq "$count" ] || fail "only $read of $count blocks of $device could be read"
[ "$kept" -eq 0 ] || fail "$kept of $count blocks of $device have data after $method; use another method"
{
  echo "bytes=$size"
  echo "samples=$count"
  echo "zeros=$zeros"
  echo "sha256=$(sha256sum <"$after" | cut -d' ' -f1)"
} >"$HEDDLE_RESULT"
`;
