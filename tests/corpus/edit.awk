# Changes one function of a C file of Linux. The function's definition begins at a line's first column and ends with
# the first line that is `}`.
#
#   name       the function
#   before     a line to put before the definition
#   statement  a statement to put at its beginning
#   move       1: the definition goes to the end of the file, a declaration stays
#
# Exit code 1: the file has no such definition.

# Lines that may begin the definition are kept until the line `{`. A line that ends in `;` is a declaration.
function flush_head() {
    printf "%s", head
    head = ""
}

!found && !inside && head == "" && $0 ~ "^[a-z].*[ *]" name "\\(" && !/;$/ {
    head = $0 "\n"
    next
}

head != "" && !inside {
    if ($0 == "{") {
        found = inside = 1
        if (before != "")
            print before
        if (move) {
            declaration = head
            sub(/\n$/, ";", declaration)
            print declaration
            kept = head "{\n"
        } else {
            flush_head()
            print
        }
        head = ""
        if (statement != "")
            print "\t" statement
        next
    }
    head = head $0 "\n"
    if (/;$/ || /^}/)
        flush_head()
    next
}

inside && move {
    kept = kept $0 "\n"
    if ($0 == "}")
        inside = 0
    next
}

inside && $0 == "}" { inside = 0 }

{ print }

END {
    printf "%s%s", head, (kept == "" ? "" : "\n" kept)
    exit !found
}
