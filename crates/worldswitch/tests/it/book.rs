//! The book is docs/ without docs/notebook/, which has records. Tests of its length, its sentences and its links.

use crate::house::{ROOT, files, read};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const NOTEBOOK: &str = "docs/notebook";
/// Words of text: without tables, code and names in backquotes.
const WORDS: usize = 25_000;
/// The same with tables. It may only become less.
const WORDS_WITH_TABLES: usize = 57_000;
/// The mean of a page.
const WORDS_OF_A_SENTENCE: f64 = 20.0;

static BLOCKS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?ms)^ *```.*?^ *```[^\n]*$|<!--.*?-->").unwrap());
/// What a link leads to.
static TARGETS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\]\(([^)\s]+)\)").unwrap());

/// All pages of docs/ with its notebook, and those beside it.
fn pages() -> impl Iterator<Item = PathBuf> {
    let beside = ["README.md", "CONTRIBUTING.md"].map(PathBuf::from);
    let is_page = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "md");
    files("docs").into_iter().filter(is_page).chain(beside)
}

fn book() -> impl Iterator<Item = PathBuf> {
    let is_in_book = |page: &PathBuf| page.starts_with("docs") && !page.starts_with(NOTEBOOK);
    pages().filter(is_in_book)
}

/// A page without blocks of code and comments.
fn without_code(page: &Path) -> String {
    BLOCKS.replace_all(&read(page), "").into_owned()
}

/// The text of a page, a name in backquotes as one letter.
fn prose(page: &Path, with_tables: bool) -> String {
    let text = without_code(page);
    let lines = text
        .lines()
        .filter(|line| with_tables || !line.trim_start().starts_with('|'));
    let text = lines.collect::<Vec<_>>().join("\n");
    let names = Regex::new("`[^`]*`").unwrap();
    let text = TARGETS.replace_all(&text, "]");
    names.replace_all(&text, "x").into_owned()
}

#[test]
fn it_is_as_long_as_somebody_reads() {
    let word = Regex::new(r"[A-Za-z][\w'’-]*").unwrap();
    for (with_tables, most) in [(false, WORDS), (true, WORDS_WITH_TABLES)] {
        let words: usize = book()
            .map(|page| word.find_iter(&prose(&page, with_tables)).count())
            .sum();
        assert!(
            (most / 2..=most).contains(&words),
            "docs/ has {words} words (tables: {with_tables}), at most {most} are allowed: move what was measured or tried once \
             to {NOTEBOOK}"
        );
    }
}

#[test]
fn its_sentences_are_short() {
    let end = Regex::new(r"[.:;!?]\s+|\n\s*\n|\n\s*(?:- |#+ |\d+\. )").unwrap();
    for page in book() {
        let text = prose(&page, false);
        let lengths: Vec<usize> = end
            .split(&text)
            .map(|sentence| sentence.split_whitespace().count())
            .filter(|words| *words > 2)
            .collect();
        let mean = lengths.iter().sum::<usize>() as f64 / lengths.len().max(1) as f64;
        assert!(
            mean <= WORDS_OF_A_SENTENCE,
            "{}: {mean:.1} words a sentence, at most {WORDS_OF_A_SENTENCE} are allowed",
            page.display()
        );
    }
}

/// The anchors of a page's headings, as they are made for pages on the web.
fn anchors(page: &Path) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for line in without_code(page)
        .lines()
        .filter(|line| line.starts_with('#'))
    {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let title = TARGETS.replace_all(&title, "");
        let kept = title.chars().filter_map(|letter| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            _ => letter.is_alphanumeric().then_some(letter),
        });
        let anchor: String = kept.collect();
        let again = (1..).map(|number| format!("{anchor}-{number}"));
        let free = std::iter::once(anchor.clone())
            .chain(again)
            .find(|name| !anchors.contains(name));
        anchors.extend(free);
    }
    anchors
}

#[test]
fn links_lead_somewhere() {
    let mut headings: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    for page in pages() {
        for found in TARGETS.captures_iter(&without_code(&page)) {
            let to = &found[1];
            if to.contains("://") || to.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = to.split_once('#').unwrap_or((to, ""));
            let target = match file {
                "" => page.clone(),
                file => page.parent().unwrap().join(file),
            };
            let exists = Path::new(ROOT).join(&target).exists();
            assert!(
                exists,
                "{} links to {to}, which does not exist",
                page.display()
            );
            if anchor.is_empty() || target.extension().is_none_or(|kind| kind != "md") {
                continue;
            }
            let known = headings
                .entry(target)
                .or_insert_with_key(|target| anchors(target));
            assert!(
                known.contains(anchor),
                "{} links to {to}, a heading that does not exist",
                page.display()
            );
        }
    }
}
