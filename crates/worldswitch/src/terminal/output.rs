//! Standard output for data, standard error for all else, colour only where it is wanted.

use clap::ValueEnum;
use std::io::{self, IsTerminal, Write};

/// What may be typed behind `--color`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

/// Where colour is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colours {
    pub stdout: bool,
    pub stderr: bool,
}

impl Colours {
    /// What `--color`, `NO_COLOR` and the terminals say.
    pub fn choose(when: When) -> Self {
        let asked_not = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let on = |terminal: bool| match when {
            When::Always => true,
            When::Never => false,
            When::Auto => terminal && !asked_not,
        };
        Self {
            stdout: on(io::stdout().is_terminal()),
            stderr: on(io::stderr().is_terminal()),
        }
    }
}

/// Writes data to standard output.
///
/// # Errors
/// It can't be written: a full disk, or nobody reads any more (see [`is_broken_pipe`]).
pub fn data(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(|e| anyhow::Error::new(e).context("can't write to standard output"))
}

/// Whether the reader of our output has left, as `head` does: no error of ours.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// Tells an error and its causes.
pub fn error(error: &anyhow::Error, colours: Colours) {
    message("error", 31, &format!("{error:#}"), colours);
}

/// Tells something worth knowing, and what to do about it.
pub fn remark(text: &str, colours: Colours) {
    message("note", 33, text, colours);
}

fn message(label: &str, colour: u8, text: &str, colours: Colours) {
    // Lines of the text stay lines; whatever else is in them is made harmless.
    let lines: Vec<_> = text.lines().map(ws_report::text::terminal).collect();
    let text = lines.join("\n  ");
    let line = if colours.stderr {
        format!("\x1b[1;{colour}m{label}:\x1b[0m {text}\n")
    } else {
        format!("{label}: {text}\n")
    };
    // Nobody is left to be told when standard error is gone.
    let _ = io::stderr().write_all(line.as_bytes());
}
