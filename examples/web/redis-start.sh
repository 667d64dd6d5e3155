set -e
cd "$HOME/redis"
if [ "$(cat kind)" = redis ]; then
  redis-server redis.conf >redis.log 2>&1 </dev/null &
else
  node store.mjs redis.conf >redis.log 2>&1 </dev/null &
fi
echo $! >redis.pid
# Ready when it answers a read; a replica answers when it has its data.
ready() { node store.mjs redis.conf ping; }
tries=0
until ready 2>>redis.log; do
  tries=$((tries + 1))
  if [ "$tries" -ge 100 ] || ! kill -0 "$(cat redis.pid)" 2>/dev/null; then cat redis.log >&2; exit 1; fi
  sleep 0.2
done
