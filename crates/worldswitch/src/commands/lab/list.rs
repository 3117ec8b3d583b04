//! `worldswitch lab list`: recipes and sets of packages.

use crate::terminal::columns::{columns, pretty};
use crate::terminal::output;
use serde_json::json;
use ws_lab::lab::{Lab, LabError};
use ws_lab::recipe::Recipe;
use ws_lab::sets::Set;
use ws_lab::store::{Store, StoreError, Unpacked};

/// Lists recipes and sets.
///
/// # Errors
/// A folder can't be read, or standard output can't be written. A recipe with an error is listed with
/// that error.
pub fn list(lab: &Lab, store: &Store, json: bool) -> anyhow::Result<()> {
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
    output::data(&match json {
        true => as_json(lab, store, &recipes, &sets),
        false => as_text(lab, store, &recipes, &sets),
    })
}

/// A recipe, or its error.
type Named<'a> = (&'a str, Result<Recipe, LabError>);
/// A set, and its state in the store.
type Stored<'a> = (&'a str, &'a Set, State);

fn as_json(lab: &Lab, store: &Store, recipes: &[Named], sets: &[Stored]) -> String {
    let recipes: Vec<_> = recipes
        .iter()
        .map(|(name, recipe)| match recipe {
            Ok(recipe) => json!({
                "name": name,
                "summary": recipe.summary,
                "sets": recipe.sets(),
                "variants": variants(lab, name),
            }),
            Err(error) => json!({ "name": name, "error": error.to_string() }),
        })
        .collect();
    let sets: Vec<_> = sets
        .iter()
        .map(|(name, set, state)| {
            let there = state.there.as_ref();
            json!({
                "name": name,
                "summary": set.summary,
                "kind": set.kind,
                "architecture": set.architecture,
                "suite": set.suite,
                "on_request": set.on_request,
                "state": state.word,
                "packages": there.map(|there| there.packages().len()),
                "bytes": there.map(|there| there.manifest().bytes()),
                "digest": there.map(Unpacked::digest),
            })
        })
        .collect();
    let folder = store.root().display().to_string();
    pretty(&json!({ "recipes": recipes, "sets": sets, "cache": folder }))
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
        ws_report::text::terminal(&store.root().display().to_string())
    )
}

/// The variants of a recipe; none if it has an error.
fn variants(lab: &Lab, name: &str) -> Vec<String> {
    lab.variants(name).unwrap_or_default()
}

/// As in a platform's name: `@6.1 @6.12`.
fn at(variants: &[String]) -> String {
    let words: Vec<String> = variants
        .iter()
        .map(|variant| format!("@{variant}"))
        .collect();
    words.join(" ")
}

/// The state of a set in the store.
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
