/**
 * Shell functions: `find_program` sets `program`, `compose` runs it. HEDDLE_COMPOSE_PROGRAM is the
 * administrator's, or empty. The node keeps a note of what was found, for `use_program`.
 */
const findProgram = `
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

/** For BOOTSTRAP: ignores the note. */
export const prepareNode = `${findProgram}
HEDDLE_COMPOSE_PROGRAM=$1
find_program < /dev/null
echo "$program"
`;

/**
 * Carries out one action on the project. Its folder on the node has the compose file and the files beside it
 * in `project`. Standard input holds all parts; HEDDLE_COMPOSE_PARTS lists their sizes and names. The script
 * may be run again after it died with its machine, so every step accepts what an earlier run left.
 */
export const actOnProject = `${findProgram}
fail() { echo "$*" >&2; exit 1; }

project=$HEDDLE_COMPOSE_PROJECT
label=com.docker.compose.project=$project
kept=$HOME/.heddle/compose/$project
staged=$HEDDLE_RUN/staged

# Values are never part of this text: they come as files.
stage() {
  set -- $HEDDLE_COMPOSE_PARTS
  umask 077
  while [ "$#" -gt 0 ]; do
    mkdir -p "$(dirname "$staged/$2")" || exit
    if [ "$1" -gt 0 ]; then dd bs="$1" count=1 of="$staged/$2" 2> /dev/null || exit
    else true > "$staged/$2" || exit
    fi
    shift 2
  done
}

# A file keeps its inode, so that a container that has it mounted sees what changed.
keep() {
  [ -d "$staged/project" ] || return 0
  mkdir -p "$kept/project" || exit
  (cd "$staged/project" && find . -type f) > "$staged/names" || exit
  while IFS= read -r name; do
    mkdir -p "$(dirname "$kept/project/$name")" || exit
    cmp -s "$staged/project/$name" "$kept/project/$name" || cat "$staged/project/$name" > "$kept/project/$name" || exit
    chmod 644 "$kept/project/$name"
  done < "$staged/names"
  if [ -f "$kept/names" ]; then
    while IFS= read -r name; do
      grep -qxF -e "$name" "$staged/names" || rm -f "$kept/project/$name"
    done < "$kept/names"
  fi
  find "$kept/project" -type d -exec chmod 755 {} +
  mv "$staged/environment" "$kept/environment" && mv "$staged/names" "$kept/names" && mv "$staged/owner" "$kept/owner" || exit
}

check_owner() {
  [ -f "$kept/owner" ] || return 0
  cmp -s "$staged/owner" "$kept/owner" || fail "the project $project on this machine is that of node $(cat "$kept/owner"): give this service another one by the field project"
}

on_project() { compose -p "$project" -f compose.yaml "$@"; }
containers() { "$engine" ps "$@" --quiet --filter "label=$label" || fail "$engine does not show the containers of $project"; }

pull() { if [ "$HEDDLE_COMPOSE_PULL" = always ]; then on_project pull < /dev/null || exit; fi; }

up() {
  on_project up -d --remove-orphans < /dev/null || exit
  drop_orphans
  wait_until_ready
}

# podman-compose takes --remove-orphans, and leaves them where they are.
drop_orphans() {
  case $program in *podman-compose*) ;; *) return 0 ;; esac
  wanted=$(on_project config --services < /dev/null) || exit
  found=$(containers --all) || exit
  for id in $found; do
    service=$("$engine" inspect --format '{{index .Config.Labels "com.docker.compose.service"}}' "$id") || continue
    printf '%s\\n' "$wanted" | grep -qxF -e "$service" || "$engine" rm -f "$id" > /dev/null || exit
  done
}

# name, state, exit code, restart policy, health: of each container a line.
show() { "$engine" inspect --format '{{.Name}}|{{.State.Status}}|{{.State.ExitCode}}|{{.HostConfig.RestartPolicy.Name}}|{{with .State.Health}}{{.Status}}{{end}}' "$1"; }

wait_until_ready() {
  limit=$(($(date +%s) + HEDDLE_COMPOSE_WAIT))
  while true; do
    waiting= last=
    found=$(containers --all) || exit
    for id in $found; do
      # Podman looks by itself only where systemd has it look.
      case $engine in *podman*) "$engine" healthcheck run "$id" > /dev/null 2>&1 ;; esac
      line=$(show "$id") || continue
      IFS='|' read -r name state code policy health <<END
