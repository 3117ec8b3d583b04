//! The call tree: a line for each call, which folds the calls that it makes.

use super::{LEAST, title};
use crate::page::words::{plain, plural};
use maud::{Markup, PreEscaped, html};
use ws_explain::explained::Explained;
use ws_explain::tree::Node;
use ws_text::number::grouped;

/// Calls with a smaller share of the tree are folded at first.
const OPEN: f64 = 0.05;

/// A step that is still to be written: a call with its depth, or the end of a call's fold.
enum Step {
    Call(u32, usize),
    End,
}

/// The tree.
pub(super) fn tree(one: &Explained) -> Markup {
    let Lines { html, left_out } = Lines::of(one);
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "call tree of " (plain(&title(one))) } {
            div.calls {
                div.call.heads { b { "total" } b { "own" } b { "calls" } span { "function" } }
                (PreEscaped(html))
            }
        }
        @if !left_out.is_empty() {
            p.legend {
                (plural(left_out.len(), "call")) " of fewer than " (LEAST) " instructions are not shown: "
                (grouped(left_out.iter().sum::<u64>() as i64)) " in all."
            }
        }
    }
}

/// The lines of the tree.
#[derive(Default)]
struct Lines {
    html: String,
    /// The instructions of each call that is not shown.
    left_out: Vec<u64>,
}

impl Lines {
    /// Renders the tree without recursion: calls may be nested deeper than this program's own stack allows.
    fn of(one: &Explained) -> Self {
        let nodes = &one.tree.nodes;
        let roots = one.tree.roots.iter();
        let whole: u64 = roots.map(|node| nodes[*node as usize].total).sum();
        let mut lines = Self::default();
        let mut open = Vec::new();
        lines.push(&mut open, nodes, &one.tree.roots, 0);
        while let Some(step) = open.pop() {
            let Step::Call(index, depth) = step else {
                lines.html += "</details>";
                continue;
            };
            let node = &nodes[index as usize];
            let line = call(one, node);
            let style = format!("--d:{depth}");
            let end = open.len();
            open.push(Step::End);
            if !lines.push(&mut open, nodes, &node.children, depth + 1) {
                open.truncate(end);
                lines.html += &html! { div.call style=(style) { (line) } }.into_string();
                continue;
            }
            let is_open = node.total as f64 >= OPEN * whole as f64;
            lines.html += if is_open {
                "<details open>"
            } else {
                "<details>"
            };
            lines.html += &html! { summary.call style=(style) { (line) } }.into_string();
        }
        lines
    }

    /// Adds the calls that are shown to `open`. Returns whether there are any.
    fn push(&mut self, open: &mut Vec<Step>, nodes: &[Node], calls: &[u32], depth: usize) -> bool {
        let before = open.len();
        for call in calls.iter().rev() {
            match nodes[*call as usize].total {
                few if few < LEAST => self.left_out.push(few),
                _ => open.push(Step::Call(*call, depth)),
            }
        }
        open.len() > before
    }
}

fn call(one: &Explained, node: &Node) -> Markup {
    let function = &one.functions[node.function as usize];
    let [total, own] = [node.total, node.own].map(|number| grouped(number as i64));
    let numbers = [total, own, function.calls(node.calls)];
    html! { @for number in numbers { b { (number) } } span { (plain(&one.label(function))) } }
}
