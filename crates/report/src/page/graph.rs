//! A flame graph: callers above the functions that they call, from left to right in the order of time. The width of a
//! call is its instructions. The graph is complete without its script, which zooms it, searches it and walks through it
//! by keys.

use super::words::plain;
use maud::{Markup, html};

/// Width of a graph, in units of its drawing.
const WIDTH: f64 = 1000.0;
/// Style of graphs, after a page's own.
pub const GRAPH_STYLE: &str = include_str!("graph.css");
/// Script of graphs, after a page's own.
pub const GRAPH_SCRIPT: &str = include_str!("graph.js");

/// Height of a call.
const ROW: usize = 18;
/// Width of a letter in the font of the drawing.
const LETTER: f64 = 6.7;
/// Least width of a call that is in the page, so that zooming shows more than the page does at first.
const NARROWEST: f64 = 0.02;
/// Greatest depth of a call that is drawn; a kernel's stack has no room for as many.
const DEEPEST: usize = 200;

/// A call where it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphCall {
    /// Left end, in units of the drawing.
    pub x: f64,
    /// Width, in the same units.
    pub width: f64,
    /// Number of callers above it.
    pub depth: usize,
    /// Name of the function.
    pub name: String,
    /// Text that a pointer shows.
    pub detail: String,
    /// Class that decides its colour.
    pub class: &'static str,
    /// Strength of the colour, 0 to 1.
    pub share: f64,
    /// Whether it runs only because of something that the emulator lacks. The page can hide these calls.
    pub is_added: bool,
}

/// Places calls from left to right, callers before callees. Of a call, `width` gives its width in any unit and `below` its
/// callees; `draw` makes it, from the call, its left end, width and depth. Calls that are too narrow or deep are left out.
pub fn placed<T: Copy>(
    roots: Vec<T>,
    width: impl Fn(T) -> f64,
    below: impl Fn(T) -> Vec<T>,
    draw: impl Fn(T, f64, f64, usize) -> GraphCall,
) -> Vec<GraphCall> {
    let all: f64 = roots.iter().map(|call| width(*call)).sum();
    let scale = WIDTH / all.max(1.0);
    let mut calls = Vec::new();
    let mut open = vec![(roots, 0.0, 0)];
    while let Some((siblings, mut x, depth)) = open.pop() {
        for call in siblings {
            let width = width(call) * scale;
            if width >= NARROWEST && depth < DEEPEST {
                calls.push(draw(call, x, width, depth));
                open.push((below(call), x, depth + 1));
            }
            x += width;
        }
    }
    calls
}

/// Draws a graph of this name; the legend is below it.
pub fn graph(name: &str, calls: &[GraphCall], legend: &Markup) -> Markup {
    let rows = calls.iter().map(|one| one.depth + 1).max().unwrap_or(0);
    html! {
        div.graph {
            div.tools hidden {
                label { "Search " input.search type="search" placeholder="a function"; }
                @if calls.iter().any(|call| call.is_added) {
                    label { input.added type="checkbox"; " Hide calls that run only because the emulator lacks a feature" }
                }
                button.reset type="button" hidden { "Whole graph" }
                output role="status" {}
            }
            div.scroll tabindex="0" role="region" aria-label=(plain(name)) {
                svg.flame viewBox={ "0 0 " (WIDTH) " " (rows * ROW) } role="group" aria-label=(plain(name)) {
                    @for one in calls { (draw(one)) }
                }
            }
            p.rest {
                "Callers above the functions that they call, in the order of time. " (legend)
                " A click or Enter zooms, Esc shows all."
            }
        }
    }
}

fn draw(one: &GraphCall) -> Markup {
    let name = plain(&one.name);
    let (x, width) = (format!("{:.3}", one.x), format!("{:.3}", one.width));
    let y = one.depth * ROW;
    html! {
        g.(one.class) style=[(one.share < 1.0).then(|| format!("--share: {:.2}", one.share))] data-x=(x) data-w=(width)
            data-d=(one.depth) data-n=(name) data-e[one.is_added] role="img" aria-label=(plain(&one.detail)) tabindex="-1" {
            title { (plain(&one.detail)) }
            rect x=(x) y=(y) width=(width) height=(ROW) {}
            text x=(format!("{:.3}", one.x + 3.0)) y=(y + ROW - 5) { (fitted(&name, one.width)) }
        }
    }
}

/// Returns as much of a call's name as fits into its width.
fn fitted(name: &str, width: f64) -> String {
    let letters = ((width - 6.0) / LETTER).max(0.0) as usize;
    match name.chars().count() {
        all if all <= letters => name.to_owned(),
        _ if letters < 4 => String::new(),
        _ => name.chars().take(letters - 2).collect::<String>() + "..",
    }
}
