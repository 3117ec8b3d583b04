//! Lists in sentences.

/// Joins names as a sentence does: `a`, `a and b`, `a, b and c`. Empty without names.
pub fn and<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match &*names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_last_name_comes_after_and() {
        for (names, text) in [
            (&[][..], ""),
            (&["a"], "a"),
            (&["a", "b"], "a and b"),
            (&["a", "b", "c"], "a, b and c"),
        ] {
            assert_eq!(super::and(names), text);
        }
    }
}
