//! docs/architecture.md draws the tree as it is: its lists and pictures are made here, and no arrow in them goes up.
//!
//! `WS_BLESS=1 cargo test -p worldswitch house` writes them anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const PAGE: &str = "docs/architecture.md";

/// Rooms of C, each before those that it may use.
const C_ROOMS: [&str; 19] = [
    "dom0",
    "vmm/arch",
    "vmm",
    "guest/bench",
    "guest/arch",
    "guest/platform",
    "guest/screen",
    "guest/core",
    "guest/include",
    "neve/exits",
    "neve/nested",
    "neve/kvm410",
    "neve/vm",
    "neve/gic",
    "neve/machine",
    "neve/tables",
    "neve/cpu",
    "neve/core",
    "common",
];

/// Folders of a package's source, in the same order.
const FOLDERS: [(&str, &[&str]); 2] = [
    ("crates/worldswitch/src", &["commands", "shared", "cli"]),
    ("crates/runner/src", &["rounds", "launch", "outcome"]),
];

/// A file or folder of each command; `schemas.rs` is a test of all of them.
const COMMANDS: &str = "crates/worldswitch/src/commands";

type Arrows = BTreeMap<String, BTreeSet<String>>;

pub fn read(path: impl AsRef<Path>) -> String {
    let path = Path::new(ROOT).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files below a folder, by their paths from the root.
pub fn files(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::from(folder)];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(Path::new(ROOT).join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => open.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort();
    found
}

/// The folders that the page lists, each with the sentence that says what it is.
fn folders() -> BTreeMap<String, String> {
    let mut list = BTreeMap::new();
    let tops = [
        "ci",
        "common",
        "crates",
        "dom0",
        "elvis",
        "guest",
        "lab",
        "neve",
        "reference",
        "tests",
        "tools",
        "vmm",
    ];
    for file in tops.iter().flat_map(|top| files(top)) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let folder = file.parent().unwrap();
        let sentence = match name {
            "README.md" => {
                first_sentence(read(&file).lines().filter(|line| !line.starts_with('#')))
            }
            "lib.rs" | "main.rs" | "mod.rs" if is_room(folder) => {
                let text = read(&file);
                first_sentence(text.lines().map_while(|line| line.strip_prefix("//!")))
            }
            _ => continue,
        };
        let folder = folder.to_str().unwrap().trim_end_matches("/src").to_owned();
        list.entry(folder).or_insert(sentence);
    }
    list
}

/// A package's source, or one of its listed folders.
fn is_room(folder: &Path) -> bool {
    let mut sources = FOLDERS.iter().map(|(source, _)| Path::new(source));
    folder.ends_with("src") || sources.any(|source| folder.parent() == Some(source))
}

fn first_sentence<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let lines = lines.map(str::trim).skip_while(|line| line.is_empty());
    let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let paragraph = paragraph.join(" ");
    let end = paragraph.find(". ").map_or(paragraph.len(), |end| end + 1);
    paragraph[..end].trim_end_matches('.').to_owned()
}

/// Which package uses which.
fn packages() -> Arrows {
    let mut arrows = Arrows::new();
    let mut folder_of = BTreeMap::new();
    let mut uses = Vec::new();
    for file in [files("crates"), files("elvis")].concat() {
        if !file.ends_with("Cargo.toml") {
            continue;
        }
        let manifest: toml::Table = read(&file).parse().unwrap();
        let package = manifest["package"]["name"].as_str().unwrap().to_owned();
        let folder = file.parent().unwrap().to_str().unwrap().to_owned();
        folder_of.insert(package, folder.clone());
        let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
        for name in dependencies.into_iter().flat_map(toml::Table::keys) {
            uses.push((folder.clone(), name.clone()));
        }
    }
    for (folder, package) in uses {
        let from = arrows.entry(folder).or_default();
        from.extend(folder_of.get(&package).cloned());
    }
    arrows
}

/// Which room of C includes headers of which.
fn c_rooms() -> Arrows {
    let mut arrows = Arrows::new();
    for program in ["common", "dom0", "guest", "neve", "vmm"] {
        for file in files(program) {
            let kind = file.extension().and_then(|kind| kind.to_str());
            if !matches!(kind, Some("c" | "h" | "S")) || file.iter().any(|part| part == "tests") {
                continue;
            }
            let from = room(&file);
            for line in read(&file).lines() {
                let included = line
                    .strip_prefix("#include ")
                    .and_then(|rest| rest.get(1..));
                let Some(included) = included.and_then(|rest| rest.split(['"', '>']).next()) else {
                    continue;
                };
                let Some(header) = resolve(&file, program, included) else {
                    continue;
                };
                let to = room(&header);
                if to != from {
                    arrows.entry(from.clone()).or_default().insert(to);
                }
            }
        }
    }
    arrows
}

