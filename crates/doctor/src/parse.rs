//! Parsers of the kernel's text formats. They accept any text and never panic.

/// The value of the first `key : value` line.
pub fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim())
}

/// The chosen word of `always [madvise] never`.
pub fn chosen(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('[')?;
    let (word, _) = rest.split_once(']')?;
    Some(word)
}

/// Whether a line of words, such as CPU flags, contains a word.
pub fn has_word(words: &str, wanted: &str) -> bool {
    words.split_ascii_whitespace().any(|word| word == wanted)
}

/// Time of all CPUs since boot, in ticks of USER_HZ (mostly 1/100 s).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// The sum of all states.
    pub total: u64,
    /// Idle time, including idle while waiting for a disk (iowait).
    pub idle: u64,
    /// Time that the hypervisor below took for something else.
    pub steal: u64,
}

impl CpuTimes {
    /// The difference to `earlier`; none if no time passed, or the total decreased.
    pub fn since(self, earlier: Self) -> Option<Self> {
        let total = self.total.checked_sub(earlier.total)?;
        (total > 0).then_some(Self {
            total,
            // Idle time may decrease a little on some kernels.
            idle: self.idle.saturating_sub(earlier.idle).min(total),
            steal: self.steal.saturating_sub(earlier.steal).min(total),
        })
    }

    /// The stolen share, 0 to 1.
    pub fn steal_share(self) -> f64 {
        share(self.steal, self.total)
    }

    /// The share in which this host ran something, 0 to 1.
    pub fn busy_share(self) -> f64 {
        let free = self.idle.saturating_add(self.steal);
        share(self.total.saturating_sub(free), self.total)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    (part as f64 / whole as f64).min(1.0)
}

/// Parses the first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal.
/// The guest times that follow are contained in user and nice (proc(5)).
pub fn cpu_times(stat: &str) -> Option<CpuTimes> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<u64> = line
        .split_ascii_whitespace()
        .take(8)
        .map_while(|field| field.parse().ok())
        .collect();
    let at = |index: usize| fields.get(index).copied().unwrap_or_default();
    (fields.len() >= 4).then(|| CpuTimes {
        total: fields.iter().fold(0, |sum, part| sum.saturating_add(*part)),
        idle: at(3).saturating_add(at(4)),
        steal: at(7),
    })
}

/// A value from the host, cut to fit into a sentence.
pub fn short(text: &str) -> String {
    const MOST: usize = 60;
    let text = text.trim();
    match text.char_indices().nth(MOST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_times_of_all_cpus() {
        let times = cpu_times("intr 5\ncpu  100 0 50 800 20 5 5 20 90 0\ncpu0 1 1 1 1\n").unwrap();
        assert_eq!((times.total, times.idle, times.steal), (1000, 820, 20));
        assert_eq!((times.steal_share(), times.busy_share()), (0.02, 0.16));
        let later = cpu_times("cpu  150 0 50 800 20 5 5 70").unwrap();
        let passed = later.since(times).unwrap();
        assert_eq!((passed.total, passed.idle, passed.steal), (100, 0, 50));
        assert_eq!(times.since(later), None);
        assert_eq!(later.since(later), None);
        assert_eq!(cpu_times("cpu  1 2 3"), None);
        assert_eq!(cpu_times(""), None);
    }

    #[test]
    fn chosen_words_fields_and_short_text() {
        assert_eq!(chosen("always [madvise] never"), Some("madvise"));
        assert_eq!(chosen("always ]madvise[ never"), None);
        assert_eq!(
            field("a: 1\nflags\t\t: fpu vme\n", "flags"),
            Some("fpu vme")
        );
        assert!(has_word("fpu vme", "vme") && !has_word("fpu vmexit", "vme"));
        assert_eq!(
            short(&"\u{e9}".repeat(100)),
            format!("{}...", "\u{e9}".repeat(60))
        );
    }

    proptest! {
        #[test]
        fn any_text_is_parsed(text in "\\PC*", stat in "cpu [0-9 ]{0,200}") {
            for text in [&text, &stat] {
                let _ = (field(text, "flags"), chosen(text), short(text));
                if let Some(times) = cpu_times(text) {
                    prop_assert!((0.0..=1.0).contains(&times.busy_share()));
                    prop_assert!((0.0..=1.0).contains(&times.steal_share()));
                }
            }
        }
    }
}
