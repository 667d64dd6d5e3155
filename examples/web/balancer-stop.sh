# SIGQUIT and SIGTERM: requests under way are answered first.
cd "$HOME/balancer" 2>/dev/null || exit 0
for file in nginx.pid balancer.pid; do
  [ -f "$file" ] || continue
  pid=$(cat "$file")
  if [ "$file" = nginx.pid ]; then kill -QUIT "$pid"; else kill "$pid"; fi 2>/dev/null
  tries=0
  while kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 150 ]; do tries=$((tries + 1)); sleep 0.1; done
  kill -9 "$pid" 2>/dev/null
  rm -f "$file"
done
exit 0
