[ -f "$HOME/redis/redis.pid" ] || exit 0
pid=$(cat "$HOME/redis/redis.pid")
kill "$pid" 2>/dev/null
tries=0
while kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 50 ]; do tries=$((tries + 1)); sleep 0.1; done
kill -9 "$pid" 2>/dev/null
rm -f "$HOME/redis/redis.pid"
