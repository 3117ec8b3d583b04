# shellcheck shell=bash
# Completion of NAME: the command itself says what the word at the cursor may become.
_NAME() {
    local rest=${COMP_LINE:0:COMP_POINT} words=() word gap i current
    # readline also splits at $COMP_WORDBREAKS: of lab:kvm@6.12 it makes five words. Words without a gap are one.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        gap=${rest%%[![:space:]]*}
        rest=${rest#"$gap"}
        word=${COMP_WORDS[i]}
        # The last one may go on after the cursor.
        [ "$i" -lt "$COMP_CWORD" ] || word=$rest
        rest=${rest#"$word"}
        if [ "$i" -gt 0 ] && [ -z "$gap" ]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
    done
    mapfile -t COMPREPLY < <("$1" complete -- "${words[@]}" 2>/dev/null)
    COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
    # readline replaces only its own last word, $2.
    current=${words[${#words[@]} - 1]}
    COMPREPLY=("${COMPREPLY[@]#"${current%"$2"}"}")
    # After log: comes a path.
    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *: ]] || compopt -o nospace 2>/dev/null
}
complete -o bashdefault -o default -F _NAME NAME
