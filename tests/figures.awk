# Prints a Markdown file with the figures that were measured (tests/figures). WORK has `folders`: file, line of a comment
# and a folder with figures of its command, separated by tabs. What differs goes to `different` there, what differs with packages
# that are not pinned to `unpinned`, and the number of compared figures to `compared`. COMPILER: whether the compiler is
# pinned. AT: only the table below that line. SAMPLED: not all platforms of the table were measured.

BEGIN {
    while ((getline line < (WORK "/folders")) > 0) {
        split(line, part, "\t")
        at = part[1] SUBSEP part[2]
        folders[at, ++folders_of[at]] = part[3]
    }
}

function complain(text) { print FILENAME ":" FNR ": " text >> (WORK "/different") }

# The figures of the command of a comment, and their names.
function read_figures(at,    number, file, line, part) {
    split("", value)
    split("", pinned)
    split("", platforms)
    split("", benchmarks)
    is_pinned = 1
    for (number = 1; number <= folders_of[at]; number++) {
        file = folders[at, number] "/figures"
        while ((getline line < file) > 0) {
            split(line, part, "\t")
            value[part[1], part[2]] = part[3]
            pinned[part[1], part[2]] = part[4] == "true" && COMPILER == "true"
            is_pinned = is_pinned && pinned[part[1], part[2]]
            platforms[part[1]]
            benchmarks[part[2]]
        }
        close(file)
    }
}

# The platform or benchmark that a name stands for, or nothing.
function resolve(name,    platform, found) {
    if (name in benchmarks || name in platforms)
        return name
    if (("lab:" name) in platforms)
        return "lab:" name
    if (name ~ /^[@+]/)
        for (platform in platforms)
            if (substr(platform, length(platform) - length(name) + 1) == name) {
                if (found != "")
                    complain(name " is the end of two platforms")
                found = platform
            }
    return found
}

# All of a list; nothing if one is unknown. Separated by tabs.
function resolve_all(text,    list, count, number, one, all) {
    count = split(text, list, / *, */)
    for (number = 1; number <= count; number++) {
        one = resolve(list[number])
        if (one == "")
            return ""
        all = all (number > 1 ? "\t" : "") one
    }
    return all
}

# What a label names: its text without links and remarks, or else what it has in backquotes in brackets.
function names(label,    text, all, remark, quoted) {
    while (match(label, /\]\([^)]*\)/))
        label = substr(label, 1, RSTART - 1) substr(label, RSTART + RLENGTH)
    gsub(/[[*]/, "", label)
    text = label
    gsub(/ *\([^)]*\)/, "", text)
    gsub(/`/, "", text)
    gsub(/^ +| +$/, "", text)
    all = resolve_all(text)
    if (all != "" || !match(label, /\([^)]*\)/))
        return all
    remark = substr(label, RSTART, RLENGTH)
    while (match(remark, /`[^`]*`/)) {
        quoted = quoted (quoted == "" ? "" : ", ") substr(remark, RSTART + 1, RLENGTH - 2)
        remark = substr(remark, RSTART + RLENGTH)
    }
    return quoted == "" ? "" : resolve_all(quoted)
}