$line
END
      name=\${name#/}
      case $state:$health in
        running:|running:healthy) ;;
        running:unhealthy) say_last "$id"; fail "container $name is not healthy" ;;
        exited:*)
          case $policy:$code in
            :0|no:0|on-failure*:0) ;;
            :*|no:*) say_last "$id"; fail "container $name ended with exit code $code" ;;
            *) waiting="$waiting $name (ended with exit code $code)" ;;
          esac ;;
        *) waiting="$waiting $name ($state\${health:+, $health})"; last=$id ;;
      esac
    done
    [ -n "$waiting" ] || return 0
    if [ "$(date +%s)" -ge "$limit" ]; then
      [ -z "$last" ] || say_last "$last"
      fail "not ready after $HEDDLE_COMPOSE_WAIT s:$waiting"
    fi
    sleep 1
  done
}

say_last() { "$engine" logs --tail 20 "$1" >&2 < /dev/null; }

stop() {
  on_project stop -t "$HEDDLE_COMPOSE_STOP" < /dev/null || exit
  # Those of services that are not in the file any more run on.
  found=$(containers) || exit
  [ -z "$found" ] || "$engine" stop -t "$HEDDLE_COMPOSE_STOP" $found > /dev/null
  found=$(containers) || exit
  [ -z "$found" ] || fail "these containers of $project still run:" $found
}

remove() {
  set -- --remove-orphans -t "$HEDDLE_COMPOSE_STOP"
  if [ "$HEDDLE_COMPOSE_VOLUMES" = true ]; then set -- "$@" --volumes; fi
  on_project down "$@" < /dev/null || exit
  found=$(containers --all) || exit
  [ -z "$found" ] || fail "these containers of $project are still there:" $found
  cd "$HOME" && rm -rf "$kept"
}

# A container outlives the program that waits for it: who ends the program ends it.
run_once() {
  name=$project-run-$HEDDLE_COMPOSE_TOKEN
  "$engine" rm -f "$name" > /dev/null 2>&1
  true >> "$HEDDLE_RESULT"
  service=$HEDDLE_COMPOSE_RUN
  # Sets the positional parameters.
  . "$staged/words"
  trap '"$engine" kill "$name" > /dev/null 2>&1; "$engine" rm -f "$name" > /dev/null 2>&1; exit 143' TERM INT HUP
  on_project run --rm -T --name "$name" "$service" "$@" < "$staged/input" &
  wait "$!"
  code=$?
  trap - TERM INT HUP
  "$engine" rm -f "$name" > /dev/null 2>&1
  exit "$code"
}

stage
umask 022
check_owner
use_program < /dev/null
engine=$HEDDLE_COMPOSE_ENGINE
if [ -z "$engine" ]; then
  case $program in *podman*) engine=podman ;; *) engine=docker; command -v docker > /dev/null || engine=podman ;; esac
fi
if [ -d "$staged/project" ]; then
  (cd "$staged/project" && . "$staged/environment" && on_project config -q < /dev/null) || fail "the compose file of $project is wrong: $program says why above; what is kept on the node stays as it was"
  keep
elif [ ! -f "$kept/project/compose.yaml" ]; then
  case $HEDDLE_COMPOSE_VERB in STOP|REMOVE) ;; *) fail "the node keeps no compose file of $project: give file in this action, or in one before it" ;; esac
  found=$(containers --all) || exit
  [ -z "$found" ] || fail "there are containers of $project, and the node keeps no compose file of it: give file in this action too"
  exit 0
fi
cd "$kept/project" || exit
. "$kept/environment"
if [ -n "$HEDDLE_COMPOSE_RUN" ]; then run_once; fi
case $HEDDLE_COMPOSE_VERB in
  INSTALL) pull; on_project up --no-start < /dev/null ;;
  CONFIGURE|RELOAD)
    found=$(containers) || exit
    if [ -n "$found" ]; then pull; up; fi ;;
  START) pull; up ;;
  STOP) stop ;;
  REMOVE) remove ;;
  *) fail "compose does not carry out $HEDDLE_COMPOSE_VERB" ;;
esac
`;
