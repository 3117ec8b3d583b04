//! The help of the whole command: its commands in groups, and the headings of options that several commands have.

use super::Cli;
use clap::CommandFactory;
use std::fmt::Write;

/// Options that every command has.
pub const GENERAL: &str = "General options";
/// The files that machines are made from.
pub const MACHINES: &str = "Files that machines are made from";
/// Where results go, and in which form.
pub const OUTPUT: &str = "Results";

/// The commands, by what they are for.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Measure",
        &["run", "io", "apps", "place", "nested", "fleet"],
    ),
    (
        "Read results",
        &["show", "compare", "report", "history", "model"],
    ),
    ("Find the cause", &["explain", "bisect"]),
    ("Machines", &["list", "lab", "doctor", "patch-hyp"]),
];

/// The definition of the command, with its commands in groups.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let mut groups = String::new();
    for (group, names) in GROUPS {
        // Writing to a String can't fail.
        let _ = writeln!(groups, "{group}:");
        for name in names {
            let about = command.find_subcommand(name);
            let about = about.and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(groups, "  {name:10} {about}");
        }
        groups.push('\n');
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{GENERAL}:\n{{options}}{{after-help}}\n\
         worldswitch COMMAND --help shows the options and examples of a command.\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shown_command_is_in_one_group_and_its_line_fits() {
        let command = command();
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
        let mut shown: Vec<&str> = shown.map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped);
        let help = command.clone().render_long_help().to_string();
        for name in grouped {
            let line = help
                .lines()
                .find(|line| line.starts_with(&format!("  {name:10} ")));
            let line = line.unwrap();
            assert!(line.len() > 20 && line.len() <= 80, "{line}");
        }
    }
}
