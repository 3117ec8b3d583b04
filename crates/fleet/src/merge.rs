//! Joins results of one platform that were measured in cells of their own, as one result file.

use ws_results::{Boot, Identity, ResultFile};

/// Joins the results of each platform, in the order of the first of each. Only results of the same machine are joined;
/// others stay several results of one platform.
pub fn by_platform(results: Vec<ResultFile>) -> Vec<ResultFile> {
    let mut joined: Vec<ResultFile> = Vec::new();
    for result in results {
        let has_new_rows = |other: &ResultFile| {
            result
                .rows
                .iter()
                .all(|row| other.row(&row.benchmark).is_none())
        };
        let like = |other: &&mut ResultFile| {
            let is_machine = is_same(&other.identity, &result.identity);
            other.platform == result.platform && is_machine && has_new_rows(other)
        };
        match joined.iter_mut().find(like) {
            Some(other) => join(other, result),
            None => joined.push(result),
        }
    }
    joined
}

/// Whether two results are of the same machine. A digest covers all of a machine that matters; paths on its node do
/// not.
fn is_same(a: &Identity, b: &Identity) -> bool {
    let digest = |identity: &Identity| identity.subject.get("machine_digest").cloned();
    let is_subject = match (digest(a), digest(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a.subject == b.subject,
    };
    a.conditions == b.conditions && is_subject
}

/// Adds another result's launches and rows. Launches of boots with the same number and perturbation follow each other;
/// other boots get new numbers.
fn join(result: &mut ResultFile, other: ResultFile) {
    result.created = result.created.clone().min(other.created);
    result.interrupted |= other.interrupted;
    // For each boot of `other`: its number there, its number here, and the offset of its launches' indices.
    let mut places = Vec::new();
    // A boot of `other` that got a free number is not a place for another one of `other` with this number.
    let own = result.boots.len();
    for boot in other.boots {
        let number = boot.boot;
        let like = |there: &&mut Boot| there.boot == number && there.perturbed == boot.perturbed;
        let place = match result.boots[..own].iter_mut().find(like) {
            Some(there) => {
                let offset = u32::try_from(there.launches.len()).unwrap_or(u32::MAX);
                there.launches.extend(boot.launches);
                (there.boot, offset)
            }
            None => {
                let free = result.boots.iter().map(|boot| boot.boot).max().unwrap_or(0) + 1;
                let boot = Boot { boot: free, ..boot };
                result.boots.push(boot);
                (free, 0)
            }
        };
        places.push((number, place));
    }
    let place = |number: u32| {
        let found = places.iter().find(|(old, _)| *old == number);
        found.map_or((number, 0), |(_, place)| *place)
    };
    for mut row in other.rows {
        for outcome in &mut row.outcomes {
            outcome.boot = place(outcome.boot).0;
        }
        for samples in row.metrics.iter_mut().flat_map(|metric| &mut metric.boots) {
            let (boot, offset) = place(samples.boot);
            samples.boot = boot;
            samples.launch = samples.launch.saturating_add(offset);
        }
        for view in &mut row.host {
            let (boot, offset) = place(view.boot);
            view.boot = boot;
            view.launch = view.launch.saturating_add(offset);
        }
        result.rows.push(row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ws_results::{Identity, Launch, Outcome, Perturbation, Row, Samples, Status};

    fn launch(asked: &str) -> Launch {
        Launch::ended("1", vec![asked.into()])
    }

    fn result(platform: &str, bench: &str, perturbed: bool) -> ResultFile {
        let pad = Perturbation {
            pad: Some(1),
            memory_mib: None,
        };
        let mut row = Row::new(bench, "io");
        row.status = Status::Ok;
        for boot in 1..=2 {
            row.outcomes.push(Outcome {
                boot,
                status: Status::Ok,
                reason: None,
                check: None,
                external: None,
            });
            let samples = Samples {
                boot,
                iterations: 1,
                run: vec![2],
                control: vec![1],
                ..Samples::default()
            };
            row.add("cost", "insns", samples);
        }
        let boot = |boot| Boot {
            boot,
            launches: vec![launch(bench)],
            perturbed: (perturbed && boot == 2).then_some(pad),
        };
        ResultFile {
            schema: ws_results::SCHEMA.into(),
            created: format!("2026-01-31T12:00:0{}Z", bench.len()),
            tool: String::new(),
            command: Vec::new(),
            platform: platform.into(),
            position: None,
            identity: Identity::default(),
            disturbances: None,
            interrupted: false,
            boots: vec![boot(1), boot(2)],
            rows: vec![row],
        }
    }

    #[test]
    fn rows_of_one_machine_are_joined() {
        let all = vec![
            result("a", "in", true),
            result("b", "in", true),
            result("a", "out", true),
        ];
        let joined = by_platform(all);
        assert_eq!(joined.len(), 2);
        let a = &joined[0];
        assert_eq!(a.created, "2026-01-31T12:00:02Z", "the earliest");
        assert_eq!(a.boots.len(), 2);
        let asked: Vec<&str> = a.boots[0]
            .launches
            .iter()
            .map(|one| &*one.asked[0])
            .collect();
        assert_eq!(asked, ["in", "out"]);
        let samples = &a.row("out").unwrap().metrics[0].boots;
        assert_eq!(
            (samples[0].boot, samples[0].launch, samples[1].launch),
            (1, 1, 1)
        );
    }

    #[test]
    fn boots_that_differ_stay_apart() {
        let joined = by_platform(vec![result("a", "in", true), result("a", "out", false)]);
        let a = &joined[0];
        let boots: Vec<(u32, bool)> = a
            .boots
            .iter()
            .map(|b| (b.boot, b.perturbed.is_some()))
            .collect();
        assert_eq!(boots, [(1, false), (2, true), (3, false)]);
        let samples = &a.row("out").unwrap().metrics[0].boots;
        assert_eq!((samples[1].boot, samples[1].launch), (3, 0));
        assert_eq!(a.row("out").unwrap().outcomes[1].boot, 3);
    }

    #[test]
    fn each_boot_of_a_longer_result_has_a_place_of_its_own() {
        let mut longer = result("a", "out", true);
        let first = longer.boots[0].clone();
        let perturbed = longer.boots.pop().unwrap();
        longer.boots.extend((2..=3).map(|boot| Boot {
            boot,
            ..first.clone()
        }));
        longer.boots.push(Boot {
            boot: 4,
            ..perturbed
        });
        let joined = by_platform(vec![result("a", "in", true), longer]);
        let boots = joined[0].boots.iter();
        let boots: Vec<(u32, usize)> = boots.map(|b| (b.boot, b.launches.len())).collect();
        assert_eq!(boots, [(1, 2), (2, 1), (3, 1), (4, 1), (5, 1)]);
    }

    #[test]
    fn another_machine_or_the_same_row_is_another_result() {
        let mut other = result("a", "out", true);
        other
            .identity
            .subject
            .insert("machine_digest".into(), "x".into());
        let twice = result("a", "in", true);
        assert_eq!(
            by_platform(vec![result("a", "in", true), other, twice]).len(),
            3
        );
    }

    #[test]
    fn a_path_on_a_node_makes_no_other_machine() {
        let on = |bench: &str, node: &str| {
            let mut result = result("a", bench, true);
            let subject = &mut result.identity.subject;
            subject.insert("machine_digest".into(), "x".into());
            subject.insert("emulator_path".into(), node.into());
            result
        };
        assert_eq!(by_platform(vec![on("in", "n1"), on("out", "n2")]).len(), 1);
    }

    #[test]
    fn what_is_joined_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let joined = by_platform(vec![result("a", "in", true), result("a", "out", false)]);
        let path = ws_results::write_into(folder.path(), &joined[0]).unwrap();
        assert_eq!(ws_results::read_file(&path).unwrap(), joined[0]);
    }
}
