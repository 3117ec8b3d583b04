//! `worldswitch paper`: the tables and figures of the five papers, their numbers, and the commands that measure them.

use crate::cli::PaperArgs;
use crate::shared::Done;
use anyhow::{Context, bail};
use std::process::Command;
use ws_catalog::papers;
use ws_report::reference;
use ws_terminal::{Usage, output};

/// Lists papers, shows a figure, or measures it.
pub fn paper(args: &PaperArgs) -> anyhow::Result<Done> {
    let reference = reference::load()?;
    let name = args.paper.as_deref();
    let name = name
        .map(|given| papers::named(&reference, given))
        .transpose()?;
    let figure = match (name, &args.figure) {
        (Some(name), Some(given)) => Some(papers::figure(&reference, name, given)?),
        _ => None,
    };
    if args.json {
        output::data(&papers::json(&reference, name, figure.as_ref())?)?;
        return Ok(Done::Whole);
    }
    let Some(figure) = figure else {
        output::data(&papers::list(&reference, name))?;
        return Ok(Done::Whole);
    };
    if !args.run {
        output::data(&papers::shown(&reference, &figure))?;
        return Ok(Done::Whole);
    }
    if figure.command.is_empty() {
        bail!(Usage(format!(
            "no command measures {} of {}: worldswitch paper {1} lists the measured figures",
            figure.figure, figure.paper
        )));
    }
    run(&figure.command)
}

/// Runs a command of a figure, with this program's folder first in PATH. Its exit code is this command's.
fn run(command: &str) -> anyhow::Result<Done> {
    let program = std::env::current_exe().context("can't find this program")?;
    let mut path = program.parent().unwrap_or(&program).as_os_str().to_owned();
    if let Some(others) = std::env::var_os("PATH") {
        path.push(":");
        path.push(others);
    }
    output::remark(command);
    let status = Command::new("sh")
        .args(["-euc", command])
        .env("PATH", path)
        .status();
    let status = status.context("can't start sh")?;
    Ok(Done::Code(
        status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .unwrap_or(1),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser;

    /// Splits a command of the file into words: at blanks, except within single quotes.
    fn words(command: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut is_quoted = false;
        for letter in command.trim().chars() {
            match letter {
                '\'' => is_quoted = !is_quoted,
                ' ' if !is_quoted => words.push(String::new()),
                _ => words.last_mut().unwrap().push(letter),
            }
        }
        words
    }

    /// Splits a shell line into its commands.
    fn commands(line: &str) -> impl Iterator<Item = Vec<String>> {
        let parts = line.split("&&").flat_map(|part| part.split(';'));
        let parts = parts.map(|part| part.trim().trim_start_matches("do "));
        parts
            .filter(|part| part.starts_with("worldswitch "))
            .map(|part| words(&part.replace("$n", "50")))
    }

    #[test]
    fn each_command_is_one_and_each_page_is_there() {
        let reference = reference::load().unwrap();
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
        for figure in &reference.figures {
            let at = format!("{}, {}", figure.paper, figure.figure);
            assert!(reference.paper(&figure.paper).is_some(), "{at}");
            let page = format!("{docs}/{}", figure.page);
            assert!(std::path::Path::new(&page).is_file(), "{at}: {page}");
            let of_elvis = figure.command.starts_with("elvis simulate ");
            let parsed: Vec<_> = commands(&figure.command).map(Cli::try_parse_from).collect();
            assert!(of_elvis || !parsed.is_empty(), "{at}: {}", figure.command);
            for parsed in parsed {
                assert!(parsed.is_ok(), "{at}: {}", parsed.unwrap_err());
            }
        }
    }
}
