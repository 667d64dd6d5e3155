/**
 * Writes a file or a folder as a tar archive on standard output. Variables: `path`. Argument: the home of the
 * login user, if it is not that of the program. The line that ends the noise says which of both it is. The
 * archive of a file has one entry, that of a folder its content. Exits with 3 and words on standard error if
 * there is nothing to copy.
 */
export const readFilesProgram = `
export LC_ALL=C
fail() { printf '%s\\n' "$*" >&2; exit 3; }
printf '\\n%s\\n' "$nonce" >&2
cd "\${1:-$HOME}" || fail "the login user has no home folder"
case $path in /*) ;; *) path=./$path ;; esac
if [ -d "$path" ]; then
  kind=folder
  cd "$path" || exit 3
elif [ -f "$path" ]; then
  kind=file
  name=./\${path##*/}
  cd "\${path%/*}/" || exit 3
elif [ -e "$path" ]; then fail "it is neither a file nor a folder"
else ls -d "$path" >&2; exit 3
fi
printf '\\n%s %s\\n' "$nonce" "$kind"
if [ "$kind" = folder ]; then exec tar -cf - .; fi
# The file that a link leads to.
exec tar -chf - "$name"
`;

/**
 * Puts a file or a folder from a gzipped tar archive on standard input in place. Variables: `path`, `kind`
 * (file or folder), `name` (of the source; `.` for the content of a folder). Nothing is placed before the
 * whole archive has arrived: gzip shows where it was cut. Then all is checked, and each file is renamed into
 * place. A merge passes through no link below the folder that was named.
 */
export const writeFilesProgram = `
fail() { printf '%s\\n' "$*" >&2; exit 3; }
partly() { fail "only a part of it is in place"; }
printf '\\n%s\\n' "$nonce"
printf '\\n%s\\n' "$nonce" >&2
cd "\${1:-$HOME}" || fail "the login user has no home folder"
case $path in /*) ;; *) path=./$path ;; esac
target=$path
if [ -d "$path" ]; then
  [ "$name" = . ] || target=\${path%/}/$name
else
  case $path in */) [ "$kind" = folder ] || fail "there is no folder $path" ;; esac
fi
while :; do case $target in ?*/) target=\${target%/} ;; *) break ;; esac; done
parent=\${target%/*}/
[ -d "$parent" ] || fail "there is no folder \${parent%/}"
base=$parent
if [ -d "$target" ]; then
  [ "$kind" = folder ] || fail "$target is a folder"
  [ "$name" = . ] || [ ! -L "$target" ] || fail "$target is a link, not a folder"
  base=$target/
elif [ "$kind" = folder ] && { [ -e "$target" ] || [ -L "$target" ]; }; then fail "$target is not a folder"
fi
temp=$(umask 077; mktemp -d "\${base}.heddle-cp-XXXXXX") || exit 3
trap 'rm -rf "$temp"' EXIT
trap 'exit 3' HUP INT TERM PIPE
root=$temp/c
mkdir "$root" && tar -xzopf - -C "$root" || exit 3
if [ "$kind" = file ]; then
  mv -f "$root/$name" "$target" || exit 3
elif [ ! -d "$target" ]; then
  mv -f "$root" "$target" || exit 3
else
  export root target
  find "$root" -type d -exec sh -c 'for from; do
    [ "$from" != "$root" ] || continue
    to=$target\${from#"$root"}
    if [ -L "$to" ]; then echo "$to is a link, not a folder" >&2; exit 1; fi
    if [ -e "$to" ] && [ ! -d "$to" ]; then echo "$to is not a folder" >&2; exit 1; fi
  done' sh {} + || exit 3
  find "$root" ! -type d -exec sh -c 'for from; do
    to=$target\${from#"$root"}
    if [ -d "$to" ]; then echo "$to is a folder" >&2; exit 1; fi
  done' sh {} + || exit 3
  find "$root" -type d -exec sh -c 'for from; do to=$target\${from#"$root"}; [ -d "$to" ] || mkdir "$to" || exit 1; done' sh {} + || partly
  find "$root" ! -type d -exec sh -c 'for from; do mv -f "$from" "$target\${from#"$root"}" || exit 1; done' sh {} + || partly
fi
exit 0
`;

/** Unpacks a gzipped tar archive on standard input into `folder`, which must be new. */
export const unpackProgram = `
printf '\\n%s\\n' "$nonce" >&2
cd "$HOME" && umask 077 && mkdir -p "$folder" || exit
tar -xzopf - -C "$folder" && exit
# Nothing stays of an archive that is cut off.
code=$?
rm -rf "$folder"
exit "$code"
`;
