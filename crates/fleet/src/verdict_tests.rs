use super::*;
use crate::cell::Cell;
use proptest::prelude::*;

fn key(cell: &str) -> Key {
    Cell {
        machine: cell.to_owned(),
        rows: Vec::new(),
        boots: 1,
        perturb: 0,
        samples: None,
    }
    .key()
}

fn vote(cell: &str, node: &str, digit: &str) -> Vote {
    Vote {
        cell: key(cell),
        node: node.to_owned(),
        digits: Digits::made_up("in", digit),
    }
}

/// `CELL NODE DIGIT` each, and who is doubted: `NODE!` odd, `NODE?` disputed.
fn judged(votes: &[&str]) -> String {
    let votes = votes.iter().map(|text| {
        let words: Vec<&str> = text.split(' ').collect();
        vote(words[0], words[1], words[2])
    });
    let doubts = judge(&votes.collect::<Vec<_>>());
    let doubts = doubts.iter().map(|(node, doubt)| match doubt.standing {
        Standing::Odd => format!("{node}!"),
        Standing::Disputed => format!("{node}?"),
    });
    doubts.collect::<Vec<_>>().join(" ")
}

#[test]
fn nodes_that_agree_are_trusted() {
    assert_eq!(judged(&[]), "");
    assert_eq!(judged(&["a n1 1", "a n2 1", "b n1 2"]), "");
    assert_eq!(judged(&["a n1 1", "a n1 1"]), "", "the same node twice");
}

#[test]
fn the_majority_is_right() {
    assert_eq!(judged(&["a n1 1", "a n2 1", "a n3 2"]), "n3!");
    assert_eq!(judged(&["a n1 2", "a n2 1", "a n3 1", "a n4 1"]), "n1!");
}

#[test]
fn half_is_no_majority() {
    assert_eq!(judged(&["a n1 1", "a n2 2"]), "n1? n2?");
    assert_eq!(judged(&["a n1 1", "a n2 2", "a n3 3"]), "n1? n2? n3?");
    assert_eq!(
        judged(&["a n1 2", "a n2 1", "a n3 1", "a n4 3"]),
        "n1? n2? n3? n4?"
    );
    assert_eq!(
        judged(&["a n1 1", "a n2 1", "a n3 2", "a n4 2"]),
        "n1? n2? n3? n4?"
    );
}

#[test]
fn a_node_that_contradicts_itself_is_odd_and_has_no_vote() {
    assert_eq!(judged(&["a n1 1", "a n1 2"]), "n1!");
    assert_eq!(
        judged(&["a n1 1", "a n1 2", "a n2 1", "a n3 3"]),
        "n1! n2? n3?"
    );
    assert_eq!(judged(&["a n1 1", "a n1 2", "b n1 5", "b n2 6"]), "n1!");
}

#[test]
fn a_dispute_with_an_odd_node_is_none() {
    assert_eq!(
        judged(&["a n1 1", "a n2 1", "a n3 2", "b n1 1", "b n3 2"]),
        "n3!"
    );
    // Without n4, who is odd by cell a, n3 alone differs in cell b.
    let votes = [
        "a n1 1", "a n2 1", "a n4 2", "b n1 1", "b n2 1", "b n3 2", "b n4 2",
    ];
    assert_eq!(judged(&votes), "n3! n4!");
}

#[test]
fn what_differs_and_from_whom_is_told() {
    let doubts = judge(&[
        vote("a", "n1", "1"),
        vote("a", "n2", "1"),
        vote("a", "n3", "2"),
    ]);
    let doubt = &doubts["n3"];
    assert_eq!(
        (doubt.rows.join(" "), doubt.against.join(" ")),
        ("in".into(), "n1 n2".into())
    );
    assert_eq!(doubt.cell, key("a"));
    let own = judge(&[vote("a", "n1", "1"), vote("a", "n1", "2")]);
    assert_eq!(
        (own["n1"].against.join(" "), own["n1"].rows.join(" ")),
        ("n1".into(), "in".into())
    );
}

fn votes() -> impl Strategy<Value = Vec<Vote>> {
    let one = ("[ab]", "[n-q]", "[12]");
    let one = one.prop_map(|(cell, node, digit)| vote(&cell, &node, &digit));
    prop::collection::vec(one, 0..12)
}

proptest! {
    #[test]
    fn neither_order_nor_repetition_matters(votes in votes(), by in 0usize..12) {
        let mut turned = votes.clone();
        turned.rotate_left(by.min(votes.len()));
        turned.extend(votes.first().cloned());
        prop_assert_eq!(judge(&votes), judge(&turned));
    }

    #[test]
    fn of_nodes_that_are_left_no_two_differ(votes in votes()) {
        let doubts = judge(&votes);
        let trusted = votes.iter().filter(|vote| !doubts.contains_key(&vote.node));
        let mut seen = BTreeMap::new();
        for vote in trusted {
            prop_assert_eq!(seen.entry(&vote.cell).or_insert(&vote.digits), &&vote.digits);
        }
    }

    #[test]
    fn one_wrong_node_among_three_is_found(cells in 1usize..4, wrong in 0usize..3) {
        let nodes = ["n1", "n2", "n3"];
        let cells: Vec<String> = (0..cells).map(|cell| cell.to_string()).collect();
        let all = cells.iter().flat_map(|cell| nodes.iter().enumerate().map(move |(at, node)| {
            vote(cell, node, if at == wrong { "2" } else { "1" })
        }));
        let doubts = judge(&all.collect::<Vec<_>>());
        prop_assert_eq!(doubts.keys().collect::<Vec<_>>(), [nodes[wrong]]);
        prop_assert_eq!(doubts[nodes[wrong]].standing, Standing::Odd);
    }
}