/// The file in the tree that an include names; None for the C library's.
fn resolve(file: &Path, program: &str, included: &str) -> Option<PathBuf> {
    let program = Path::new(program);
    let beside = file.parent().unwrap().join(included);
    let arch = |program: &str, arch: &str| format!("{program}/arch/{arch}/include");
    let mut tries = vec![beside, included.into(), program.join(included)];
    for program in [program.to_str().unwrap(), "guest"] {
        tries.push(Path::new(program).join("include").join(included));
        for name in ["x86_64", "aarch64", "riscv64"] {
            tries.push(Path::new(&arch(program, name)).join(included));
        }
    }
    tries
        .into_iter()
        .find(|path| Path::new(ROOT).join(path).is_file())
}

fn room(file: &Path) -> String {
    let path = file.to_str().unwrap();
    // What a benchmark may include of its architecture belongs to what it may include at all.
    if path.starts_with("guest/arch/") && path.contains("/include/") {
        return "guest/include".to_owned();
    }
    let rooms = C_ROOMS.iter().filter(|room| file.starts_with(room));
    let closest = rooms.max_by_key(|room| room.len());
    closest
        .unwrap_or_else(|| panic!("{path} is in no room"))
        .to_string()
}

/// The arrows that no way over other rooms replaces.
fn reduced(arrows: &Arrows) -> Vec<(&str, &str)> {
    let direct = |from: &str| arrows.get(from).into_iter().flatten().map(String::as_str);
    let mut kept = Vec::new();
    for from in arrows.keys() {
        for to in direct(from) {
            let mut open: Vec<&str> = direct(from).filter(|next| *next != to).collect();
            let mut seen = BTreeSet::new();
            while let Some(next) = open.pop() {
                if seen.insert(next) {
                    open.extend(direct(next));
                }
            }
            if !seen.contains(to) {
                kept.push((from.as_str(), to));
            }
        }
    }
    kept
}

/// A picture in Mermaid's language.
fn picture(arrows: &Arrows) -> String {
    let mut text = String::from("```mermaid\nflowchart TD\n");
    for (from, to) in reduced(arrows) {
        let id = |room: &str| room.replace(['/', '-'], "_");
        let _ = writeln!(
            text,
            "    {}[\"{from}\"] --> {}[\"{to}\"]",
            id(from),
            id(to)
        );
    }
    text + "```\n"
}

fn list(folders: &BTreeMap<String, String>) -> String {
    let mut text = String::from("| folder | what it is |\n|---|---|\n");
    for (folder, sentence) in folders {
        let sentence = sentence
            .replace("](../../docs/", "](")
            .replace("](../docs/", "](");
        let _ = writeln!(text, "| `{folder}/` | {sentence} |");
    }
    text
}

/// Compares a part of the page with what the tree says, or writes it.
fn keep(name: &str, wanted: &str) {
    let page = read(PAGE);
    let (begin, end) = (
        format!("<!-- {name}: made by tests/it/house.rs -->\n"),
        format!("<!-- {name} ends -->"),
    );
    let from = page
        .find(&begin)
        .unwrap_or_else(|| panic!("{PAGE} has no {begin}"))
        + begin.len();
    let to = from
        + page[from..]
            .find(&end)
            .unwrap_or_else(|| panic!("{PAGE} has no {end}"));
    if std::env::var_os("WS_BLESS").is_some() {
        fs::write(
            Path::new(ROOT).join(PAGE),
            format!("{}{wanted}{}", &page[..from], &page[to..]),
        )
        .unwrap();
        return;
    }
    assert_eq!(
        &page[from..to],
        wanted,
        "{PAGE} is out of date: WS_BLESS=1 cargo test -p worldswitch house"
    );
}

/// One test, as its parts write the same file.
#[test]
fn the_page_shows_the_tree() {
    let folders = folders();
    for room in C_ROOMS {
        assert!(
            folders.contains_key(room),
            "{room}/README.md does not say what it is"
        );
    }
    for (folder, sentence) in &folders {
        assert!(!sentence.is_empty(), "nothing says what {folder} is");
    }
    keep("folders", &list(&folders));
    keep("packages", &picture(&packages()));
    keep("rooms of C", &picture(&c_rooms()));
}

