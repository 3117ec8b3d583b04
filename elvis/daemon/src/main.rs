//! The `elvis` command. Exit codes: 0 ok, 1 error, 2 wrong usage.

mod cli;

use anyhow::Context;
use clap::{CommandFactory, Parser};
use cli::{Cli, Command, Ctl, ServeArgs, SimulateArgs};
use elvis::config::{self, Config};
use elvis::{confine, control, daemon, logs, model, simulate, watch};
use elvis_policy::simulation::{Costs, Mode, Scenario};
use elvis_policy::{Params, PlacementParams};
use serde_json::{Value, json};
use std::io::{ErrorKind, IsTerminal, Write, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use ws_cpus::Cpus;

/// Wrong usage that clap does not detect.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // If this fails, there is nowhere to report it.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let done = match cli.command {
        Command::Serve(args) => return serve(&args),
        Command::Ctl(args) => ctl(&args.control, &args.what),
        Command::Simulate(args) => play(&args),
        Command::Complete { words } => {
            let found = ws_manual::complete(&Cli::command(), |_| None, words, &mut stdout());
            found.map_err(Into::into)
        }
        Command::Manual { share } => ws_manual::write(Cli::command(), &share).map_err(Into::into),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has read enough, as `head` does.
        Err(error) if error.is::<Unread>() => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("elvis: {error:#}");
            code(&error)
        }
    }
}

/// Serves devices. From here on errors are messages of the daemon: its log has them too.
fn serve(args: &ServeArgs) -> ExitCode {
    logs::start(args.log_level.unwrap_or_default());
    let served = configuration(args).and_then(|config| {
        logs::start(config.log_level);
        Ok(daemon::serve(&config)?)
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log::error!("{error:#}");
            code(&error)
        }
    }
}

/// Returns the exit code of an error.
fn code(error: &anyhow::Error) -> ExitCode {
    ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
}

/// Error of output whose reader has closed it.
#[derive(Debug, thiserror::Error)]
#[error("the reader of the output has closed it")]
struct Unread;

/// Writes text to standard output.
fn say(text: &str) -> anyhow::Result<()> {
    match stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Unread.into()),
        done => done.context("can't write to standard output"),
    }
}

/// Reads the configuration from file and arguments; arguments win.
fn configuration(args: &ServeArgs) -> anyhow::Result<Config> {
    let usage = |error: String| anyhow::Error::from(Usage(error));
    let mut config = match &args.config {
        Some(path) => Config::read(path).map_err(|error| usage(error.to_string()))?,
        None => Config::default(),
    };
    config.mode = args.mode.map_or(config.mode, Mode::from);
    let cores_from = match (&args.config, &args.io_cores) {
        (Some(path), None) => format!("{}: io_cores", path.display()),
        _ => "--io-cores".to_owned(),
    };
    if let Some(cores) = &args.io_cores {
        config.io_cores.clone_from(cores);
    }
    let cores = config.check_unlike_cores();
    let cores = cores.and_then(|()| config.check_cores(&Cpus::here()));
    cores.map_err(|why| usage(format!("{cores_from}: {why}")))?;
    config.placement.automatic |= args.placement;
    config.check_placement().map_err(usage)?;
    config.control = args.control.clone().or(config.control);
    config.state = args.state.clone().or(config.state);
    config.threads_only |= args.threads_only;
    config.metrics = args.metrics.clone().or(config.metrics);
    config.seccomp &= !args.no_seccomp;
    config.log_level = args.log_level.unwrap_or(config.log_level);
    if let Some(name) = &args.user {
        let named = |why| usage(format!("--user: {why}"));
        config.user = Some(confine::User::find(name).map_err(named)?);
    }
    for argument in &args.uplink {
        let named = |why: String| usage(format!("--uplink {argument}: {why}"));
        let spec = config::uplink_argument(argument).map_err(named)?;
        config.add_uplink(spec).map_err(named)?;
    }
    add_devices(&mut config, args).map_err(usage)?;
    if config.devices.is_empty() && config.control.is_none() {
        let why = "nothing to serve; use --blk SOCKET=IMAGE or --net SOCKET=NETWORK, or --control to add devices later";
        return Err(usage(why.to_owned()));
    }
    Ok(config)
}

/// Adds the devices of the arguments.
fn add_devices(config: &mut Config, args: &ServeArgs) -> Result<(), String> {
    let blk = args.blk.iter().map(|argument| ("--blk", argument));
    let net = args.net.iter().map(|argument| ("--net", argument));
    for (option, argument) in blk.chain(net) {
        let named = |why: String| format!("{option} {argument}: {why}");
        let device = config::device_argument(argument).map_err(named)?;
        let network = device.get("net").is_some();
        if network != (option == "--net") {
            return Err(named(match network {
                true => "a network; use --net".to_owned(),
                false => "not tap:NAME, interface:NAME or switch:NAME".to_owned(),
            }));
        }
        let spec = config::device_from_json(device).map_err(named)?;
        config.add(spec).map_err(named)?;
    }
    Ok(())
}

