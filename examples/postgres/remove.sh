# Removes data and configuration of primary or replica. The packages stay, because other software may use them.
. "$HEDDLE_DATA"
if find_postgres && running; then fail "PostgreSQL still runs on $base; stop it first"; fi
rm -rf "$base"
