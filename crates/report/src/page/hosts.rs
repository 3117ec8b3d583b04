//! The section of hosts: which differ from others of their kind.

use super::text_table::text_table;
use super::words::plain;
use crate::hosts::{heading, is_odd, sheet};
use maud::{Markup, html};
use ws_analysis::{Host, HostKind, Standing};

/// The section; empty if no kind has two hosts.
pub(crate) fn hosts(kinds: &[HostKind]) -> Markup {
    let several: Vec<&HostKind> = kinds.iter().filter(|kind| kind.hosts.len() > 1).collect();
    html! {
        @if !several.is_empty() {
            section #hosts {
                h2 { "Hosts" }
                @for kind in several {
                    @let (odd, rest): (Vec<&Host>, Vec<&Host>) = kind.hosts.iter().partition(|host| is_odd(host));
                    @if odd.is_empty() { p { (plain(&heading(kind))) "." } }
                    @else { (text_table(&heading(kind), &sheet(&odd))) }
                    @if !rest.is_empty() {
                        details.fold {
                            summary { (rest.len()) (if rest.iter().all(|host| host.standing == Standing::Alone) { " not compared" } else { " as the others" }) }
                            (text_table(&kind.platform, &sheet(&rest)))
                        }
                    }
                }
            }
        }
    }
}
