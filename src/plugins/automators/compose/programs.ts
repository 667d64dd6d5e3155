/**
 * Shell functions: `find_program` sets `program`, `compose` runs it. Variables: HEDDLE_COMPOSE_PROGRAM, the
 * administrator's, or empty. What is found is noted, so that actions need not look.
 */
export const findProgram = `
compose() {
  case $program in
    'docker compose') docker compose "$@" ;;
    *) "$program" "$@" ;;
  esac
}
find_program() {
  note=$HOME/.heddle/prepared/compose
  if [ -n "$HEDDLE_COMPOSE_PROGRAM" ]; then
    program=$HEDDLE_COMPOSE_PROGRAM
    compose version > /dev/null 2>&1 && return
    echo "the compose program $program does not run on this node" >&2
    exit 3
  fi
  for program in 'docker compose' docker-compose podman-compose; do
    if compose version > /dev/null 2>&1; then
      (umask 077; mkdir -p "\${note%/*}" && printf '%s\\n' "$program" > "$note")
      return
    fi
  done
  echo "the node has neither docker compose, docker-compose nor podman-compose: choose an image with Docker and its package docker-compose-plugin, or with podman and podman-compose, or install them by an action before" >&2
  exit 3
}
use_program() {
  note=$HOME/.heddle/prepared/compose
  program=
  if [ -z "$HEDDLE_COMPOSE_PROGRAM" ] && [ -f "$note" ]; then program=$(cat "$note"); fi
  if [ -n "$program" ] && command -v "\${program%% *}" > /dev/null; then return; fi
  find_program
}
`;

/** For BOOTSTRAP: looks anew. */
export const prepareNode = `${findProgram}
HEDDLE_COMPOSE_PROGRAM=$1
find_program < /dev/null
echo "$program"
`;
