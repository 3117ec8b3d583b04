//! The flame graph: callers above the functions that they call, from left to right in the order of time. The width of a
//! call is its instructions. The page draws its own graph, since that of `explain --flamegraph` needs its own script
//! and colours.

use super::title;
use crate::page::words::plain;
use maud::{Markup, html};
use ws_explain::explained::Explained;
use ws_explain::place::Kind;
use ws_text::number::grouped;

/// Lengths in units of the drawing, which are pixels at the page's full width.
const WIDTH: f64 = 1000.0;
const ROW: usize = 18;
/// Width of a letter in the font of the drawing.
const LETTER: f64 = 6.7;
/// Least width of a call that is drawn.
const NARROWEST: f64 = 0.4;
/// Greatest depth of a call that is drawn; a kernel's stack has no room for as many.
const DEEPEST: usize = 200;

struct Box<'a> {
    x: f64,
    width: f64,
    depth: usize,
    kind: Kind,
    name: &'a str,
    detail: String,
}

const KINDS: [(Kind, &str); 4] = [
    (Kind::Guest, "c0"),
    (Kind::Hypervisor, "c5"),
    (Kind::Kernel, "c3"),
    (Kind::User, "c1"),
];

/// The flame graph.
pub(super) fn flame(one: &Explained) -> Markup {
    let boxes = boxes(one);
    let rows = boxes.iter().map(|one| one.depth + 1).max().unwrap_or(0);
    let name = format!("flame graph of {}", title(one));
    let present = |kind: Kind| boxes.iter().any(|one| one.kind == kind);
    html! {
        @if !boxes.is_empty() {
            div.scroll tabindex="0" role="region" aria-label=(plain(&name)) {
                svg.flame viewBox={ "0 0 " (WIDTH) " " (rows * ROW) } role="img"
                    aria-label={ (plain(&name)) "; the tables below have the values" } {
                    @for one in &boxes { (one.draw()) }
                }
            }
            p.scale {
                "Callers above, left to right in the order of time, width: instructions. "
                @for (kind, colour) in KINDS { @if present(kind) { span class=(colour) { (kind.to_string()) } " " } }
            }
        }
    }
}

/// The nodes that are wide enough.
fn boxes(one: &Explained) -> Vec<Box<'_>> {
    let nodes = &one.tree.nodes;
    let total = |of: &[u32]| {
        of.iter()
            .map(|node| nodes[*node as usize].total as f64)
            .sum::<f64>()
    };
    let scale = WIDTH / total(&one.tree.roots).max(1.0);
    let mut boxes = Vec::new();
    let mut open = vec![(&one.tree.roots, 0.0, 0)];
    while let Some((siblings, mut x, depth)) = open.pop() {
        for node in siblings.iter().map(|node| &nodes[*node as usize]) {
            let width = node.total as f64 * scale;
            if width >= NARROWEST && depth < DEEPEST {
                let function = &one.functions[node.function as usize];
                let [total, own] = [node.total, node.own].map(|number| grouped(number as i64));
                let calls = function.calls(node.calls);
                boxes.push(Box {
                    x,
                    width,
                    depth,
                    kind: function.kind,
                    name: &function.name,
                    detail: format!(
                        "{}: {total} instructions, {own} of its own, calls: {calls}",
                        one.label(function)
                    ),
                });
                open.push((&node.children, x, depth + 1));
            }
            x += width;
        }
    }
    boxes
}

impl Box<'_> {
    fn draw(&self) -> Markup {
        let colour = KINDS.iter().find(|(kind, _)| *kind == self.kind);
        let colour = colour.map_or("", |(_, colour)| colour);
        let y = self.depth * ROW;
        let text = fitted(self.name, self.width);
        html! {
            g {
                title { (plain(&self.detail)) }
                rect.(colour) x=(format!("{:.1}", self.x)) y=(y) width=(format!("{:.1}", self.width)) height=(ROW) {}
                @if !text.is_empty() {
                    text x=(format!("{:.1}", self.x + 3.0)) y=(y + ROW - 5) { (plain(&text)) }
                }
            }
        }
    }
}

/// Returns as much of a call's name as fits into its width.
pub fn fitted(name: &str, width: f64) -> String {
    let letters = ((width - 6.0) / LETTER).max(0.0) as usize;
    match name.chars().count() {
        all if all <= letters => name.to_owned(),
        _ if letters < 4 => String::new(),
        _ => name.chars().take(letters - 2).collect::<String>() + "..",
    }
}
