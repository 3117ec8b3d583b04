//! `elvis simulate`: its arguments and its table of results.

use elvis_policy::simulation::{Arrival, Costs, Group, Mode, Outcome, Scenario};
use elvis_policy::{Params, PlacementParams, RateLimit};
use serde::Serialize;
use serde::de::DeserializeOwned;
use ws_text::{Column, Sheet};

/// Reads a group of devices from `KEY=VALUE,...`: `devices`; `depth` and `think_us` (closed loop) or
/// `per_s` (open loop), with `on_us` and `off_us` (bursts) or `most_per_s` and `period_ms` (rate rises
/// and falls between the two); `service_ns`, `storage_us`, `bytes`, `weight`, `limit_per_s`, `name`.
pub fn group(text: &str) -> Result<Group, String> {
    let mut group = Group {
        name: text.to_owned(),
        ..Group::default()
    };
    let (mut depth, mut think_ns, mut per_s, mut on_ns, mut off_ns) = (None, 0, None, None, 0);
    let (mut most_per_s, mut period_ns) = (None, 1_000_000_000);
    for word in text.split(',') {
        let (key, value) = word
            .split_once('=')
            .ok_or_else(|| format!("{word:?} is not KEY=VALUE"))?;
        let wrong = || format!("{word:?}: {value:?} is not a valid number");
        let number = || value.parse::<u64>().map_err(|_| wrong());
        let us = || number()?.checked_mul(1000).ok_or_else(wrong);
        match key {
            "name" => value.clone_into(&mut group.name),
            "devices" => group.devices = value.parse().map_err(|_| wrong())?,
            "depth" => depth = Some(value.parse().map_err(|_| wrong())?),
            "think_us" => think_ns = us()?,
            "per_s" => per_s = Some(value.parse().map_err(|_| wrong())?),
            "on_us" => on_ns = Some(us()?),
            "off_us" => off_ns = us()?,
            "most_per_s" => most_per_s = Some(value.parse().map_err(|_| wrong())?),
            "period_ms" => period_ns = number()?.checked_mul(1_000_000).ok_or_else(wrong)?,
            "service_ns" => group.service_ns = number()?,
            "storage_us" => group.storage_ns = us()?,
            "bytes" => group.bytes = number()?,
            "weight" => group.weight = value.parse().map_err(|_| wrong())?,
            "limit_per_s" => {
                group.limit = RateLimit {
                    requests_per_s: Some(number()?),
                    ..RateLimit::default()
                };
            }
            _ => return Err(format!("{key:?} is not a key of --group")),
        }
    }
    group.arrival = match (depth, per_s, on_ns, most_per_s) {
        (Some(_), Some(_), ..) => return Err("depth and per_s exclude each other".to_owned()),
        (_, None, _, Some(_)) => return Err("most_per_s needs per_s, the least".to_owned()),
        (_, _, Some(_), Some(_)) => {
            return Err("on_us and most_per_s exclude each other".to_owned());
        }
        (depth, None, ..) => Arrival::Closed {
            depth: depth.unwrap_or(1),
            think_ns,
        },
        (None, Some(per_s), None, None) => Arrival::Open { per_s },
        (None, Some(per_s), Some(on_ns), None) => Arrival::Bursts {
            per_s,
            on_ns,
            off_ns,
        },
        (None, Some(least_per_s), None, Some(most_per_s)) => Arrival::Tide {
            least_per_s,
            most_per_s,
            period_ns,
        },
    };
    Ok(group)
}

/// Sets fields of [`Params`], [`Costs`] and [`PlacementParams`], each given as `NAME=VALUE`.
pub fn set(
    params: &mut Params,
    costs: &mut Costs,
    placement: &mut PlacementParams,
    settings: &[String],
) -> Result<(), String> {
    for setting in settings {
        let (key, value) = setting
            .split_once('=')
            .ok_or_else(|| format!("{setting:?} is not NAME=VALUE"))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        let known = change(params, key, &value)?
            || change(costs, key, &value)?
            || change(placement, key, &value)?;
        if !known {
            return Err(format!(
                "{key:?} is not a policy parameter, placement parameter or cost (see docs/elvis-config.md)"
            ));
        }
    }
    Ok(())
}

/// Changes one field by its name. False if there is no such field.
fn change<T: Serialize + DeserializeOwned>(
    fields: &mut T,
    key: &str,
    value: &serde_json::Value,
) -> Result<bool, String> {
    let mut all = serde_json::to_value(&*fields).map_err(|error| error.to_string())?;
    let Some(field) = all.get_mut(key) else {
        return Ok(false);
    };
    field.clone_from(value);
    *fields = serde_json::from_value(all).map_err(|error| format!("{key}: {error}"))?;
    Ok(true)
}

