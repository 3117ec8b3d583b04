//! Tests of the view of placements.

use crate::page::{opening, page, section};
use crate::support::{absent, house, measured, result};
use serde_json::json;
use ws_report::Placement;
use ws_results::place::{PlaceKind, PlaceRow, Places, Side, Spot};
use ws_results::{ResultFile, Row, Status};

fn places(host: Spot, vm: Spot) -> Places {
    Places { host, vm }
}

/// A row that takes so many ns a unit, in three boots.
fn row(row: &PlaceRow, ns: u64) -> Row {
    let mut row = measured(&row.name(), "application", "ns", &[&[ns], &[ns], &[ns]]);
    row.work = Some("MiB".into());
    row
}

/// Both sides alone take 1 and 2 ms a MiB; together so much longer, in percent.
fn cell(kind: PlaceKind, places: &Places, host: u64, guest: u64) -> Vec<Row> {
    [
        (Side::Host, 1_000_000, host),
        (Side::Guest, 2_000_000, guest),
    ]
    .into_iter()
    .flat_map(|(side, alone, percent)| {
        [
            row(&PlaceRow::alone(kind, side, places), alone),
            row(&PlaceRow::both(kind, side, places), alone / 100 * percent),
        ]
    })
    .collect()
}

fn three(platform: &str) -> ResultFile {
    let of = |host: &str, vm: &str| places(Spot::of(host), Spot::of(vm));
    let kind = PlaceKind::NetSelf;
    let mut rows = cell(kind, &of("0", "1"), 100, 125);
    rows.extend(cell(kind, &of("0", "0"), 200, 400));
    let apart = places(Spot::apart("0", "1"), Spot::of("1"));
    rows.extend(cell(kind, &apart, 125, 160));
    let cpu = of("0", "1");
    rows.extend(cell(PlaceKind::DiskCached, &cpu, 100, 100));
    rows.dedup_by(|a, b| a.benchmark == b.benchmark);
    result(platform, 1, json!({"unit": "ns"}), rows)
}

fn placement(results: &[ResultFile]) -> Placement {
    Placement::of(results, &ws_report::reference::load().unwrap())
}

#[test]
fn speeds_are_related_to_each_side_alone() {
    let results = [three("qemu-tcg")];
    assert!(Placement::concerns(&results) && !Placement::concerns(&house()));
    let placement = placement(&results);
    let kinds: Vec<&str> = placement.kinds.iter().map(|kind| kind.kind).collect();
    assert_eq!(kinds, ["net-self", "disk-cached"]);
    let cells = &placement.kinds[0].cells;
    let shown = cells.iter().map(|cell| {
        let at = &cell.at;
        (
            format!("{}{:?}/{}", at.host_cpus, at.receiver_cpus, at.vm_cpus),
            [cell.host_kept, cell.guest_kept],
            cell.published.is_some(),
        )
    });
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [
            ("0None/0".to_owned(), [Some(0.5), Some(0.25)], true),
            ("0None/1".to_owned(), [Some(1.0), Some(0.8)], true),
            ("0Some(\"1\")/1".to_owned(), [Some(0.8), Some(0.625)], false),
        ]
    );
    assert_eq!(cells[1].alone.host_per_s, Some(1000.0));
    assert_eq!(cells[1].alone.guest_of_host, Some(0.5));
    assert_eq!(placement.kinds[1].published_guest_of_host, Some(0.93));
}

#[test]
fn the_table_has_the_papers_ratios_and_names_the_best_and_the_worst_placement() {
    let text = placement(&[three("qemu-tcg")]).to_terminal();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "net-self on qemu-tcg: MiB a second");
    let words: Vec<&str> = lines[3].split_whitespace().collect();
    assert_eq!(
        words,
        [
            "0",
            "1",
            "1,000",
            "500",
            "0.50",
            "0.66",
            "1,000",
            "400",
            "0.40",
            "1.00",
            "1.00",
            "0.80",
            "1.00-1.00",
            "0.80-0.80",
            "0.60",
            "0.90"
        ]
    );
    assert!(lines[4].starts_with("0>1       1 "), "{text}");
    assert_eq!(
        lines[5],
        "Together both keep most with host on CPU 0, VM on CPU 1 (the host keeps 100 %, the VM 80 %), and least with \
         host on CPU 0, VM on CPU 0 (the host keeps 50 %, the VM 25 %)."
    );
    assert!(text.contains("The paper: disk, cached reads, vbox: 825 MB/s"));
    assert!(text.contains("qemu-tcg is an emulator"));
    let hardware = placement(&[three("qemu-kvm")]).to_markdown();
    assert!(hardware.contains("### net-self on qemu-kvm") && !hardware.contains("emulator"));
}

