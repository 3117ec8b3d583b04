//! The call tree: a line for each call, which folds what it calls.

use super::{LEAST, title};
use crate::page::words::plain;
use maud::{Markup, PreEscaped, html};
use ws_explain::explained::Explained;
use ws_explain::render::number::grouped;
use ws_explain::tree::Node;

/// Calls with a smaller share of the tree are folded at first.
const OPEN: f64 = 0.05;

/// What is still to be written.
enum Step {
    Call(u32, usize),
    End,
}

/// The tree. Calls may be nested deeper than this program's own stack allows, so it does not recurse.
pub(super) fn tree(one: &Explained) -> Markup {
    let nodes = &one.tree.nodes;
    let whole: f64 = one
        .tree
        .roots
        .iter()
        .map(|node| nodes[*node as usize].total as f64)
        .sum();
    let mut lines = String::new();
    let mut left_out = Vec::new();
    let mut open = Vec::new();
    let mut shown = |children: &[u32]| -> Vec<u32> {
        let total = |node: &u32| nodes[*node as usize].total;
        let (shown, few): (Vec<u32>, Vec<u32>) =
            children.iter().partition(|node| total(node) >= LEAST);
        left_out.extend(few.iter().map(total));
        shown
    };
    let push = |open: &mut Vec<Step>, children: Vec<u32>, depth| {
        open.extend(
            children
                .into_iter()
                .rev()
                .map(|node| Step::Call(node, depth)),
        );
    };
    push(&mut open, shown(&one.tree.roots), 0);
    while let Some(step) = open.pop() {
        let Step::Call(index, depth) = step else {
            lines += "</details>";
            continue;
        };
        let node = &nodes[index as usize];
        let children = shown(&node.children);
        let line = call(one, node);
        let style = format!("--d:{depth}");
        if children.is_empty() {
            lines += &html! { div.call style=(style) { (line) } }.into_string();
            continue;
        }
        let is_open = node.total as f64 >= OPEN * whole;
        lines += if is_open {
            "<details open>"
        } else {
            "<details>"
        };
        lines += &html! { summary.call style=(style) { (line) } }.into_string();
        open.push(Step::End);
        push(&mut open, children, depth + 1);
    }
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "call tree of " (plain(&title(one))) } {
            div.calls {
                div.call.heads { b { "total" } b { "own" } b { "calls" } span { "function" } }
                (PreEscaped(lines))
            }
        }
        @if !left_out.is_empty() {
            p.legend {
                (left_out.len()) " calls of fewer than " (LEAST) " instructions are not shown: "
                (grouped(left_out.iter().sum::<u64>() as i64)) " in all."
            }
        }
    }
}

fn call(one: &Explained, node: &Node) -> Markup {
    let numbers = [node.total, node.own, node.calls].map(|number| grouped(number as i64));
    let label = one.label(&one.functions[node.function as usize]);
    html! { @for number in numbers { b { (number) } } span { (plain(&label)) } }
}
