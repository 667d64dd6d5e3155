import { exitCodes } from '../errors.js';

export const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/** Prints the completion of a shell, which asks `heddle __complete` for the words. */
export async function printCompletion(shell: Shell): Promise<number> {
  process.stdout.write(scripts[shell]);
  return exitCodes.ok;
}

const scripts: Readonly<Record<Shell, string>> = {
  bash: String.raw`# heddle completion bash: source it, or put it into ~/.local/share/bash-completion/completions/heddle
_heddle() {
  local words found word current="\${COMP_LINE:0:COMP_POINT}"
  read -r -a words <<< "$current"
  # A blank before the cursor begins a new word. Bash would split words at = and : otherwise.
  [[ $current == *[[:space:]] ]] && words+=("")
  found=$(heddle __complete -- "\${words[@]:1}" 2> /dev/null) || return
  local cur="\${words[\${#words[@]}-1]}"
  if [[ $found == :files ]]; then
    compopt -o default 2> /dev/null
    COMPREPLY=()
    return
  fi
  COMPREPLY=()
  [[ -z $found ]] && return
  # Bash replaces only what follows the last = or : of the word.
  local stem="\${cur%"\${cur##*[=:]}"}"
  while IFS= read -r word; do COMPREPLY+=("\${word#"$stem"}"); done <<< "$found"
  # A value follows.
  [[ $found == *= ]] && compopt -o nospace 2> /dev/null
}
complete -F _heddle heddle
`.replaceAll('\\$', '$'),
  zsh: String.raw`#compdef heddle
# heddle completion zsh: put it as _heddle into a folder of $fpath, or source it after compinit
_heddle() {
  local found
  local -a offered
  found=$(heddle __complete -- "\${(@)words[2,CURRENT]}" 2> /dev/null) || return
  if [[ $found == :files ]]; then
    _files
    return
  fi
  [[ -z $found ]] && return
  offered=("\${(@f)found}")
  # A value follows =.
  compadd -S '' -- "\${(@M)offered:#*=}"
  compadd -- "\${(@)offered:#*=}"
}
if [[ \${zsh_eval_context[-1]} == loadautofunc ]]; then _heddle "$@"; else compdef _heddle heddle; fi
`.replaceAll('\\$', '$'),
  fish: String.raw`# heddle completion fish: put it into ~/.config/fish/completions/heddle.fish, or source it
function __heddle_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found (heddle __complete -- $words[2..-1] 2> /dev/null)
  if test "$found" = :files
    __fish_complete_path (commandline -ct)
  else
    printf '%s\n' $found
  end
end
complete -c heddle -f -a '(__heddle_complete)'
`,
};
