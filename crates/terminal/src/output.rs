//! Standard output for data, standard error for messages, and colour where it is wanted.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether notes and progress are left out. The whole program has one setting, as it has one standard error.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Leaves out notes and progress from now on.
pub fn be_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Whether notes and progress are left out.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Whether colour is wanted on standard output and on standard error: one setting, too.
static COLOURS: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];

/// Chooses colours from now on: by the user's option, else by `NO_COLOR` and the terminals.
pub fn choose_colours(asked: Option<bool>) {
    let asked_not = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let are_terminals = [io::stdout().is_terminal(), io::stderr().is_terminal()];
    for (colour, is_terminal) in COLOURS.iter().zip(are_terminals) {
        let on = asked.unwrap_or(is_terminal && !asked_not);
        colour.store(on, Ordering::Relaxed);
    }
}

/// Whether colour is wanted on standard output.
pub fn is_coloured() -> bool {
    COLOURS[0].load(Ordering::Relaxed)
}

/// The width of standard output in columns, if it is a terminal.
pub fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    // Some terminals report 0 columns.
    (size.ws_col > 0).then(|| usize::from(size.ws_col))
}

/// Writes data to standard output.
///
/// # Errors
/// Standard output can't be written: a full disk, or a closed pipe (see [`is_broken_pipe`]).
pub fn data(text: &str) -> anyhow::Result<()> {
    bytes(text.as_bytes())
}

/// Writes data that need not be text.
pub fn bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(bytes)
        .and_then(|()| stdout.flush())
        .map_err(|e| anyhow::Error::new(e).context("can't write to standard output"))
}

/// Whether the reader of our output closed its pipe, as `head` does, which is not an error of this program.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// Prints an error and its causes.
pub fn error(error: &anyhow::Error) {
    message("error", 31, &format!("{error:#}"));
}

/// Prints a note: something worth knowing, and what to do about it.
pub fn remark(text: &str) {
    if !is_quiet() {
        message("note", 33, text);
    }
}

/// Prints progress of a command that has no progress line, by the command's name.
pub fn progress(name: &str, text: &str) {
    if is_quiet() {
        return;
    }
    let lines: Vec<_> = text.lines().map(ws_text::terminal).collect();
    // If standard error is gone, there is nowhere to report it.
    let _ = writeln!(io::stderr(), "{name}: {}", lines.join("\n  "));
}

fn message(label: &str, colour: u8, text: &str) {
    // Newlines stay; other control characters are escaped.
    let lines: Vec<_> = text.lines().map(ws_text::terminal).collect();
    let text = lines.join("\n  ");
    let line = if COLOURS[1].load(Ordering::Relaxed) {
        format!("\x1b[1;{colour}m{label}:\x1b[0m {text}\n")
    } else {
        format!("{label}: {text}\n")
    };
    // If standard error is gone, there is nowhere to report it.
    let _ = io::stderr().write_all(line.as_bytes());
}