#[test]
fn no_room_of_c_uses_one_above_it() {
    let place = |room: &str| C_ROOMS.iter().position(|known| *known == room).unwrap();
    for (from, to) in c_rooms()
        .iter()
        .flat_map(|(from, all)| all.iter().map(move |to| (from, to)))
    {
        assert!(
            place(from) < place(to),
            "{from} includes headers of {to}, which is above it"
        );
    }
}

#[test]
fn no_folder_of_a_package_uses_one_before_it() {
    for (source, folders) in FOLDERS {
        for (index, folder) in folders.iter().enumerate() {
            for file in files(&format!("{source}/{folder}")) {
                for used in read(&file).split("crate::").skip(1) {
                    let mut before = folders[..index].iter();
                    let above = before.find(|above| used.starts_with(**above));
                    assert_eq!(above, None, "{}", file.display());
                }
            }
        }
    }
}

/// So that it can be used and tested without a program.
#[test]
fn the_runner_and_all_below_it_know_no_command_line_and_draw_nothing() {
    let arrows = packages();
    let mut open = vec!["crates/runner"];
    let mut seen = BTreeSet::new();
    while let Some(package) = open.pop() {
        if seen.insert(package) {
            open.extend(arrows[package].iter().map(String::as_str));
            let manifest = read(format!("{package}/Cargo.toml"));
            assert!(
                !manifest.contains("clap"),
                "{package} parses a command line"
            );
        }
    }
    assert!(
        seen.len() > 5 && !seen.contains("crates/report"),
        "{seen:?}"
    );
}

/// What two commands need is in `shared` or in a library.
#[test]
fn no_command_uses_another() {
    for file in files(COMMANDS)
        .iter()
        .filter(|file| file.extension() == Some("rs".as_ref()))
    {
        let modules = file.strip_prefix(COMMANDS).unwrap().with_extension("");
        let modules: Vec<&str> = modules.iter().map(|name| name.to_str().unwrap()).collect();
        let own = modules[0];
        if ["mod", "schemas"].contains(&own) {
            continue;
        }
        let text = read(file);
        for used in text.split("crate::commands::").skip(1) {
            let name = used
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .next();
            let is_own = [own, "schemas"].contains(&name.unwrap());
            assert!(is_own, "{} uses {name:?}", file.display());
        }
        let depth = modules.iter().filter(|name| **name != "mod").count();
        let outside = "super::".repeat(depth);
        let source = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let climbs = source.contains(&outside);
        assert!(!climbs, "{} uses {outside}", file.display());
    }
}

/// The most lines of a function, as clippy.toml says it for Rust, and of a file.
const FUNCTION: usize = 60;
const FILE: usize = 800;

/// Sources that are no tests.
fn sources() -> impl Iterator<Item = PathBuf> {
    let tops = [
        "common",
        "crates",
        "dom0",
        "elvis",
        "guest",
        "lab/agent",
        "lab/init",
        "neve",
        "vmm",
    ];
    let all = tops.into_iter().flat_map(files);
    all.filter(|file| {
        let name = file.to_str().unwrap();
        let is_source = [".rs", ".c", ".h", ".S"]
            .iter()
            .any(|end| name.ends_with(end));
        let is_test = name.ends_with("tests.rs") || file.iter().any(|part| part == "tests");
        is_source && !is_test
    })
}

/// Sources that take names of rows apart: one for facts of older results, one for the cost model's classes of a guest's
/// benchmarks, which have no facts.
const NAMES: [&str; 2] = [
    "crates/results/src/rows/named.rs",
    "crates/analysis/src/model/terms.rs",
];

