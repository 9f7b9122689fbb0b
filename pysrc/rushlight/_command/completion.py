"""rushlight completion: what lets a shell complete command lines of rushlight."""

from . import COMMANDS
from ._guard import Parser

_ABOUT = "Print a script by which a shell completes commands, options and files."
_MORE = """\
examples:
  eval "$({program} bash)"    # in ~/.bashrc; zsh in ~/.zshrc
  {program} fish > ~/.config/fish/completions/rushlight.fish

exit status: 0, 2 for a wrong command line.
"""
# what each command takes beside files; options that take a value end with =
OPTIONS = {
    "run": "",
    "inspect": "--json --all --help",
    "convert": "--key= --force --help",
    "summary": "--input-size= --dtype= --depth= --json --trust --help",
    "alias": "install status remove --target= --help",
    "completion": "bash zsh fish --help",
    "info": "--json --help",
}

_BASH = """\
_rushlight() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{commands} --help --version"
    else
        case ${{COMP_WORDS[1]}} in
{cases}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word"))
}}
complete -o filenames -F _rushlight rushlight
"""
_ZSH = """\
autoload -U +X compinit && compinit
autoload -U +X bashcompinit && bashcompinit
"""


def _bash():
    cases = [f'            {name}) words="{words.replace("=", "")}" ;;' for name, words in OPTIONS.items()]
    return _BASH.format(commands=" ".join(COMMANDS), cases="\n".join(cases))


def _fish():
    yield "set -l commands " + " ".join(COMMANDS)
    for name, text in COMMANDS.items():
        about = text.replace("'", "\\'")
        yield f"complete -c rushlight -n 'not __fish_seen_subcommand_from $commands' -a {name} -d '{about}'"
    for name, words in OPTIONS.items():
        seen = f"complete -c rushlight -n '__fish_seen_subcommand_from {name}'"
        for word in words.split():
            option = word.removeprefix("--")
            if option == word:
                yield f"{seen} -a {word}"
            else:
                yield f"{seen} -l {option.rstrip('=')}{' -r' if option.endswith('=') else ''}"


def script(shell):
    """Return the script for a shell."""
    if shell == "fish":
        return "\n".join(_fish()) + "\n"
    return (_ZSH if shell == "zsh" else "") + _bash()


def main(arguments, program):
    parser = Parser(program, _ABOUT, _MORE.format(program=program))
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")
    print(script(parser.parse_args(arguments).shell), end="")
    return 0
