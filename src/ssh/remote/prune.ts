/**
 * Shell function `prune NODE OPERATION`, in the folder of runs: removes the folders of runs that ended more than a week ago in
 * another operation of this node, and of other nodes that had this machine, after three months. An operation
 * that has given way to another never asks for its runs again. Those of the operation under way stay, however
 * old: an attempt may still come for their outcome, and would find a script that never ran. Shared texts go
 * after a week. Needs the identity functions.
 */
export const pruneFunctions = `
prune() {
  node=$1 operation=$2
  find . ! -name . -prune -type d ! -name ".*" -mtime +7 2>/dev/null | while read -r old; do
    {
      read -r its_id
      read -r its_node its_time its_operation
    } 2>/dev/null < "$old/id" || its_node=
    if [ "$its_node" = "$node" ]; then
      [ "$its_operation" != "$operation" ] || continue
    else
      [ -n "$(find "$old" -prune -mtime +90 2>/dev/null)" ] || continue
    fi
    [ -s "$old/rc" ] || (cd "$old" && fate && [ "$fate" != running ]) || continue
    rm -rf "$old"
  done
  # Sent again when they are needed.
  find .shared -type f -mtime +7 -exec rm -f {} + 2>/dev/null
}
`;
