//! Lists of CPUs as the kernel writes them: `0-3,8`.

use std::collections::BTreeSet;

/// CPUs by their numbers.
pub type Set = BTreeSet<u32>;

/// Greatest number in a valid list, far above the kernel's limit.
const MAX_CPU: u32 = 65_535;

/// Parses a list such as `0-3,8`; none if it is invalid. `(null)`, which some kernels print for a mask that was never
/// allocated, is the empty list.
#[must_use]
pub fn parse(text: &str) -> Option<Set> {
    match text.trim() {
        "" | "(null)" => Some(Set::new()),
        text => Some(in_order(text)?.into_iter().collect()),
    }
}

/// Parses a list that a user wrote; none if it is invalid. Keeps the order and repeated CPUs.
#[must_use]
pub fn in_order(text: &str) -> Option<Vec<u32>> {
    let number = |text: &str| {
        text.trim()
            .parse::<u32>()
            .ok()
            .filter(|cpu| *cpu <= MAX_CPU)
    };
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        // A list of all CPUs again and again would fill the memory.
        if first > last || cpus.len() > MAX_CPU as usize {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// Writes CPUs as a list such as `0-3,8`.
#[must_use]
pub fn show(cpus: &Set) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*cpu) => *last = *cpu,
            _ => ranges.push((*cpu, *cpu)),
        }
    }
    let ranges = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    ranges.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_of_the_kernel_and_of_users() {
        assert_eq!(parse("0-3,8\n"), Some(Set::from([0, 1, 2, 3, 8])));
        assert_eq!(parse("\n"), Some(Set::new()));
        assert_eq!(parse(" (null)\n"), Some(Set::new()));
        assert_eq!(in_order("3,0-1,3"), Some(vec![3, 0, 1, 3]));
        for wrong in [
            "x",
            "3-1",
            "0-4294967295",
            "1,,2",
            "-1",
            "0-65536",
            "1-",
            "0x1",
            "1,",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
            assert_eq!(in_order(wrong), None, "{wrong}");
        }
        assert_eq!(in_order(""), None);
        assert_eq!(in_order(&["0-65535"; 100].join(",")), None);
        assert_eq!(show(&Set::from([0, 1, 2, 3, 8])), "0-3,8");
        assert_eq!(show(&Set::new()), "");
    }

    proptest! {
        #[test]
        fn what_is_shown_is_parsed(text in "\\PC*", numbers in "[0-9,\\- (nul)]{0,20}", cpus: Vec<u16>) {
            for text in [text, numbers] {
                if let Some(cpus) = parse(&text) {
                    prop_assert_eq!(parse(&show(&cpus)), Some(cpus));
                }
            }
            let cpus: Set = cpus.into_iter().map(u32::from).collect();
            prop_assert_eq!(parse(&show(&cpus)), Some(cpus));
        }
    }
}
