//! A made-up host, for tests.

use crate::sys::{Node, Sys};
use std::collections::{BTreeMap, BTreeSet};

/// A host as maps from paths to contents.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    files: BTreeMap<String, String>,
    nodes: BTreeMap<String, Node>,
    links: BTreeMap<String, String>,
}

impl Snapshot {
    /// Adds a file.
    pub fn file(mut self, path: &str, text: impl Into<String>) -> Self {
        self.files.insert(path.to_owned(), text.into());
        self
    }

    /// Removes a file or device.
    pub fn without(mut self, path: &str) -> Self {
        self.files.remove(path);
        self.nodes.remove(path);
        self
    }

    /// Adds a device, or a file without contents.
    pub fn device(mut self, path: &str, node: Node) -> Self {
        self.nodes.insert(path.to_owned(), node);
        self
    }

    /// Adds a symbolic link.
    pub fn symlink(mut self, path: &str, to: &str) -> Self {
        self.links.insert(path.to_owned(), to.to_owned());
        self
    }

    /// The paths of all files.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }
}

impl Sys for Snapshot {
    fn read(&self, path: &str) -> Option<String> {
        self.files.get(path).cloned()
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let prefix = format!("{}/", folder.trim_end_matches('/'));
        let all = self.files.keys().chain(self.nodes.keys());
        let names: BTreeSet<&str> = all
            .filter_map(|path| path.strip_prefix(&prefix))
            .filter_map(|rest| rest.split('/').next())
            .collect();
        names.into_iter().map(str::to_owned).collect()
    }

    fn node(&self, path: &str) -> Option<Node> {
        let file = || {
            let inside = format!("{path}/");
            let known = self.files.contains_key(path)
                || self.files.keys().any(|file| file.starts_with(&inside));
            known.then_some(Node {
                mode: 0o644,
                gid: 0,
                device: false,
                usable: false,
            })
        };
        self.nodes.get(path).copied().or_else(file)
    }

    fn link(&self, path: &str) -> Option<String> {
        self.links.get(path).cloned()
    }
}
