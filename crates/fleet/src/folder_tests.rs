use super::*;
use crate::campaign::Campaign;
use crate::cell::Cell;
use crate::digits::Digits;

fn key() -> Key {
    Cell {
        machine: "m".into(),
        rows: vec!["in".into()],
        boots: 1,
        perturb: 0,
        samples: None,
    }
    .key()
}

fn run(node: &str, job: &str) -> Run {
    Run {
        schema: run::SCHEMA.into(),
        campaign: "x".into(),
        node: node.into(),
        job: job.into(),
        at: "2026-01-31T12:00:00Z".into(),
        seconds: 1.0,
        boots: 1,
        rows: 1,
        without_figure: Vec::new(),
        digits: Some(Digits::default()),
        result: "lab-native.json".into(),
    }
}

fn submission(number: u32) -> Submission {
    let text = "name = \"x\"\nfolder = \"/f\"\nmachines = [\"lab:native\"]";
    Submission {
        schema: submission::SCHEMA.into(),
        number,
        created: String::new(),
        campaign: Campaign::parse(text, Path::new("/x.toml")).unwrap(),
        tasks: Vec::new(),
        proof: None,
        builds: Vec::new(),
        carried: None,
        parts: Vec::new(),
    }
}

fn publish(folder: &Folder, node: &str, job: &str) {
    let made = folder.workshop(&key(), None).unwrap();
    fs::write(made.path().join("lab-native.json"), "{}").unwrap();
    folder.publish(&key(), &made, &run(node, job)).unwrap();
}

#[test]
fn a_run_appears_whole_and_once() {
    let shared = tempfile::tempdir().unwrap();
    let folder = Folder::at(shared.path());
    assert!(folder.runs().unwrap().is_empty());
    let made = folder.workshop(&key(), None).unwrap();
    fs::write(made.path().join("lab-native.json"), "{}").unwrap();
    assert!(folder.runs().unwrap().is_empty(), "not yet");
    folder.publish(&key(), &made, &run("n1", "7_0")).unwrap();
    publish(&folder, "n1", "7_0");
    let runs = folder.runs().unwrap();
    assert_eq!(runs.len(), 1, "the same job again");
    assert!(runs[0].result().is_file() && !runs[0].apart);
    publish(&folder, "n2", "7_1");
    assert_eq!(folder.runs().unwrap().len(), 2);
    let left = fs::read_dir(shared.path().join("cells").join(key().to_string())).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["runs"], "no workshop is left");
}

#[test]
fn what_a_killed_task_left_is_removed_by_the_next_one() {
    let shared = tempfile::tempdir().unwrap();
    let folder = Folder::at(shared.path());
    let count = || {
        let cell = shared.path().join("cells").join(key().to_string());
        fs::read_dir(cell).unwrap().count()
    };
    let killed = |node| {
        let _ = folder.workshop(&key(), node).unwrap().keep();
    };
    killed(None);
    killed(Some("n1"));
    killed(Some("n1-2"));
    assert_eq!(count(), 3);
    drop(folder.workshop(&key(), None).unwrap());
    assert_eq!(count(), 2, "those of nodes' proofs stay");
    drop(folder.workshop(&key(), Some("n1")).unwrap());
    assert_eq!(count(), 1, "another node's stays");
}

#[test]
fn a_run_goes_apart_and_back() {
    let shared = tempfile::tempdir().unwrap();
    let folder = Folder::at(shared.path());
    publish(&folder, "n1", "7_0");
    let places = || {
        let runs = folder.runs().unwrap();
        runs.iter().map(|run| run.apart).collect::<Vec<_>>()
    };
    folder.set_apart(&folder.runs().unwrap()[0], true).unwrap();
    assert_eq!(places(), [true]);
    folder.set_apart(&folder.runs().unwrap()[0], false).unwrap();
    assert_eq!(places(), [false]);
    let seen = folder.runs().unwrap();
    folder.set_apart(&seen[0], true).unwrap();
    folder.set_apart(&seen[0], true).unwrap();
    assert_eq!(places(), [true], "another one was faster");
    folder.forget(&folder.runs().unwrap()[0]).unwrap();
    assert!(places().is_empty());
}

#[test]
fn two_who_submit_at_once_get_two_numbers() {
    let shared = tempfile::tempdir().unwrap();
    let folder = Folder::at(shared.path());
    folder.make().unwrap();
    let numbers = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| folder.submit(submission).unwrap().number))
            .collect();
        let mut numbers: Vec<u32> = threads.into_iter().map(|one| one.join().unwrap()).collect();
        numbers.sort_unstable();
        numbers
    });
    assert_eq!(numbers, [1, 2, 3, 4]);
    let read = folder.submissions().unwrap();
    assert_eq!(read, [1, 2, 3, 4].map(submission));
}

#[test]
fn a_lock_ends_with_its_holder() {
    let shared = tempfile::tempdir().unwrap();
    let folder = Folder::at(shared.path());
    let lock = |node| folder.lock_cell(&key(), node).unwrap();
    let held = lock(None);
    assert!(held.is_some() && lock(None).is_none());
    assert!(lock(Some("n1")).is_some(), "a node's is another one");
    drop(held);
    assert!(lock(None).is_some());
}

#[test]
fn damage_and_other_versions_are_named() {
    let shared = tempfile::tempdir().unwrap();
    let folder = Folder::at(shared.path());
    publish(&folder, "n1", "7_0");
    let file = folder.runs().unwrap()[0].path.join("run.json");
    let mut other = run("n1", "7_0");
    other.schema = "worldswitch-fleet-run/2".into();
    fs::write(&file, serde_json::to_string(&other).unwrap()).unwrap();
    let error = folder.runs().unwrap_err().to_string();
    assert!(
        error.contains("run/2") && error.contains("run.json"),
        "{error}"
    );
    fs::write(&file, "{").unwrap();
    assert!(folder.runs().unwrap_err().to_string().contains("damaged"));
}

#[test]
fn why_a_task_failed_last_is_kept() {
    let shared = tempfile::tempdir().unwrap();
    let folder = Folder::at(shared.path());
    assert_eq!(folder.failure("t"), None);
    folder.fail("t", "n1", "7_0", "it died\n").unwrap();
    assert_eq!(
        folder.failure("t"),
        Some(("n1-7_0".into(), "it died".into()))
    );
}

#[test]
fn a_kernel_is_built_whole_or_failed() {
    let shared = tempfile::tempdir().unwrap();
    let folder = Folder::at(&shared.path().join("f"));
    assert_eq!(folder.built("k"), Built::No);
    folder.kernel_failed("k", "no compiler\n").unwrap();
    assert_eq!(folder.built("k"), Built::Failed("no compiler".into()));
    let image = shared.path().join("bzImage");
    fs::write(&image, "x").unwrap();
    folder
        .keep_kernel("k", std::slice::from_ref(&image))
        .unwrap();
    folder.keep_kernel("k", &[image]).unwrap();
    assert_eq!(folder.built("k"), Built::Yes);
    assert_eq!(fs::read(folder.kernel("k").join("bzImage")).unwrap(), b"x");
}

#[test]
fn no_name_of_a_node_leaves_its_folder() {
    assert_eq!(file_name(&["../x", "1_2"]), "_x-1_2");
    assert_eq!(file_name(&["a/b", ""]), "a_b-");
}