/// Simulates the same load in several modes.
pub fn play(scenario: &Scenario, modes: &[Mode]) -> Result<Vec<Outcome>, String> {
    let one = |&mode: &Mode| {
        elvis_policy::simulation::simulate(&Scenario {
            mode,
            ..scenario.clone()
        })
        .map_err(|e| e.to_string())
    };
    modes.iter().map(one).collect()
}

/// Returns the outcomes as a table.
#[must_use]
pub fn table(outcomes: &[Outcome]) -> String {
    let us = |ns: u64| format!("{:.1}", ns as f64 / 1e3);
    let number = |head, wide| Column::number(head).wide(wide).after(1);
    let mut sheet = Sheet::new([
        Column::text("mode").wide(18),
        Column::text("devices").wide(24).after(1),
        number("number", 7),
        number("requests/s", 11),
        number("p50 us", 9),
        number("p99 us", 9),
        number("p99.9 us", 9),
        number("Jain", 6),
        number("kicks", 9),
    ]);
    for outcome in outcomes {
        for (row, group) in outcome.groups.iter().enumerate() {
            let (mode, kicks) = match row {
                0 => (outcome.mode.name(), outcome.kicks.to_string()),
                _ => ("", String::new()),
            };
            sheet.extend([[
                mode.to_owned(),
                group.name.chars().take(24).collect(),
                group.devices.to_string(),
                format!("{:.0}", group.per_s),
                us(group.p50_ns),
                us(group.p99_ns),
                us(group.p999_ns),
                format!("{:.3}", group.jain),
                kicks,
            ]]);
        }
        let cores = outcome.cores;
        let all = cores.serving_ns + cores.polling_ns + cores.overhead_ns + cores.asleep_ns;
        let share = |ns: u64| 100.0 * ns as f64 / all.max(1) as f64;
        let times = format!(
            "core time: {:.1} % serving, {:.1} % polling in vain, {:.1} % switching and \
             waking, {:.1} % asleep; {} calls, {} stuck exits; Jain of all {:.3}",
            share(cores.serving_ns),
            share(cores.polling_ns),
            share(cores.overhead_ns),
            share(cores.asleep_ns),
            outcome.calls,
            outcome.stuck_exits,
            outcome.jain,
        );
        sheet.span([String::new(), times]);
        if let Some(placement) = &outcome.placement {
            let cores = &placement.open_cores;
            let least = cores.iter().min().copied().unwrap_or(0);
            let most = cores.iter().max().copied().unwrap_or(0);
            let mean = cores.iter().sum::<usize>() as f64 / cores.len().max(1) as f64;
            let text = format!(
                "placement: {least} to {most} cores in use, {mean:.1} on average; {} opened, {} \
                 released; {} moves",
                placement.opened, placement.released, placement.moves,
            );
            sheet.span([String::new(), text]);
        }
    }
    sheet.to_terminal("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_settings() {
        let closed = group("devices=14,depth=8,think_us=50,name=vms").unwrap();
        assert_eq!(
            closed.arrival,
            Arrival::Closed {
                depth: 8,
                think_ns: 50_000
            }
        );
        assert_eq!((closed.devices, closed.name.as_str()), (14, "vms"));
        assert!(matches!(
            group("per_s=10").unwrap().arrival,
            Arrival::Open { .. }
        ));
        assert!(matches!(
            group("per_s=10,most_per_s=20,period_ms=5").unwrap().arrival,
            Arrival::Tide {
                period_ns: 5_000_000,
                ..
            }
        ));
        for wrong in [
            "",
            "depth",
            "depth=x",
            "depth=1,per_s=2",
            "speed=1",
            "most_per_s=1",
            "per_s=1,most_per_s=2,on_us=3",
        ] {
            assert!(group(wrong).is_err(), "{wrong}");
        }
        let (mut params, mut costs) = (Params::default(), Costs::default());
        let settings = ["stuck_rule=false", "wake_ns=5000", "high=0.9"].map(str::to_owned);
        let mut placement = PlacementParams::default();
        set(&mut params, &mut costs, &mut placement, &settings).unwrap();
        assert!(!params.stuck_rule && costs.wake_ns == 5000 && placement.high == 0.9);
        for wrong in ["speed=1", "max_work=much", "high=much"] {
            let wrong = [wrong.to_owned()];
            assert!(set(&mut params, &mut costs, &mut placement, &wrong).is_err());
        }
    }
}
