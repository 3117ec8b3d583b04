//! The kernel of a result, the line over kernels that the result belongs to, and the order of kernel versions.

use std::cmp::Ordering;
use ws_results::ResultFile;

/// The fields of a result that name a kernel: first the kernel under test, then the host's.
const FIELDS: [&str; 2] = ["kernel", "host_kernel"];

/// Returns the kernel under test; none if the result names none.
pub fn kernel(result: &ResultFile) -> Option<String> {
    FIELDS.iter().find_map(|field| {
        let value = result.identity.subject.get(*field)?;
        value.as_str().map(str::to_owned)
    })
}

/// Returns the line over kernels that a run belongs to, and the kernel's name on that line. The line is the machine:
/// the platform without its kernel. Options of the platform stay, as does a variant that is no kernel (`lab:xen@4.20`);
/// `unstable` is the lab's newest kernel. Kernels built from commits often share a release, so their names also have
/// the end of their path.
pub fn line_of(platform: &str, kernel: &str) -> (String, String) {
    let Some((base, rest)) = platform.split_once('@') else {
        return (platform.to_owned(), kernel.to_owned());
    };
    let end = rest.find('+').unwrap_or(rest.len());
    let (variant, options) = rest.split_at(end);
    let machine = format!("{base}{options}");
    match variant.rsplit_once('/') {
        Some((_, last)) => (machine, format!("{kernel} {last}")),
        None if variant == "unstable"
            || kernel.split(' ').any(|word| word.starts_with(variant)) =>
        {
            (machine, kernel.to_owned())
        }
        None => (platform.to_owned(), kernel.to_owned()),
    }
}

/// Compares versions, with numbers in them as numbers: 6.9 is before 6.12.
pub fn by_version(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (parts(a), parts(b));
    loop {
        match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (a, b) if a == b => {}
            (a, b) => return a.cmp(&b),
        }
    }
}

/// A part of a version: a number, or one other character.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Other(char),
    /// Number of digits, then the digits without leading zeros: so compared, the order is numeric.
    Number(usize, String),
}

fn parts(version: &str) -> impl Iterator<Item = Part> {
    let mut chars = version.chars().peekable();
    std::iter::from_fn(move || {
        let first = chars.next()?;
        if !first.is_ascii_digit() {
            return Some(Part::Other(first));
        }
        let mut digits = String::from(first);
        while let Some(digit) = chars.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        let digits = digits.trim_start_matches('0');
        Some(Part::Number(digits.len(), digits.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_one_line_over_its_kernels_and_other_machines_are_others() {
        let line = |platform, kernel| {
            let (machine, version) = line_of(platform, kernel);
            format!("{machine}; {version}")
        };
        assert_eq!(line("lab:kvm", "linux 6.1.0-50"), "lab:kvm; linux 6.1.0-50");
        assert_eq!(
            line("lab:kvm@6.12+cpu=EPYC", "linux 6.12.1"),
            "lab:kvm+cpu=EPYC; linux 6.12.1"
        );
        assert_eq!(
            line("lab:kvm@/week/kernels/0a1b2c-ffff", "linux 6.12.0"),
            "lab:kvm; linux 6.12.0 0a1b2c-ffff"
        );
        assert_eq!(
            line("lab:kvm@unstable+cpu=EPYC", "linux 7.0.4+deb15-cloud-amd64"),
            "lab:kvm+cpu=EPYC; linux 7.0.4+deb15-cloud-amd64"
        );
        assert_eq!(
            line("lab:xen@4.20", "linux 6.12.1"),
            "lab:xen@4.20; linux 6.12.1"
        );
    }

    #[test]
    fn versions_compare_as_numbers() {
        let mut versions = [
            "6.12", "6.9", "6.1.0-18", "7.0", "6.12.1", "6.1.0-9", "6.12-rc1",
        ];
        versions.sort_by(|a, b| by_version(a, b));
        assert_eq!(
            versions,
            [
                "6.1.0-9", "6.1.0-18", "6.9", "6.12", "6.12-rc1", "6.12.1", "7.0"
            ]
        );
        assert_eq!(by_version("6.01", "6.1"), Ordering::Equal);
        let long = "9".repeat(400);
        assert_eq!(by_version(&long, "1"), Ordering::Greater);
    }
}
