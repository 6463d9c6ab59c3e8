# SPDX-License-Identifier: Apache-2.0
# fish completion of the command `ondeloc`. The words come from the bash completion, which is installed beside this file and reads
# --help. fish itself completes the names of files.
set -g __ondeloc_script (dirname (status filename))/../../bash-completion/completions/ondeloc
function __ondeloc_words
    bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ondeloc; printf "%s\n" "${COMPREPLY[@]}"' \
        bash $__ondeloc_script (commandline -opc) (commandline -ct) 2>/dev/null
end
complete -c ondeloc -a '(__ondeloc_words)'
