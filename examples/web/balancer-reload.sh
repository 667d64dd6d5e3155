# nginx serves requests under way with its old configuration. The Node program reads the file for each request.
set -e
cd "$HOME/balancer"
[ "$(cat kind)" != nginx ] || nginx -c "$HOME/balancer/nginx.conf" -s reload
