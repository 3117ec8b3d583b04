# Prints a page of the book with the figures that were measured (tests/figures). FOLDERS has a line for each command:
# the command, and a folder with what it measured, separated by a tab. What differs goes to DIFFERENT, and the number of
# figures that were compared to COMPARED. AT: only the table below that line. SAMPLED: not all platforms were measured.

BEGIN {
    while ((getline line < FOLDERS) > 0) {
        split(line, part, "\t")
        folders[part[1], ++folders_of[part[1]]] = part[2]
    }
}

function complain(text) { print FILENAME ":" FNR ": " text >> DIFFERENT }

# The figures of a command, and their names.
function read_figures(command,    number, file, line, part) {
    split("", value)
    split("", platforms)
    split("", benchmarks)
    for (number = 1; number <= folders_of[command]; number++) {
        file = folders[command, number] "/figures"
        while ((getline line < file) > 0) {
            split(line, part, "\t")
            value[part[1], part[2]] = part[3]
            platforms[part[1]]
            benchmarks[part[2]]
        }
        close(file)
    }
}

# The platform or benchmark that a name stands for, or nothing.
function resolve(name,    platform) {
    if (name in benchmarks || name in platforms)
        return name
    if (("lab:" name) in platforms)
        return "lab:" name
    if (name ~ /^[@+]/)
        for (platform in platforms)
            if (substr(platform, length(platform) - length(name) + 1) == name)
                return platform
    return ""
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

function with_commas(number,    text) {
    text = sprintf("%d", number)
    while (match(text, /[0-9][0-9][0-9][0-9]($|,)/))
        text = substr(text, 1, RSTART) "," substr(text, RSTART + 1)
    return text
}

# A cell with what was measured: a figure for each name of its row or column, or one for all.
function cell(text, row, column,    rest, rows, columns, row_names, column_names, wanted, list, count, number, key, old, new) {
    if (match(text, /;.*/)) {
        rest = substr(text, RSTART)
        text = substr(text, 1, RSTART - 1)
    }
    if (text !~ /[0-9]/)
        return text rest
    row_names = split(row, rows, "\t")
    column_names = split(column, columns, "\t")
    wanted = row_names * column_names
    count = split(text, list, /, +/)
    if ((count != 1 && count != wanted) || (row_names > 1 && column_names > 1)) {
        complain(wanted " names have " count " figures:" text)
        return text rest
    }
    for (number = 1; number <= wanted; number++) {
        key = rows[row_names > 1 ? number : 1] SUBSEP columns[column_names > 1 ? number : 1]
        if (rows[1] in benchmarks)
            key = columns[column_names > 1 ? number : 1] SUBSEP rows[row_names > 1 ? number : 1]
        old = list[count > 1 ? number : 1]
        new = old
        gsub(/[^0-9]/, "", old)
        figures++
        if (!(key in value))
            complain(named(key) " has no figure, but the book has " old)
        else if (old != value[key]) {
            complain(named(key) " is " value[key] ", not " old)
            sub(/[0-9][0-9,]*/, with_commas(value[key]), new)
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
        complain("no figure of its command stands above")
    print figures >> COMPARED
    state = ""
}

/^ *<!-- figures: .* -->$/ {
    command = $0
    sub(/^ *<!-- figures: /, "", command)
    sub(/ -->$/, "", command)
    print
    if (state != "")
        finish()
    if (AT == "" || AT == FNR) {
        read_figures(command)
        state = "begins"
        figures = 0
    }
    next
}

state == "begins" && /^ *\|/ {
    # No cell of such a table has a bar.
    columns_there = split($0, cells, "|")
    for (number = 3; number < columns_there; number++)
        column[number] = names(cells[number])
    state = "table"
    print
    next
}

state == "table" && /^ *\|/ {
    if ($0 !~ /^ *\|[-:| ]*$/) {
        columns_there = split($0, cells, "|")
        row = names(cells[2])
        line = cells[1] "|" cells[2]
        for (number = 3; number < columns_there; number++) {
            if (column[number] != "" && row != "")
                cells[number] = cell(cells[number], row, column[number])
            else if (column[number] != "" && cells[number] ~ /[0-9]/ && !SAMPLED)
                complain("the run has nothing of the name" cells[2])
            line = line "|" cells[number]
        }
        $0 = line "|"
    }
    print
    next
}

state == "table" { finish() }

# What the command prints, up to an empty line, replaces the block.
state == "begins" && /^ *```/ {
    lines = 0
    printed = folders[command, 1] "/printed"
    print
    while ((getline line < printed) > 0 && line != "") {
        print line
        expected[++lines] = line
    }
    close(printed)
    position = 0
    state = "block"
    next
}

state == "block" && /^ *```/ {
    if (position != lines)
        complain("the command prints " lines " lines, not " position)
    finish()
    print
    next
}

state == "block" {
    figures++
    if ($0 != expected[++position] && position <= lines)
        complain("it prints: " expected[position])
    next
}

state == "begins" && !/^ *$/ { finish() }

{ print }

END {
    if (state != "")
        finish()
}
