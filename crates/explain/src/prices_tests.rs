use super::*;
use proptest::prelude::*;

fn read(text: &str) -> Result<Prices, PriceError> {
    Prices::read("board.csv", text)
}

fn price(prices: &Prices, item: Item, access: Access) -> Price {
    prices.of[&(item, access)]
}

#[test]
fn a_file_is_read() {
    let prices = read(
        "access,class,cycles,to,accesses,note\n\
         read,vgic,250,,10,\"GICv3, as measured\"\n\
         write, el2-memory ,30,,,\n\
         enter,trap,68,76,1,\n",
    )
    .unwrap();
    let vgic = price(&prices, Item::Class(Class::Vgic), Access::Read);
    assert_eq!(vgic.of(3), Cycles { from: 75, to: 75 });
    let memory = price(&prices, Item::Class(Class::El2Memory), Access::Write);
    assert_eq!(memory.of(2), Cycles { from: 60, to: 60 });
    let trap = price(&prices, Item::Other(Other::Trap), Access::Enter);
    assert_eq!(trap.of(2), Cycles { from: 136, to: 152 });
    assert_eq!(prices.of.len(), 3);
}

#[test]
fn the_built_in_prices_are_known() {
    let prices = Prices::built_in("dall-2015").unwrap().unwrap();
    let of = |item, access, count| price(&prices, item, access).of(count).from;
    let class = Item::Class;
    assert_eq!(of(class(Class::El1), Access::Read, 22), 230);
    assert_eq!(of(class(Class::El1), Access::Write, 1), 23, "511 of 22");
    assert_eq!(
        of(class(Class::General), Access::Read, 31),
        127,
        "152 of 37"
    );
    assert_eq!(of(class(Class::Timer), Access::Write, 5), 106);
    assert_eq!(of(class(Class::El2Configuration), Access::Read, 6), 92);
    assert_eq!(of(Item::Other(Other::Gich), Access::Read, 15), 3250);
    assert_eq!(of(Item::Other(Other::Trap), Access::Return, 2), 130);
    for none in [
        Class::Vgic,
        Class::El2Exception,
        Class::Debug,
        Class::Pmu,
        Class::Other,
    ] {
        assert!(
            !prices.of.keys().any(|(item, _)| *item == class(none)),
            "{none}"
        );
    }
    assert!(Prices::built_in("dall-2016").is_none());
}

#[test]
fn bad_files_name_line_and_column() {
    let told = [
        (
            "class,access,cycles\r\n\r\nvgic,\"read\r\n\",1\r\n\r\nvgic,read\r\n",
            "line 6: 2 columns, but the first line has 3",
        ),
        ("", "line 1, column class: missing"),
        ("class,access\n", "line 1, column cycles: missing"),
        (
            "class,access,cycles,price\n",
            "line 1, column price: unknown; known are class, access, cycles, to, accesses",
        ),
        (
            "class,access,cycles,cycles\n",
            "line 1, column cycles: named twice",
        ),
        (
            "class,access,cycles\nvgic,read\n",
            "line 2: 2 columns, but the first line has 3",
        ),
        (
            "class,access,cycles\n\ngic,read,1\n",
            "line 3, column class: \"gic\" is neither a class of registers, nor gich, nor trap",
        ),
        (
            "class,access,cycles\nvgic,enter,1\n",
            "line 2, column access: \"enter\" is not read or write",
        ),
        (
            "class,access,cycles\ntrap,read,1\n",
            "line 2, column access: \"read\" is not enter or return",
        ),
        (
            "class,access,cycles\nvgic,read,-1\n",
            "line 2, column cycles: \"-1\" is not a whole number: write 12.5 cycles as 25 cycles of 2 accesses",
        ),
        (
            "class,access,cycles,to\nvgic,read,9,8\n",
            "line 2, column to: 8 is less than 9 cycles",
        ),
        (
            "class,access,cycles,to\nvgic,read,9,x\n",
            "line 2, column to: \"x\" is not a whole number: write 12.5 cycles as 25 cycles of 2 accesses",
        ),
        (
            "class,access,cycles,accesses\nvgic,read,9,0\n",
            "line 2, column accesses: 0 accesses have no price",
        ),
        (
            "class,access,cycles\nvgic,read,9\nvgic,read,9\n",
            "line 3, column access: this price is already given",
        ),
    ];
    for (text, wanted) in told {
        let error = read(text).unwrap_err().to_string();
        assert_eq!(error, format!("board.csv: {wanted}"), "{text:?}");
    }
}

#[test]
fn a_later_file_replaces_the_same_prices() {
    let first = read("class,access,cycles\nvgic,read,9\nvgic,write,7\n").unwrap();
    let second = Prices::read("other", "class,access,cycles\nvgic,read,8\n").unwrap();
    let both = first.and(second);
    assert_eq!(both.names, ["board.csv", "other"]);
    let vgic = Item::Class(Class::Vgic);
    assert_eq!(price(&both, vgic, Access::Read).of(1).from, 8);
    assert_eq!(price(&both, vgic, Access::Write).of(1).from, 7);
}

#[test]
fn items_are_text_in_json() {
    for (item, text) in [
        (
            Item::Class(Class::El2Configuration),
            "\"el2-configuration\"",
        ),
        (Item::Other(Other::Gich), "\"gich\""),
    ] {
        assert_eq!(serde_json::to_string(&item).unwrap(), text);
        assert_eq!(serde_json::from_str::<Item>(text).unwrap(), item);
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = read(&text);
    }

    #[test]
    fn a_damaged_file_is_read_or_refused_with_its_line(at in any::<prop::sample::Index>(), put in any::<char>()) {
        let mut text: Vec<char> = BUILT_IN[0].1.chars().collect();
        let at = at.index(text.len());
        text[at] = put;
        let text: String = text.into_iter().collect();
        if let Err(error) = read(&text) {
            prop_assert!(error.line >= 1 && error.line <= 1 + text.lines().count() as u64, "{error}");
        }
    }

    #[test]
    fn a_price_is_within_half_a_cycle_and_never_overflows(
        from in any::<u64>(), more in any::<u32>(), accesses in 1u64.., count in any::<u64>()
    ) {
        let cycles = Cycles { from, to: from.saturating_add(more.into()) };
        let of = Price { cycles, accesses }.of(count);
        prop_assert!(of.from <= of.to);
        let exact = u128::from(from) * u128::from(count);
        if of.from < u64::MAX {
            let near = u128::from(of.from) * u128::from(accesses);
            prop_assert!(near.abs_diff(exact) <= u128::from(accesses / 2));
        }
    }
}
