//! Platform names, as users type them and results contain them: one parser, one spelling.
//!
//! A name is `NAME` or `FAMILY:NAME`, then `@VARIANT`, then `+key=value` for each option. Options may come in any
//! order; the canonical spelling sorts them. Two families, `serial:` and `log:`, name a path. Everything after the
//! colon is the path, including '@', '+' and ':'. There is no variant and no option. A variant that is a path may
//! contain '+' too, as Debian's releases do: options begin at the first `+key=`. Lists are separated by commas; within
//! a list, a comma in a name is written `\,` and a backslash `\\`.
//!
//! A parsed name is only well formed; `platforms` checks that such a platform exists.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use ws_lab::recipe::is_path;

/// Families whose name is a path.
pub const PATH_FAMILIES: [&str; 2] = ["serial", "log"];

/// A platform's name, well formed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlatformName {
    /// The part before the colon, if any.
    pub family: Option<String>,
    /// The name, or for a family of [`PATH_FAMILIES`] the path.
    pub name: String,
    /// The part after '@'.
    pub variant: Option<String>,
    /// `+key=value`, by key.
    pub options: BTreeMap<String, String>,
}

/// Reason why a text is not a platform name. The message names the text and its fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("a platform's name is empty")]
    Empty,
    #[error("platform \"{0}\": a name can't contain control characters")]
    Control(String),
    #[error("platform \"{text}\": {what} \"{part}\" may contain only a-z, 0-9, '-' and '_'")]
    Word {
        text: String,
        what: &'static str,
        part: String,
    },
    #[error("platform \"{0}\": '{1}:' must be followed by a path")]
    NoPath(String, String),
    #[error("platform \"{0}\": '@' must be followed by a variant")]
    NoVariant(String),
    #[error("platform \"{0}\": '@' and the variant come before the options: {1}")]
    VariantLast(String, String),
    #[error("platform \"{0}\": an option is written +key=value")]
    Option(String),
    #[error("platform \"{0}\": option \"{1}\" is given twice")]
    Twice(String, String),
    #[error("\"{0}\": in a list a backslash must be followed by ',' or another backslash")]
    Escape(String),
}

impl PlatformName {
    /// The path of a `serial:` or `log:` platform.
    pub fn path(&self) -> Option<&str> {
        let family = self.family.as_deref()?;
        PATH_FAMILIES
            .contains(&family)
            .then_some(self.name.as_str())
    }

    /// `FAMILY:NAME` or `NAME`, without variant and options.
    pub fn base(&self) -> String {
        match &self.family {
            Some(family) => format!("{family}:{}", self.name),
            None => self.name.clone(),
        }
    }
}

impl FromStr for PlatformName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.chars().any(char::is_control) {
            return Err(NameError::Control(text.escape_default().to_string()));
        }
        for family in PATH_FAMILIES {
            if let Some(path) = text.strip_prefix(family).and_then(|t| t.strip_prefix(':')) {
                if path.is_empty() {
                    return Err(NameError::NoPath(text.into(), family.into()));
                }
                return Ok(Self {
                    family: Some(family.into()),
                    name: path.into(),
                    variant: None,
                    options: BTreeMap::new(),
                });
            }
        }
        let (head, options_text) = split_options(text);
        let (base, variant) = match head.split_once('@') {
            Some((_, "")) => return Err(NameError::NoVariant(text.into())),
            Some((base, variant)) => (base, Some(variant.to_owned())),
            None => (head, None),
        };
        let (family, name) = match base.split_once(':') {
            Some((family, name)) => (Some(word(text, "the family", family)?), name),
            None => (None, base),
        };
        let name = word(text, "the name", name)?;
        let mut options = BTreeMap::new();
        let last = options_text.and_then(|options| options.rsplit_once('@'));
        if let (None, Some((options, variant))) = (&variant, last) {
            let right = format!("{base}@{variant}+{options}");
            return Err(NameError::VariantLast(text.into(), right));
        }
        for piece in options_text.into_iter().flat_map(|text| text.split('+')) {
            let (key, value) = piece
                .split_once('=')
                .filter(|(_, value)| !value.is_empty())
                .ok_or_else(|| NameError::Option(text.into()))?;
            let key = word(text, "the option", key)?;
            if options.insert(key.clone(), value.to_owned()).is_some() {
                return Err(NameError::Twice(text.into(), key));
            }
        }
        Ok(Self {
            family,
            name,
            variant,
            options,
        })
    }
}

