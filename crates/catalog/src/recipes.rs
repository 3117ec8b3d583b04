//! Recipes and sets of packages, and which sets are fetched.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use std::path::Path;
use ws_lab::lab::{Lab, LabError};
use ws_lab::recipe::Recipe;
use ws_lab::sets::Set;
use ws_lab::store::{Store, StoreError, Unpacked};
use ws_terminal::columns::{self, columns};

/// Lists recipes and sets, as text or as JSON.
pub fn recipes(lab: &Lab, store: &Store, as_json: bool) -> anyhow::Result<String> {
    let names = lab.recipes()?;
    let recipes: Vec<Named> = names
        .iter()
        .map(|name| (name.as_str(), lab.recipe(name, None)))
        .collect();
    let sets: Vec<Stored> = lab
        .sets()
        .iter()
        .map(|(name, set)| (name.as_str(), set, state(lab, store, name)))
        .collect();
    Ok(match as_json {
        true => columns::json(&Listed::of(lab, store, &recipes, &sets))?,
        false => as_text(lab, store, &recipes, &sets),
    })
}

/// A recipe, or its error.
type Named<'a> = (&'a str, Result<Recipe, LabError>);
/// A set, and its state in the store.
type Stored<'a> = (&'a str, &'a Set, State);

/// The format version of `--json`.
const SCHEMA: &str = "worldswitch-lab/1";

/// The list as JSON.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Listed<'a> {
    /// Always `worldswitch-lab/1`.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    recipes: Vec<ListedRecipe<'a>>,
    sets: Vec<ListedSet<'a>>,
    /// The folder of fetched packages.
    cache: &'a Path,
}

/// A recipe, or its error.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum ListedRecipe<'a> {
    Good {
        name: &'a str,
        summary: &'a str,
        /// Sets of packages that the machine needs.
        sets: Vec<&'a str>,
        /// Variants, which follow `@` in the platform's name.
        variants: Vec<String>,
    },
    Wrong {
        name: &'a str,
        error: String,
    },
}

/// A set of packages.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedSet<'a> {
    name: &'a str,
    summary: &'a str,
    /// Kind of the set: `closure`, `files` and the like.
    kind: serde_json::Value,
    architecture: serde_json::Value,
    /// Debian suite of the packages.
    suite: &'a str,
    /// Whether `lab fetch --all` leaves the set out.
    on_request: bool,
    /// State: `fetched`, `not fetched`, or the error.
    state: &'static str,
    /// Number of packages; null, as are size and digest, unless the set is fetched.
    packages: Option<usize>,
    bytes: Option<u64>,
    /// Digest of all files.
    digest: Option<String>,
}

fn as_text(lab: &Lab, store: &Store, recipes: &[Named], sets: &[Stored]) -> String {
    let recipes = recipes.iter().map(|(name, recipe)| match recipe {
        Ok(recipe) => [
            format!("lab:{name}"),
            at(&variants(lab, name)),
            recipe.summary.clone(),
        ],
        Err(error) => [
            format!("lab:{name}"),
            String::new(),
            format!("error: {error}"),
        ],
    });
    let sets = sets.iter().map(|(name, set, state)| {
        let bytes = state.there.as_ref().map(|there| there.manifest().bytes());
        let size = bytes.map_or_else(String::new, |bytes| format!("{} MiB", bytes >> 20));
        [
            (*name).to_owned(),
            state.word.to_owned(),
            size,
            set.summary.clone(),
        ]
    });
    let recipes = columns(["recipe", "variants", "what it is"], recipes);
    let sets = columns(["packages", "state", "size", "what they are"], sets);
    format!(
        "{recipes}\n{sets}\nkept in {}\n",
        ws_text::terminal(&store.root().display().to_string())
    )
}

impl<'a> Listed<'a> {
    fn of(lab: &Lab, store: &'a Store, recipes: &'a [Named], sets: &'a [Stored]) -> Self {
        let recipes = recipes.iter().map(|(name, recipe)| match recipe {
            Ok(recipe) => ListedRecipe::Good {
                name,
                summary: &recipe.summary,
                sets: recipe.sets(),
                variants: variants(lab, name),
            },
            Err(error) => ListedRecipe::Wrong {
                name,
                error: error.to_string(),
            },
        });
        let sets = sets.iter().map(|(name, set, state)| {
            let there = state.there.as_ref();
            ListedSet {
                name,
                summary: &set.summary,
                kind: json!(set.kind),
                architecture: json!(set.architecture),
                suite: &set.suite,
                on_request: set.on_request,
                state: state.word,
                packages: there.map(|there| there.packages().len()),
                bytes: there.map(|there| there.manifest().bytes()),
                digest: there.map(|there| there.digest().to_owned()),
            }
        });
        Self {
            schema: SCHEMA,
            recipes: recipes.collect(),
            sets: sets.collect(),
            cache: store.root(),
        }
    }
}

/// The variants of a recipe; none if it has an error.
fn variants(lab: &Lab, name: &str) -> Vec<String> {
    lab.variants(name).unwrap_or_default()
}

/// Formats variants as in a platform's name: `@6.1 @6.12`.
fn at(variants: &[String]) -> String {
    let words: Vec<String> = variants
        .iter()
        .map(|variant| format!("@{variant}"))
        .collect();
    words.join(" ")
}

/// State of a set in the store.
pub struct State {
    pub word: &'static str,
    /// The set, if it is there.
    pub there: Option<Unpacked>,
}

/// The state of a set in the store.
pub fn state(lab: &Lab, store: &Store, set: &str) -> State {
    match store.find(set) {
        Ok(there) => State {
            word: match lab.pins(set) {
                _ if !lab.curable(&there).is_empty() => "fetched, not cured: fetch it again",
                _ if !lab.has_all(&there) => "fetched, with other files: fetch it again",
                [] => "fetched, not pinned",
                pins if pins == there.packages() => "fetched",
                _ => "fetched, other versions than pinned",
            },
            there: Some(there),
        },
        Err(error) => State {
            word: match error {
                StoreError::Missing { .. } => "not fetched",
                _ => "damaged",
            },
            there: None,
        },
    }
}
