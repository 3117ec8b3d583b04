//! Folded stacks, as flame graph tools read them, and the flame graph itself.

use crate::explained::Explained;
use crate::place::Kind;
use crate::tree::Node;
use inferno::flamegraph::{self, Options, TextTruncateDirection};
use ws_text::number::grouped;

/// Suffix of the names of inlined functions, as other tools write them in stacks.
const INLINED: &str = "_[i]";

/// The flame graph can't be drawn.
#[derive(Debug, thiserror::Error)]
#[error("the flame graph can't be drawn: {0}")]
pub struct FlameError(String);

impl Explained {
    /// Returns folded stacks of the most common path, the guest's own instructions among them. Each node with
    /// instructions of its own has a line `OUTER;INNER COUNT`. The counts add up to the path's length.
    pub fn to_folded(&self) -> String {
        let own = self
            .tree
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.own > 0);
        own.map(|(index, node)| format!("{} {}\n", self.stack(index as u32), node.own))
            .collect()
    }

    /// Draws the folded stacks as an SVG file, which browsers show and search.
    ///
    /// # Errors
    /// There is nothing to draw.
    pub fn to_flame_graph(&self) -> Result<String, FlameError> {
        let mut options = Options::default();
        options.title = format!("{} on {}", self.benchmark, self.platform);
        options.subtitle = Some(format!(
            "{} instructions measured{}",
            grouped(self.remaining()),
            self.left_out_words()
        ));
        options.count_name = "instructions".to_owned();
        options.name_type = "Function:".to_owned();
        options.hash = true;
        options.text_truncate_direction = TextTruncateDirection::Right;
        options.min_width = 0.05;
        let folded = self.to_folded();
        let mut svg = Vec::new();
        flamegraph::from_lines(&mut options, folded.lines(), &mut svg)
            .map_err(|error| FlameError(error.to_string()))?;
        String::from_utf8(svg).map_err(|error| FlameError(error.to_string()))
    }

    /// Returns the stack from the outermost caller to the node, below the level and kind of software of the outermost.
    fn stack(&self, node: u32) -> String {
        let chain: Vec<&Node> = self.tree.chain(node).collect();
        let functions = chain
            .iter()
            .rev()
            .map(|node| &self.functions[node.function as usize]);
        let mut names = functions.clone().map(|function| {
            let name = function.name.replace([';', '\n'], "_");
            name + if function.is_inlined { INLINED } else { "" }
        });
        let outermost = functions.clone().next();
        let top = outermost.map_or_else(String::new, |function| match function.kind {
            Kind::Guest => "guest".to_owned(),
            _ => format!("L{}", function.level),
        });
        names.by_ref().fold(top, |stack, name| stack + ";" + &name)
    }
}
