//! Parsing of a guest's command line, for both fakes.

/// The value of a word; `""` if it is not there.
pub fn word<'a>(command_line: &'a str, key: &str) -> &'a str {
    let mut words = command_line.split(' ');
    words
        .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
        .unwrap_or("")
}

/// The benchmarks that it selects, in their order.
pub fn names(command_line: &str) -> Vec<String> {
    let pattern = word(command_line, "bench")
        .trim_start_matches("^(")
        .trim_end_matches(")$");
    let names: Vec<&str> = match word(command_line, "rows") {
        "" => pattern.split('|').collect(),
        rows => rows.split(',').collect(),
    };
    names.into_iter().map(str::to_owned).collect()
}
