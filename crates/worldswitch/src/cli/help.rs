//! The help of the whole command: its commands in groups, and the headings of options that several commands have.

use super::Cli;
use clap::CommandFactory;
use std::fmt::Write;

/// Options that every command has.
pub const GENERAL: &str = "General options";
/// The files that machines are made from.
pub const MACHINES: &str = "Files that machines are made from";
/// Files and formats of results.
pub const OUTPUT: &str = "Results";

/// The commands, by what they are for.
const GROUPS: [(&str, &[&str]); 3] = [
    ("Measure", &["run", "test", "paper"]),
    (
        "Read results",
        &["show", "compare", "explain", "report", "history"],
    ),
    ("Machines", &["machines", "benchmarks", "lab", "doctor"]),
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
            let _ = writeln!(groups, "  {name:11} {about}");
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

    /// Visits a command and all its subcommands.
    fn visit(command: &clap::Command, each: &mut impl FnMut(&clap::Command)) {
        each(command);
        for below in command.get_subcommands() {
            visit(below, each);
        }
    }

    #[test]
    fn exit_codes_stand_one_on_a_line() {
        let mut with_codes = Vec::new();
        visit(&command(), &mut |command| {
            let text = command.get_after_help().map(ToString::to_string);
            let Some(at) = text.as_ref().and_then(|text| text.find("xit code")) else {
                return;
            };
            let lines: Vec<&str> = text.as_ref().unwrap()[at..].lines().collect();
            assert!(lines[0].ends_with(':'), "{}", lines[0]);
            let codes = lines[1..].iter().take_while(|line| !line.is_empty());
            for line in codes.clone() {
                let (code, words) = line.split_at(5);
                let goes_on = code == "     ";
                let is_code = code.starts_with("  ") && code.ends_with("  ");
                assert!(
                    goes_on || is_code && "01234".contains(&code[2..3]),
                    "{line}"
                );
                assert!(!words.starts_with(' ') && line.len() <= 100, "{line}");
            }
            assert!(codes.count() >= 3, "{lines:?}");
            with_codes.push(command.get_name().to_owned());
        });
        with_codes.sort_unstable();
        let all = [
            "bisect",
            "boot",
            "check",
            "compare",
            "diverge",
            "doctor",
            "fleet",
            "test",
            "worldswitch",
        ];
        assert_eq!(with_codes, all);
    }

    #[test]
    fn lines_below_the_options_are_not_wrapped() {
        visit(&command(), &mut |command| {
            let text = command.get_after_help().map(ToString::to_string);
            let text = text.unwrap_or_default();
            // Other text is prose.
            for line in text.lines().filter(|line| line.starts_with("  ")) {
                assert!(line.len() <= 100, "{}: {line}", command.get_name());
            }
        });
    }

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
                .find(|line| line.starts_with(&format!("  {name:11} ")));
            let line = line.unwrap();
            assert!(line.len() > 20 && line.len() <= 80, "{line}");
        }
    }
}