# A header that is meant to be a platform must be one.
function header(label,    all) {
    all = names(label)
    if (all == "" && !SAMPLED && label ~ /^ *\[?`(lab:|\+|@)/)
        complain("no platform of the command is" label)
    return all
}

function with_commas(number,    text) {
    text = number
    while (match(text, /[0-9][0-9][0-9][0-9]($|[,.])/))
        text = substr(text, 1, RSTART) "," substr(text, RSTART + 1)
    return text
}

# A cell with what was measured: a figure for each name of its row or column, or one for all.
function cell(text, row, column,    rest, rows, columns, row_names, column_names, wanted, list, count, number, key, old, new) {
    if (match(text, /;.*/)) {
        rest = substr(text, RSTART)
        text = substr(text, 1, RSTART - 1)
    }
    row_names = split(row, rows, "\t")
    column_names = split(column, columns, "\t")
    wanted = row_names * column_names
    count = split(text, list, /, +/)
    if (text ~ /[0-9]/ && ((count != 1 && count != wanted) || (row_names > 1 && column_names > 1))) {
        complain(wanted " names have " count " figures:" text)
        return text rest
    }
    for (number = 1; number <= wanted; number++) {
        key = rows[row_names > 1 ? number : 1] SUBSEP columns[column_names > 1 ? number : 1]
        if (rows[1] in benchmarks)
            key = columns[column_names > 1 ? number : 1] SUBSEP rows[row_names > 1 ? number : 1]
        if (text !~ /[0-9]/) {
            # An empty cell is a choice, a word is a claim.
            if (text ~ /[a-z]/ && key in value)
                complain(named(key) ": measured " with_commas(value[key]) ", the docs have" text)
            continue
        }
        new = list[count > 1 ? number : 1]
        match(new, /[0-9][0-9,.]*/)
        old = substr(new, RSTART, RLENGTH)
        gsub(/,/, "", old)
        figures++
        if (!(key in value))
            complain(named(key) ": not measured, the docs have " with_commas(old))
        else if (old != value[key] && !pinned[key])
            print FILENAME ":" FNR ": " named(key) ": measured " with_commas(value[key]) ", the docs have " with_commas(old) \
                >> (WORK "/unpinned")
        else if (old != value[key]) {
            complain(named(key) ": measured " with_commas(value[key]) ", the docs have " with_commas(old))
            sub(/[0-9][0-9,.]*/, with_commas(value[key]), new)
        }
        if (count > 1 || number == 1)
            list[number] = new
    }
    text = list[1]
    for (number = 2; number <= count; number++)
        text = text ", " list[number]
    return text rest
}

function named(key,    part) {
    split(key, part, SUBSEP)
    return part[2] " of " part[1]
}

# The end of a table or block.
function finish() {
    if (!figures && !SAMPLED)
        complain("no cell of the table above was compared")
    print figures >> (WORK "/compared")
    state = ""
}

/^ *<!-- *figures?[: ]/ && !/^ *<!-- figures(: .*)? -->$/ { complain("not <!-- figures --> or <!-- figures: COMMAND -->") }

/^ *<!-- figures(: .*)? -->$/ {
    print
    if (state != "")
        finish()
    if (AT == "" || AT == FNR) {
        began = FILENAME SUBSEP FNR
        read_figures(began)
        state = "begins"
        figures = 0
    }
    next
}

(state == "begins" || state == "table") && /^ *\|/ && !/\| *$/ { complain("a row of a table without a bar at its end") }

state == "begins" && /^ *\|/ {
    # No cell of such a table has a bar.
    columns_there = split($0, cells, "|")
    split("", column)
    for (number = 3; number < columns_there; number++)
        column[number] = header(cells[number])
    state = "table"
    print
    next
}

state == "table" && /^ *\|.*\| *$/ {
    if ($0 !~ /^ *\|[-:| ]*$/) {
        columns_there = split($0, cells, "|")
        row = names(cells[2])
        line = cells[1] "|" cells[2]
        for (number = 3; number < columns_there; number++) {
            if (column[number] != "" && row != "")
                cells[number] = cell(cells[number], row, column[number])
            else if (column[number] != "" && cells[number] ~ /[0-9]/ && !SAMPLED)
                complain("the run has no row" cells[2])
            line = line "|" cells[number]
        }
        $0 = line "|"
    }
    print
    next
}

state == "table" && /^ *\|/ {
    print
    next
}

state == "table" { finish() }

# A line of a block differs.
function differs(text) {
    if (is_pinned)
        complain(text)
    else
        print FILENAME ":" FNR ": " text >> (WORK "/unpinned")
}

# The first six words of a line.
function heading(text,    words, number, all) {
    split(text, words)
    for (number = 1; number <= 6; number++)
        all = all " " words[number]
    return all
}

# The part of what the command prints, up to an empty line, that begins with these words; else the first.
function read_block(words,    file, line, is_first) {
    file = folders[began, 1] "/printed"
    lines = 0
    is_first = 1
    while ((getline line < file) > 0) {
        if (line == "") {
            if (lines)
                break
            is_first = 1
        } else if (lines || (is_first && (words == "" || heading(line) == words)))
            expected[++lines] = line
        else
            is_first = 0
    }
    close(file)
    if (!lines && words != "")
        read_block("")
}

# It replaces the block, unless it is of packages that are not pinned.
function replace_block(words,    number) {
    read_block(words)
    for (number = 1; number <= lines && is_pinned; number++)
        print expected[number]
}

state == "begins" && /^ *```/ {
    if (folders_of[began] != 1)
        complain("a block needs a command of one output")
    position = 0
    state = "block"
    print
    next
}

state == "block" && /^ *```/ {
    if (!position)
        replace_block("")
    if (position != lines)
        differs("the command prints " lines " lines, not " position)
    finish()
    print
    next
}

state == "block" {
    if (!position)
        replace_block(heading($0))
    figures++
    if ($0 != expected[++position] && position <= lines)
        differs("the command prints: " expected[position])
    if (is_pinned)
        next
}

state == "begins" && !/^ *$/ { finish() }

{ print }

END {
    if (state != "")
        finish()
}
