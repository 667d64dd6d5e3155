cd "$HOME/balancer" 2>/dev/null || exit 0
for pid in nginx.pid balancer.pid; do
  [ -f "$pid" ] && kill "$(cat "$pid")" 2>/dev/null
  rm -f "$pid"
done
exit 0
