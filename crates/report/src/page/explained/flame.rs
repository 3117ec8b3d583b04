//! The flame graph of an explained operation.

use super::title;
use crate::page::graph::{GraphCall, graph, placed};
use maud::{Markup, html};
use ws_explain::explained::Explained;
use ws_explain::place::Kind;
use ws_explain::tree::Node;
use ws_text::number::grouped;

const KINDS: [(Kind, &str); 5] = [
    (Kind::Guest, "c0"),
    (Kind::Hypervisor, "c5"),
    (Kind::Kernel, "c3"),
    (Kind::User, "c1"),
    (Kind::Firmware, "c2"),
];

/// The flame graph.
pub(super) fn flame(one: &Explained) -> Markup {
    let added = one.added_nodes();
    let nodes = |of: &[u32]| -> Vec<(&Node, bool)> {
        of.iter()
            .map(|node| (&one.tree.nodes[*node as usize], added[*node as usize]))
            .collect()
    };
    let calls = placed(
        nodes(&one.tree.roots),
        |(node, _)| node.total as f64,
        |(node, _)| nodes(&node.children),
        |of, x, width, depth| call(one, of, (x, width, depth)),
    );
    let is_present = |kind: Kind| {
        let mut kinds = calls.iter();
        kinds.any(|call| KINDS.contains(&(kind, call.class)))
    };
    let legend = html! {
        "Width: instructions. "
        @for (kind, colour) in KINDS { @if is_present(kind) { span class=(colour) { (kind.to_string()) } " " } }
    };
    html! {
        @if !calls.is_empty() { (graph(&format!("flame graph of {}", title(one)), &calls, &legend)) }
    }
}

/// A node where it is drawn, and whether the emulator adds it.
fn call(
    one: &Explained,
    (node, is_added): (&Node, bool),
    (x, width, depth): (f64, f64, usize),
) -> GraphCall {
    let function = &one.functions[node.function as usize];
    let [total, own] = [node.total, node.own].map(|number| grouped(number as i64));
    let colour = KINDS.iter().find(|(kind, _)| *kind == function.kind);
    GraphCall {
        x,
        width,
        depth,
        name: function.name.clone(),
        detail: format!(
            "{}: {total} instructions, {own} of its own, calls: {}",
            one.label(function),
            function.calls(node.calls)
        ),
        class: colour.map_or("", |(_, colour)| colour),
        share: 1.0,
        is_added,
    }
}
