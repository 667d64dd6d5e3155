# Runs in the rescue system; the server puts the address of this load, `url`, before it. Writes the image to the disk
# that the server chooses, reads it back, and reports the digest of what it read.
megabyte=1048576

ask() { timeout 60 wget -q -O - --post-data "$2" "$url/$1"; }
give_up() {
  echo "heddle: $1"
  ask failed "$1" >/dev/null
  sync
  poweroff -f
}
word() {
  read -r text 2>/dev/null <"$1" || text=
  [ -n "$text" ] && echo "$text" | tr -d ' \t' | tr -cd '\41-\176' || echo -
}
first_word() {
  for file in "$@"; do
    [ -r "$file" ] && [ "$(word "$file")" != - ] && { word "$file"; return; }
  done
  echo -
}

disks() {
  for entry in /sys/block/*; do
    name=${entry##*/}
    [ -e "$entry/device" ] || continue
    case $name in mmcblk*boot* | mmcblk*rpmb | sr* | fd*) continue ;; esac
    serial=$(first_word "$entry/device/serial" "$entry/serial")
    if [ "$serial" = - ] && [ -r "$entry/device/vpd_pg80" ]; then
      serial=$(tail -c +5 "$entry/device/vpd_pg80" | tr -cd '\41-\176')
    fi
    wwid=$(first_word "$entry/device/wwid" "$entry/wwid")
    echo "$name $(($(cat "$entry/size") * 512)) $(cat "$entry/removable") $(cat "$entry/ro") ${serial:--} $wwid"
  done
}

# The server's answer: wait, refused, or write DISK BYTES MEGABYTES-OF-A-PIECE
tries=0
while :; do
  answer=$(ask disks "$(disks)") || answer=lost
  case $answer in
    write*) break ;;
    refused) sync; poweroff -f ;;
    lost) tries=$((tries + 1)); [ "$tries" -gt 60 ] && poweroff -f ;;
  esac
  sleep 2
done
set -- $answer
disk=/dev/$2 bytes=$3 size=$4
pieces=$(((bytes + size * megabyte - 1) / (size * megabyte)))
echo "heddle: writes $bytes bytes to $disk"

# An answer that broke off is not whole for gzip; then the piece is fetched and written again.
write_piece() {
  rm -f /tmp/broken
  timeout 120 wget -q -O /tmp/piece "$url/piece/$piece" || return 1
  { zcat </tmp/piece 2>/dev/null || touch /tmp/broken; } |
    dd of="$disk" bs=1M seek=$((piece * size)) conv=notrunc,fsync 2>/tmp/error ||
    give_up "$disk cannot be written: $(tail -n 1 /tmp/error)"
  [ ! -e /tmp/broken ]
}
piece=0
while [ "$piece" -lt "$pieces" ]; do
  tries=0
  until write_piece; do
    tries=$((tries + 1))
    [ "$tries" -gt 100 ] && give_up "piece $piece of the image did not arrive"
    sleep 2
  done
  piece=$((piece + 1))
done
rm -f /tmp/piece

# What is in memory is dropped, so that the disk itself is read.
sync
echo 3 >/proc/sys/vm/drop_caches
blockdev --flushbufs "$disk"
echo "heddle: reads $bytes bytes from $disk"
read_back() {
  piece=0
  while [ "$piece" -lt "$pieces" ]; do
    ask read "$piece" >/dev/null
    dd if="$disk" bs=1M skip=$((piece * size)) count="$size" 2>/dev/null || exit 1
    piece=$((piece + 1))
  done
}
digest=$(read_back | head -c "$bytes" | sha256sum | cut -d ' ' -f 1)
tries=0
until ask digest "$digest" >/dev/null; do
  tries=$((tries + 1))
  [ "$tries" -gt 60 ] && break
  sleep 2
done
poweroff -f
