//! Options of `worldswitch paper`.

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  worldswitch paper                         the five papers, with the figures that are measured here
  worldswitch paper dall                    only Dall et al. (2015)
  worldswitch paper dall 2                  the numbers and the command of Table 2
  worldswitch paper dall 'figure 4' --run   measure Figure 4
  worldswitch paper elvis 4.3               the numbers in the text of section 4.3";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PaperArgs {
    /// The paper. The beginning of the name is enough (hyperbench-2019, dall-2015, neve-2017, elvis-2013,
    /// rasmusson-2013).
    #[arg(value_name = "NAME")]
    pub paper: Option<String>,
    /// A table, figure or section: 'table 2' or 2, 'figure 4', 'text 4.3' or 4.3.
    #[arg(value_name = "FIGURE", requires = "paper")]
    pub figure: Option<String>,
    /// Run the figure's command.
    #[arg(long, requires = "figure", conflicts_with = "json")]
    pub run: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
