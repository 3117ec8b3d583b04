use super::*;
use proptest::prelude::*;

const SMALL: &str = "name = \"x\"\nfolder = \"f\"\nmachines = [\"lab:kvm\"]\n";

fn parse(more: &str) -> Result<Campaign, String> {
    let parsed = Campaign::parse(&format!("{SMALL}{more}"), Path::new("/a/x.toml"));
    parsed.map_err(|e| e.to_string())
}

#[test]
fn a_small_file_has_the_rest_by_default() {
    let campaign = parse("").unwrap();
    assert_eq!(campaign.folder, Path::new("/a/f"));
    assert_eq!(
        (campaign.boots, campaign.perturb, campaign.proof),
        (2, 1, true)
    );
    assert_eq!(campaign.cells, Cells::Machine);
    assert!(campaign.kernels.is_empty() && campaign.slurm.carry);
}

#[test]
fn a_history_is_a_file_or_a_server() {
    let history = |text: &str| parse(&format!("history = \"{text}\"")).unwrap().history;
    assert_eq!(history("h.sqlite").unwrap(), "/a/h.sqlite");
    assert_eq!(history("postgresql://u@h/d").unwrap(), "postgresql://u@h/d");
    assert!(
        parse("post = true\nhistory = \"postgresql://u@h:5432/d\"")
            .unwrap()
            .post
    );
}

#[test]
fn kernels_are_of_three_kinds() {
    let kernels = "[[kernel]]\npackage = \"6.12\"\n[[kernel]]\nbuilt = \"/k\"\n[[kernel]]\ntree = \"linux\"\ncommits = \"a..b\"\nevery = 3\n[[kernel]]\ntree = \"/l\"\ncommits = [\"a\", \"b\"]\n";
    let campaign = parse(kernels).unwrap();
    let [
        Kernel::Package(_),
        Kernel::Built(_),
        Kernel::Tree(tree),
        Kernel::Tree(list),
    ] = &campaign.kernels[..]
    else {
        panic!("{:?}", campaign.kernels)
    };
    assert_eq!(
        (tree.tree.as_path(), tree.every),
        (Path::new("/a/linux"), 3)
    );
    assert_eq!(list.commits, Commits::List(vec!["a".into(), "b".into()]));
}

#[test]
fn what_is_wrong_is_named_with_its_field() {
    for (more, field) in [
        ("boots = 0", "boots: must be 1"),
        ("boots = \"x\"", "boots: "),
        ("bots = 1", "bots"),
        ("[slurm]\ncpus = -1", "slurm.cpus"),
        ("[slurm]\npartitoin = \"x\"", "partitoin"),
        ("[slurm]\ncache = \"x\"", "slurm.cache"),
        ("[slurm.build]\ncpus = 0", "slurm.build.cpus"),
        (
            "benchmarks = [\"in\", \"in\"]",
            "benchmarks: \"in\" is named twice",
        ),
        ("hosts = [\"-x\"]", "hosts: \"-x\""),
        ("cells = \"row\"", "cells"),
        ("samples = 0", "samples"),
        ("[budget]\ncore_hours = 0", "budget"),
        ("[[kernel]]\npackage = \"--x\"", "kernel[0]: package"),
        (
            "[[kernel]]\ntree = \"x\"\ncommits = []",
            "kernel[0]: commits",
        ),
        ("[[kernel]]\ntre = \"x\"", "kernel"),
        (
            "cells = \"benchmark\"\npost = true\nhistory = \"postgresql://u@h:5432/d\"",
            "post needs cells",
        ),
    ] {
        let error = parse(more).unwrap_err();
        assert!(
            error.starts_with("/a/x.toml: ") && error.contains(field),
            "{more}: {error}"
        );
    }
    let missing = Campaign::parse("name = \"x\"", Path::new("x")).unwrap_err();
    assert!(missing.to_string().contains("folder"), "{missing}");
}

proptest! {
    #[test]
    fn no_text_makes_it_stumble(text in "[a-z\\[\\]={}\"\n., 0-9-]{0,80}") {
        let _ = parse(&text);
    }
}

#[test]
fn nodes_post_to_a_server_by_an_address_without_a_password() {
    for (history, said) in [
        ("", "it needs history"),
        ("h.sqlite", "it needs history"),
        ("mysql://u@h/d", "it needs history"),
        (
            "postgresql://u:p@h/d",
            "the shared folder keeps the history's address",
        ),
        (
            "postgresql://u@h/d?port=1&password=p",
            "the shared folder keeps the history's address",
        ),
        (
            "postgresql://u@h/d?pass%77ord=p",
            "the shared folder keeps the history's address",
        ),
        (
            "postgresql://u@h/d?port=x",
            "the address of the database is wrong",
        ),
    ] {
        let error = must_take_posts(history).unwrap_err();
        assert!(error.starts_with(said), "{history}: {error}");
    }
    assert_eq!(must_take_posts("postgresql://u@h:5432/d"), Ok(()));
}
