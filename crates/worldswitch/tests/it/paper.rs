//! Tests of `paper`: the list, the numbers of a figure, and the command that measures it.

use crate::common::{expect_code, stderr, text, valid, worldswitch};
use std::process::Output;

fn said(arguments: &[&str]) -> Output {
    worldswitch().arg("paper").args(arguments).output().unwrap()
}

fn printed(arguments: &[&str]) -> String {
    let output = said(arguments);
    expect_code(&output, 0);
    text(&output.stdout)
}

#[test]
fn the_five_papers_are_listed_each_with_its_commands() {
    let all = printed(&[]);
    for part in [
        "HyperBench: A Benchmark Suite",
        "ARM Virtualization Performance",
        "Nested Virtualization Extensions for ARM",
        "Efficient and Scalable Paravirtual I/O",
        "Performance overhead of KVM",
        "worldswitch run --suite dall2015",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let one = printed(&["neve"]);
    assert!(one.contains("worldswitch run nested") && !one.contains("dall2015"));
}

#[test]
fn a_wide_table_is_turned_and_notes_stand_below() {
    let table = printed(&["neve", "7"]);
    assert!(
        table.contains("126") && table.contains("section 7.1 says"),
        "{table}"
    );
    let text = printed(&["elvis", "4.3"]);
    assert!(
        text.contains("less than 800") && text.contains("An upper bound"),
        "{text}"
    );
}

#[test]
fn a_figure_as_json_has_its_numbers_and_its_command() {
    let value = valid(&printed(&["dall", "table 2", "--json"]), "papers");
    assert_eq!(value["papers"][0]["figures"].as_array().unwrap().len(), 1);
    assert_eq!(value["numbers"][0]["value"], 6500.0);
    assert_eq!(value["numbers"].as_array().unwrap().len(), 28);
    let all = valid(&printed(&["--json"]), "papers");
    assert_eq!(all["papers"].as_array().unwrap().len(), 5);
}

#[test]
fn the_command_of_a_figure_is_run_and_its_exit_code_is_passed_on() {
    // In a new user's home there is no lab: what is listed needs none.
    let output = said(&["hyperbench", "1", "--run"]);
    let (said, ran) = (stderr(&output), text(&output.stdout));
    assert!(said.contains("note: worldswitch benchmarks"), "{said}");
    let direct = worldswitch().args(["benchmarks"]).output().unwrap();
    assert_eq!(output.status.code(), direct.status.code());
    assert_eq!(ran, text(&direct.stdout));
}

#[test]
fn what_is_not_there_is_wrong_usage_and_says_what_is() {
    let cases: [(&[&str], &str); 5] = [
        (&["nonsense"], "choose one of hyperbench-2019, dall-2015"),
        (&["dall", "77"], "choose one of figure 4, table 1"),
        (&["dall", "table 1", "--run"], "no command measures table 1"),
        (&["dall", "--run"], "<FIGURE>"),
        (&["dall", "2", "--run", "--json"], "cannot be used with"),
    ];
    for (arguments, part) in cases {
        let output = said(arguments);
        expect_code(&output, 2);
        let said = stderr(&output);
        assert!(said.contains(part), "{arguments:?}: {said}");
    }
}