/// Splits a text into the part before the options, and the options without the first '+'.
fn split_options(text: &str) -> (&str, Option<&str>) {
    let variant = text.split_once('@').map(|(_, variant)| variant);
    let has_path = variant.is_some_and(is_path);
    let begins = |(at, _): &(usize, &str)| {
        let key = text[at + 1..].split(['=', '+']).next().unwrap_or_default();
        let is_key = is_word(key) && text[at + 1 + key.len()..].starts_with('=');
        !has_path || is_key
    };
    match text.match_indices('+').find(begins) {
        Some((at, _)) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

fn is_word(part: &str) -> bool {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    !part.is_empty() && part.chars().all(good)
}

fn word(text: &str, what: &'static str, part: &str) -> Result<String, NameError> {
    if !is_word(part) {
        return Err(NameError::Word {
            text: text.into(),
            what,
            part: part.into(),
        });
    }
    Ok(part.to_owned())
}

impl fmt::Display for PlatformName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base())?;
        if let Some(variant) = &self.variant {
            write!(f, "@{variant}")?;
        }
        for (key, value) in &self.options {
            write!(f, "+{key}={value}")?;
        }
        Ok(())
    }
}

/// The names of a list as `--on` accepts it.
///
/// # Errors
/// A name is not well formed, or a backslash escapes neither ',' nor another backslash.
pub fn parse_list(text: &str) -> Result<Vec<PlatformName>, NameError> {
    let mut names = Vec::new();
    let mut current = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped @ (',' | '\\')) => current.push(escaped),
                _ => return Err(NameError::Escape(text.into())),
            },
            ',' => names.push(std::mem::take(&mut current).parse()?),
            c => current.push(c),
        }
    }
    names.push(current.parse()?);
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> PlatformName {
        text.parse().unwrap()
    }

    #[test]
    fn the_forms_of_the_contract() {
        for text in [
            "lab:kvm",
            "lab:kvm@6.12",
            "lab:kvm@/path/to/build",
            "lab:kvm-nvhe+cpu=cortex-a57",
            "lab:neve-nested@nv2+depth=3+policy=lean+vhe=1",
            "kvm",
            "qemu-tcg",
            "serial:/dev/ttyUSB0",
            "log:runs/a@b+c:d.txt",
        ] {
            assert_eq!(parse(text).to_string(), text);
        }
    }

    #[test]
    fn a_variant_behind_the_options_is_an_error_with_the_right_order() {
        let error = "lab:kvm+cpu=max+memory=256@6.12".parse::<PlatformName>();
        let text = error.unwrap_err().to_string();
        assert!(
            text.ends_with(": lab:kvm@6.12+cpu=max+memory=256"),
            "{text}"
        );
        // With a variant before the options '@' is part of a value.
        assert!("lab:kvm@6.12+cpu=a@b".parse::<PlatformName>().is_ok());
    }

    #[test]
    fn options_are_sorted() {
        assert_eq!(
            parse("lab:neve-nested@nv2+vhe=1+policy=lean+depth=3").to_string(),
            "lab:neve-nested@nv2+depth=3+policy=lean+vhe=1"
        );
    }

    #[test]
    fn a_path_is_taken_as_it_stands() {
        let name = parse("log:/tmp/x@1+y=2:z");
        assert_eq!(name.path(), Some("/tmp/x@1+y=2:z"));
        assert_eq!(name.variant, None);
        assert!(name.options.is_empty());
        assert_eq!(parse("lab:native").path(), None);
    }

    #[test]
    fn a_path_with_a_plus_ends_where_options_begin() {
        for (text, variant, options) in [
            ("lab:kvm@/k/7.3.4+deb13-amd64", "/k/7.3.4+deb13-amd64", ""),
            ("lab:kvm@./a+b+c/d", "./a+b+c/d", ""),
            ("lab:kvm@../a+B=c", "../a+B=c", ""),
            ("lab:kvm@/a+", "/a+", ""),
            ("lab:kvm@/a+deb13+memory=256", "/a+deb13", "memory=256"),
            (
                "lab:kvm@/a+b@c+cpu=max+memory=1",
                "/a+b@c",
                "cpu=max memory=1",
            ),
        ] {
            let name = parse(text);
            assert_eq!(name.variant.as_deref(), Some(variant), "{text}");
            let own = name.options.iter();
            let own: Vec<String> = own.map(|(key, value)| format!("{key}={value}")).collect();
            assert_eq!(own.join(" "), options, "{text}");
            assert_eq!(name.to_string(), text);
        }
        // A word without '=' is no option of a platform without a path.
        assert!("lab:kvm@6.12+deb13".parse::<PlatformName>().is_err());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = |text: &str| text.parse::<PlatformName>().unwrap_err().to_string();
        assert_eq!(error(""), "a platform's name is empty");
        assert!(error("log:").contains("followed by a path"));
        assert!(error("kvm@").contains("followed by a variant"));
        assert!(error("kvm+cpu").contains("+key=value"));
        assert!(error("kvm+cpu=").contains("+key=value"));
        assert!(error("kvm+a=1+a=2").contains("twice"));
        assert!(error("KVM").contains("\"KVM\" may contain only"));
        assert!(error("lab:").contains("the name"));
        assert!(error(":kvm").contains("the family"));
        assert!(error("a\u{1b}[31m").contains("\\u{1b}"));
    }

    #[test]
    fn lists_split_at_commas_that_are_not_escaped() {
        let names = |text: &str| -> Vec<String> {
            let list = parse_list(text).unwrap();
            list.iter().map(ToString::to_string).collect()
        };
        assert_eq!(names("lab:native,qemu-tcg"), ["lab:native", "qemu-tcg"]);
        assert_eq!(names(r"log:a\,b,kvm"), ["log:a,b", "kvm"]);
        assert_eq!(names(r"log:a\\"), [r"log:a\"]);
        assert_eq!(parse_list("kvm,"), Err(NameError::Empty));
        assert!(parse_list(r"log:a\b").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused_and_what_is_parsed_round_trips(text in ".{0,40}") {
            if let Ok(name) = text.parse::<PlatformName>() {
                let spelled = name.to_string();
                prop_assert_eq!(spelled.parse::<PlatformName>(), Ok(name));
            }
        }

        #[test]
        fn any_well_formed_name_round_trips(
            text in "([a-z][a-z0-9-]{0,8}:)?[a-z0-9-]{1,9}(@[A-Za-z0-9./@=-]{1,12})?(\\+[a-z_]{1,3}=[A-Za-z0-9/.@:=,-]{1,6}){0,3}"
        ) {
            if let Ok(name) = text.parse::<PlatformName>() {
                let spelled = name.to_string();
                prop_assert_eq!(spelled.parse::<PlatformName>(), Ok(name.clone()));
                let escaped = spelled.replace('\\', r"\\").replace(',', r"\,");
                prop_assert_eq!(parse_list(&escaped), Ok(vec![name]));
            } else {
                // The only ways to break this grammar: an option given twice, and a variant behind the options.
                let is_last = text.find('+') < text.find('@');
                prop_assert!(text.matches('+').count() > 1 || is_last, "{}", text);
            }
        }

        #[test]
        fn any_path_of_a_variant_round_trips(
            path in "(\\.{1,2})?/[a-zA-Z0-9+./@-]{0,12}", options in "(\\+[a-z]{1,3}=[a-z0-9]{1,3}){0,1}"
        ) {
            let text = format!("lab:kvm@{path}{options}");
            let name: PlatformName = text.parse().unwrap();
            prop_assert_eq!(name.variant.as_deref(), Some(&*path));
            prop_assert_eq!(name.to_string(), text);
        }

        #[test]
        fn any_path_round_trips(family in "serial|log", path in "[^\\p{C}]{1,30}") {
            let name: PlatformName = format!("{family}:{path}").parse().unwrap();
            prop_assert_eq!(name.path(), Some(path.as_str()));
            prop_assert_eq!(name.to_string(), format!("{family}:{path}"));
        }
    }
}
