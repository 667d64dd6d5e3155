[ -f "$HOME/app/app.pid" ] || exit 0
kill "$(cat "$HOME/app/app.pid")" 2>/dev/null
rm -f "$HOME/app/app.pid"