/// Facts say what a row measures. Names in variables with other names than here are not found.
#[test]
fn names_of_rows_are_taken_apart_in_one_place() {
    let apart = "(starts_with|ends_with|strip_prefix|strip_suffix|r?splitn?(_once)?|r?find|contains|matches)";
    let taken = format!(r"(?-u:\b)(benchmark|workload|row\.name)(\.as_str\(\))?\.{apart}\(");
    let taken = regex::Regex::new(&taken).unwrap();
    let mut callers = BTreeSet::new();
    for file in sources().filter(|file| file.extension() == Some("rs".as_ref())) {
        let text = read(&file);
        let source = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        // rustfmt breaks long chains.
        let source: String = source.split_whitespace().collect();
        if source.contains("RowFacts::named(") {
            callers.insert(file.display().to_string());
        }
        let found = taken.find(&source).map(|found| found.as_str());
        let path = file.to_str().unwrap();
        assert_eq!(found.filter(|_| !NAMES.contains(&path)), None, "{path}");
        assert!(found.is_some() || path != NAMES[1], "{path} no longer does");
    }
    let reader = BTreeSet::from(["crates/results/src/rows.rs".to_owned()]);
    assert_eq!(callers, reader, "only Row::facts() has facts by name");
}

#[test]
fn files_and_functions_of_c_are_short() {
    for file in sources() {
        let text = read(&file);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines.len() <= FILE,
            "{} has {} lines",
            file.display(),
            lines.len()
        );
        if file.extension().is_none_or(|kind| kind != "c") {
            continue;
        }
        let mut start = None;
        for (number, line) in lines.iter().enumerate() {
            match (*line, start) {
                ("{", _) => start = Some(number),
                ("}", Some(first)) => {
                    let length = number + 1 - first;
                    assert!(
                        length <= FUNCTION,
                        "{}:{first}: a function of {length} lines",
                        file.display()
                    );
                    start = None;
                }
                _ => {}
            }
        }
    }
}

/// Lines of a table of the page whose first cell is code, as cells.
fn rows(heading: &str) -> Vec<Vec<String>> {
    let page = read(PAGE);
    let (_, part) = page
        .split_once(heading)
        .unwrap_or_else(|| panic!("{PAGE} has no {heading}"));
    let part = part.split("\n## ").next().unwrap();
    let cells = |line: &str| {
        line.split('|')
            .map(|cell| cell.trim().to_owned())
            .skip(1)
            .collect()
    };
    part.lines()
        .filter(|line| line.starts_with("| ") && line.contains('`'))
        .map(cells)
        .collect()
}

fn code(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// From a line of the guest's to a cell of the table.
#[test]
fn the_types_of_a_records_way_are_where_the_page_says() {
    let rows = rows("## A record's way");
    assert!(!rows.is_empty());
    for row in rows {
        let file = code(&row[1]).next().unwrap();
        let text = read(format!("crates/{file}"));
        for name in code(&row[0]) {
            let defined =
                ["struct", "enum"].map(|word| text.contains(&format!("pub {word} {name}")));
            assert!(defined.contains(&true), "{file} does not define {name}");
        }
    }
}

/// What a newcomer opens besides tests and docs.
#[test]
fn the_files_of_a_newcomers_tasks_exist() {
    let rows = rows("## Four tasks");
    assert!(!rows.is_empty());
    for row in &rows {
        let files: Vec<&str> = code(&row[1]).collect();
        assert!(!files.is_empty(), "{}", row[0]);
        for file in files {
            let exists = Path::new(ROOT).join(file.replace("NAME", "sidt")).is_file();
            assert!(exists, "{}: there is no {file}", row[0]);
        }
    }
}

/// A doc comment begins with a noun or a verb: a pronoun or an ellipsis has to be read twice.
#[test]
fn doc_comments_begin_with_a_noun_or_a_verb() {
    const WORDS: [&str; 19] = [
        "It", "Its", "Those", "That", "These", "They", "Where", "As", "Of", "What", "Whose",
        "Which", "This", "And", "Also", "With", "Without", "One", "Ones",
    ];
    let doc = |line: &str| {
        let line = line.trim_start();
        let text = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        text.map(|text| text.trim_start().to_owned())
    };
    let is_wrong = |text: &str| {
        let word = text.split(|letter: char| !letter.is_alphanumeric()).next();
        word.is_some_and(|word| WORDS.contains(&word)) || text.starts_with("The same ")
    };
    let (mut all, mut wrong) = (0, Vec::new());
    for file in sources().filter(|file| file.extension().is_some_and(|kind| kind == "rs")) {
        let (text, mut before) = (read(&file), false);
        for line in text.lines() {
            let doc = doc(line);
            if let (Some(text), false) = (&doc, before) {
                all += 1;
                if is_wrong(text) {
                    wrong.push(format!("{}: {}", file.display(), line.trim()));
                }
            }
            before = doc.is_some();
        }
    }
    assert!(all > 5000, "{all} comments");
    assert!(
        wrong.is_empty(),
        "{} of {all}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