/// Net-self at two placements, with these times of the VM while both work.
fn two(times: [&[u64]; 2]) -> String {
    let kind = PlaceKind::NetSelf;
    let rows = ["0", "1"].into_iter().zip(times).flat_map(|(vm, times)| {
        let places = places(Spot::of("0"), Spot::of(vm));
        let mut rows = cell(kind, &places, 100, 100);
        let both = PlaceRow::both(kind, Side::Guest, &places).name();
        let boots: Vec<&[u64]> = times.chunks(1).collect();
        let timed = rows.iter_mut().find(|row| row.benchmark == both).unwrap();
        *timed = measured(&both, "application", "ns", &boots);
        rows
    });
    let mut rows: Vec<Row> = rows.collect();
    rows.sort_by(|a, b| a.benchmark.cmp(&b.benchmark));
    rows.dedup_by(|a, b| a.benchmark == b.benchmark);
    placement(&[result("qemu-kvm", 3, json!({"unit": "ns"}), rows)]).to_terminal()
}

#[test]
fn a_placement_is_the_best_one_only_if_boots_agree() {
    let ms = |ms: [u64; 3]| ms.map(|ms| ms * 1_000_000);
    let apart = two([&ms([4, 5, 4]), &ms([2, 2, 3])]);
    assert!(apart.contains("Together both keep most"), "{apart}");
    let mixed = two([&ms([2, 9, 4]), &ms([2, 2, 3])]);
    assert!(
        mixed.contains("Boots differ by more than placements"),
        "{mixed}"
    );
    let few = two([&ms([4, 5, 4])[..2], &ms([2, 2, 3])[..2]]);
    assert!(few.contains("needs three boots"), "{few}");
    assert!(!few.contains("Together") && !mixed.contains("Together"));
}

#[test]
fn a_reason_stands_once_below_the_table() {
    let kind = PlaceKind::Cpu;
    let spots = ["0", "1", "2", "3"];
    let all: Vec<Places> = spots.map(|vm| places(Spot::of("0"), Spot::of(vm))).into();
    let rows = |count: usize| {
        let of = |places: &Places| {
            [Side::Host, Side::Guest].map(|side| {
                let name = PlaceRow::both(kind, side, places).name();
                absent(&name, "application", Status::Skip, "the VM ended <early>")
            })
        };
        let rows = all.iter().take(count).flat_map(of).collect();
        result("qemu-kvm", 1, json!({"unit": "ns"}), rows)
    };
    let text = placement(&[rows(2)]).to_terminal();
    assert_eq!(text.matches("the VM ended").count(), 1, "{text}");
    assert!(text.contains("host 0, VM 0; host 0, VM 1: the VM ended <early>"));
    assert!(!text.contains("Together"));
    let text = placement(&[rows(4)]).to_terminal();
    assert!(text.contains("4 placements: the VM ended"), "{text}");
}

#[test]
fn the_page_opens_with_the_sentence_and_has_heat_maps_beside_the_papers() {
    let results = [three("qemu-tcg")];
    let page = page(&results);
    let opening = opening(&page);
    assert!(
        opening.contains("<h1>net-self: Together both keep most with host on CPU 0, VM on CPU 1")
    );
    // What both keep, and the paper's; in words too.
    assert_eq!(opening.matches("<figure class=\"heat").count(), 2);
    assert!(opening.contains("; host CPU 0, VM CPU 1: host 100 %, VM 80 %"));
    assert!(opening.contains("; host CPU 0, VM CPU 1: host 60 %, VM 90 %"));
    let view = section(&page, "place");
    // Four tables of speeds of each kind, and four of the paper's; the best has the full colour.
    assert_eq!(
        view.matches("<table><caption>h").count() + view.matches("<table><caption>VM").count(),
        8 + 4
    );
    assert!(view.contains("style=\"--share:55%\">1,000</td>"));
    assert!(view.contains(">77.4</td>") && view.contains(">51.3</td>"));
    assert!(view.contains("disk-cached on qemu-tcg"));
    // The paper has no cells of it.
    assert_eq!(view.matches("<figure class=\"heat").count(), 1);
    // They are no applications.
    assert!(!page.contains("<section id=\"apps\">"));
}
