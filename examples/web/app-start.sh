set -e
cd "$HOME/app"
node app.mjs "$HEDDLE_IPADDRESS" "$((8080 + HEDDLE_NODENUM))" "$HEDDLE_NODE" >app.log 2>&1 </dev/null &
echo $! >app.pid
