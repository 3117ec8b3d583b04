//! An estimate in cycles, as text: counts, prices and cycles by class, the instructions without a price, and published
//! measurements.

use crate::explained::Explained;
use crate::prices::{Access, Cycles, Item, Other, Price};
use crate::reckoning::{Reckoned, Reckoning};
use crate::registers::Class;
use std::fmt::Write;
use ws_text::number::{grouped, share};
use ws_text::{Column, Sheet};

/// A hypercall's instructions in KVM without VHE and in Xen: `run --suite dall2015` on the lab's default kernels
/// (README.md).
const KVM_INSNS: i64 = 1533;
const XEN_INSNS: i64 = 526;

impl Explained {
    /// Returns the estimate as text; empty if no prices were given.
    pub(super) fn reckoning_text(&self) -> String {
        let Some(reckoning) = &self.reckoning else {
            return String::new();
        };
        let names = reckoning.prices.join(", ");
        let mut text = format!(
            "Estimated in cycles: counts of this run times the prices of {names}; not measured\n"
        );
        let number = |head, wide| Column::number(head).wide(wide).after(1);
        let mut sheet = Sheet::new([
            Column::text("").wide(20),
            number("read", 7),
            number("each", 9),
            number("written", 7),
            number("each", 9),
            number("cycles", 12),
        ]);
        let pairs = reckoning.lines.chunks(2);
        sheet.extend(pairs.filter_map(|pair| match pair {
            [first, second] => Some(cells(first, second)),
            _ => None,
        }));
        let is_whole = reckoning.lines.iter().all(|line| line.count.is_some());
        let sum = range(reckoning.cycles);
        let sum = if is_whole { sum } else { format!("> {sum}") };
        let mut last = [const { String::new() }; 6];
        (last[0], last[5]) = ("sum".to_owned(), sum);
        sheet.extend([last]);
        text += &sheet.to_terminal("");
        let share = share(reckoning.unpriced as i64, reckoning.instructions as i64);
        let _ = writeln!(
            text,
            "{} of {} instructions outside of the guest ({share}) have no price and are not in the sum.",
            grouped(reckoning.unpriced as i64),
            grouped(reckoning.instructions as i64),
        );
        text += &published(reckoning, &self.benchmark);
        if self.benchmark == "hypercall" {
            text += &why(reckoning);
        }
        text
    }
}

fn cells(first: &Reckoned, second: &Reckoned) -> [String; 6] {
    let each = |line: &Reckoned| line.price.map_or_else(|| "-".to_owned(), each);
    let mut cycles = Cycles::default();
    for line in [first, second] {
        cycles += line.cycles.unwrap_or_default();
    }
    let has_price = |line: &Reckoned| line.price.is_some() || line.count == Some(0);
    let count = |line: &Reckoned| {
        let count = line.count.map(|count| grouped(count as i64));
        count.unwrap_or_else(|| "?".to_owned())
    };
    let is_known = first.count.is_some() && second.count.is_some();
    let cycles = match (first.cycles, second.cycles) {
        _ if !is_known => "not known".to_owned(),
        (None, None) => "no price".to_owned(),
        _ if !has_price(first) || !has_price(second) => format!("> {}", range(cycles)),
        _ => range(cycles),
    };
    [
        first.item.to_string(),
        count(first),
        each(first),
        count(second),
        each(second),
        cycles,
    ]
}

fn each(price: Price) -> String {
    let one = |cycles: u64| {
        let each = cycles as f64 / price.accesses as f64;
        match price.accesses {
            1 => format!("{each:.0}"),
            _ => format!("{each:.1}"),
        }
    };
    let Cycles { from, to } = price.cycles;
    match from == to {
        true => one(from),
        false => format!("{} to {}", one(from), one(to)),
    }
}

fn range(cycles: Cycles) -> String {
    let number = |cycles: u64| grouped(i64::try_from(cycles).unwrap_or(i64::MAX));
    match cycles.from == cycles.to {
        true => number(cycles.from),
        false => format!("{} to {}", number(cycles.from), number(cycles.to)),
    }
}

fn published(reckoning: &Reckoning, benchmark: &str) -> String {
    let of = reckoning.published.iter();
    let of =
        of.map(|published| format!("{} on {}", grouped(published.cycles as i64), published.of));
    let of: Vec<String> = of.collect();
    match of.is_empty() {
        true => String::new(),
        false => format!(
            "Measured, {benchmark}, in cycles (Dall et al. 2015, Table 2; Linux 4.0): {}.\n",
            of.join(", ")
        ),
    }
}

/// Explains why instructions and cycles differ so much, if the prices and the published figures are those that show it.
fn why(reckoning: &Reckoning) -> String {
    let price = |item, access| {
        let mut of = reckoning.lines.iter();
        of.find(|line| (line.item, line.access) == (item, access))?
            .price
    };
    let measured = |of: &str| {
        let found = reckoning
            .published
            .iter()
            .find(|published| published.of == of);
        found.map(|published| published.cycles as f64)
    };
    let class = |class, access| price(Item::Class(class), access).map(each);
    let (Some(gich), Some(read), Some(written), Some(saved), Some(kvm), Some(xen)) = (
        price(Item::Other(Other::Gich), Access::Read),
        class(Class::El1, Access::Read),
        class(Class::El1, Access::Write),
        class(Class::General, Access::Read),
        measured("ARM KVM"),
        measured("ARM Xen"),
    ) else {
        return String::new();
    };
    format!(
        "Why KVM's hypercall is {:.1} times Xen's in instructions (lab: {} and {}) and {:.0} times in cycles: an access counts as \
         one instruction whatever it takes, and saving GICv2's registers took {} of the {} cycles, {} an access; EL1 \
         registers took {read} to read and {written} to write, general ones, nearly all that Xen saves, {saved}.\n",
        KVM_INSNS as f64 / XEN_INSNS as f64,
        grouped(KVM_INSNS),
        grouped(XEN_INSNS),
        kvm / xen,
        range(gich.cycles),
        grouped(kvm as i64),
        each(gich),
    )
}