fn ctl(path: &Path, what: &Ctl) -> anyhow::Result<()> {
    let request = match what {
        Ctl::Add { device } => {
            let device = config::device_argument(device).map_err(Usage)?;
            json!({ "do": "add", "device": device })
        }
        Ctl::Remove { name } => json!({ "do": "remove", "name": name }),
        Ctl::Move { name, thread } => json!({ "do": "move", "name": name, "thread": thread }),
        Ctl::Resize { name } => json!({ "do": "resize", "name": name }),
        Ctl::Weight { name, weight } => json!({ "do": "weight", "name": name, "weight": weight }),
        Ctl::Limit { name, limits } => {
            let limits = config::limits_argument(limits).map_err(Usage)?;
            json!({ "do": "limit", "name": name, "limits": limits })
        }
        Ctl::List => json!({ "do": "list" }),
        Ctl::Stats {
            watch: true,
            every,
            looks,
        } => return watch_stats(path, *every, *looks),
        Ctl::Stats { .. } => json!({ "do": "stats" }),
        Ctl::Drain => json!({ "do": "drain" }),
    };
    let mut reply = ask(path, &request)?;
    for key in ["devices", "stats"] {
        let value = reply[key].take();
        if value != Value::Null {
            say(&format!("{value:#}\n"))?;
        }
    }
    for disk in reply["resized"].as_array().into_iter().flatten() {
        say(&resized(disk))?;
    }
    Ok(())
}

/// Returns the line of one disk after `elvis ctl resize`.
fn resized(disk: &Value) -> String {
    let word = |key: &str| disk[key].as_str().unwrap_or_default();
    let bytes = |key: &str| disk[key].as_u64().unwrap_or_default();
    let sizes = match bytes("before") == bytes("bytes") {
        true => format!("{} bytes, as before", bytes("bytes")),
        false => format!("{} bytes, now {}", bytes("before"), bytes("bytes")),
    };
    format!("{}: {sizes}; {}\n", word("name"), word("seen"))
}

fn ask(path: &Path, request: &Value) -> anyhow::Result<Value> {
    let reply = control::ask(path, request)?;
    if reply["ok"] != json!(true) {
        anyhow::bail!("{}", reply["error"].as_str().unwrap_or("refused"));
    }
    Ok(reply)
}

/// Shows a table of changes every `every` seconds, `looks` times or until interrupted.
fn watch_stats(path: &Path, every: u64, looks: Option<u64>) -> anyhow::Result<()> {
    let look = || -> anyhow::Result<(Value, Instant)> {
        let mut reply = ask(path, &json!({ "do": "stats" }))?;
        Ok((reply["stats"].take(), Instant::now()))
    };
    let (mut before, mut at) = look()?;
    // On a terminal each table replaces the last one.
    let clear = if stdout().is_terminal() {
        "\x1b[H\x1b[2J"
    } else {
        ""
    };
    let mut left = looks.unwrap_or(u64::MAX);
    while left > 0 {
        std::thread::sleep(Duration::from_secs(every));
        let (now, now_at) = look()?;
        let seconds = now_at.duration_since(at).as_secs_f64();
        let text = watch::table(&now, &before, seconds);
        say(&format!("{clear}{text}\n"))?;
        (before, at) = (now, now_at);
        left -= 1;
    }
    Ok(())
}

/// Returns the output of the model of whole machines. None: not asked for.
fn machines(args: &SimulateArgs) -> anyhow::Result<Option<String>> {
    let (data, text) = if !args.figure.is_empty() {
        let figures = model::figures(&args.figure)?;
        (json!(figures), figures.text())
    } else if args.lab {
        let (checked, devices) = (model::lab(), model::devices());
        let text = model::lab_text(&checked) + &model::devices_text(&devices);
        (json!({ "lab": checked, "devices": devices }), text)
    } else if args.parameters {
        let parameters: serde_json::Map<String, Value> = model::parameters()
            .into_iter()
            .map(|(what, all)| (what.to_owned(), json!(all)))
            .collect();
        (json!(parameters), model::parameters_text())
    } else {
        return Ok(None);
    };
    Ok(Some(if args.json {
        format!("{data:#}\n")
    } else {
        text
    }))
}

fn play(args: &SimulateArgs) -> anyhow::Result<()> {
    if let Some(text) = machines(args)? {
        return say(&text);
    }
    let (mut params, mut costs) = (Params::default(), Costs::default());
    let mut placement = PlacementParams {
        automatic: args.placement,
        ..PlacementParams::default()
    };
    simulate::set(&mut params, &mut costs, &mut placement, &args.set).map_err(Usage)?;
    let groups = args.group.iter().map(|group| simulate::group(group));
    let groups = groups.collect::<Result<Vec<_>, _>>().map_err(Usage)?;
    let nanoseconds = |ms: u64| ms.saturating_mul(1_000_000);
    let scenario = Scenario {
        mode: Mode::Elvis,
        groups,
        cores: args.cores,
        costs,
        params,
        placement,
        warmup_ns: nanoseconds(args.warmup_ms),
        duration_ns: nanoseconds(args.duration_ms),
        seed: args.seed,
    };
    let mut modes: Vec<Mode> = args.mode.iter().map(|&mode| mode.into()).collect();
    if args.placement {
        // In the per-device modes the operating system places the threads.
        modes.retain(|mode| matches!(mode, Mode::Elvis | Mode::FineGrained));
    }
    let outcomes = simulate::play(&scenario, &modes).map_err(Usage)?;
    if args.json {
        let all = json!({ "scenario": scenario, "outcomes": outcomes });
        say(&format!("{all:#}\n"))
    } else {
        say(&simulate::table(&outcomes))
    }
}
