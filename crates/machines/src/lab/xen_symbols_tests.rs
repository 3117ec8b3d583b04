//! Tests of the table of symbols in an image of Xen, with tables as Xen's tool writes them.

use super::*;
use proptest::prelude::*;

const BASE: u64 = 0xffff_82d0_4000_0000;

/// How a table is laid out.
#[derive(Clone, Copy, Debug)]
struct Layout {
    align: usize,
    /// Bytes of an address.
    width: usize,
}

const X86: Layout = Layout { align: 4, width: 4 };
const X86_WHOLE: Layout = Layout { align: 8, width: 8 };
const ARM: Layout = Layout {
    align: 256,
    width: 8,
};

fn pad(image: &mut Vec<u8>, align: usize) {
    image.resize(image.len().next_multiple_of(align), 0);
}

/// An image with these symbols, each of which is its kind and its name. Token 1 stands for "do_".
fn image(symbols: &[(u64, String)], layout: Layout) -> Vec<u8> {
    let mut image = vec![0x90; 300];
    let token = |byte: u8| match byte {
        1 => "do_".to_owned(),
        b'#'..=b'~' => char::from(byte).to_string(),
        _ => String::new(),
    };
    // Functions that others point to.
    pad(&mut image, 8);
    for (offset, _) in symbols.iter().take(20) {
        image.extend((BASE + offset).to_le_bytes());
    }
    pad(&mut image, layout.align);
    for (offset, _) in symbols {
        match layout.width {
            4 => image.extend(u32::try_from(*offset).unwrap().to_le_bytes()),
            _ => image.extend((BASE + offset).to_le_bytes()),
        }
    }
    pad(&mut image, layout.align);
    image.extend(u32::try_from(symbols.len()).unwrap().to_le_bytes());
    pad(&mut image, layout.align);
    let (start, mut markers) = (image.len(), Vec::new());
    for (number, (_, name)) in symbols.iter().enumerate() {
        if number % 256 == 0 {
            markers.push(image.len() - start);
        }
        let name = name.replace("do_", "\u{1}");
        image.push(u8::try_from(name.len()).unwrap());
        image.extend(name.bytes());
    }
    pad(&mut image, layout.align);
    for marker in markers {
        image.extend(u32::try_from(marker).unwrap().to_le_bytes());
    }
    pad(&mut image, layout.align);
    let mut index = Vec::new();
    let start = image.len();
    for byte in 0..=255 {
        index.push(u16::try_from(image.len() - start).unwrap());
        image.extend(token(byte).bytes());
        image.push(0);
    }
    pad(&mut image, layout.align);
    image.extend(index.iter().flat_map(|at| at.to_le_bytes()));
    image.extend([0x90; 300]);
    image
}

/// So many functions, and one variable.
fn many(count: u64) -> Vec<(u64, String)> {
    let functions = (0..count).map(|number| (0x1000 + number * 16, format!("Tdo_it_{number}")));
    let data = (0x1000 + count * 16, "Ddata".to_owned());
    functions.chain([data]).collect()
}

#[test]
fn functions_are_read_with_their_addresses() {
    for layout in [X86, X86_WHOLE, ARM] {
        for count in [300, 511, 512, 1000] {
            let mut symbols = many(count);
            symbols[7].1 = "ttraps.c#do_trap".into();
            let all = read(&image(&symbols, layout)).unwrap();
            assert_eq!(all.len() as u64, count, "{layout:?}");
            let wanted = XenSymbol {
                address: BASE + 0x1000 + 7 * 16,
                kind: 't',
                name: "traps.c#do_trap".into(),
            };
            assert_eq!(all[7], wanted);
            assert_eq!(all[all.len() - 1].name, format!("do_it_{}", count - 1));
        }
    }
}

#[test]
fn an_image_without_a_table_or_with_another_is_refused() {
    let none = Err(XenSymbolsError::NoTable);
    assert_eq!(read(b""), none);
    assert_eq!(read(&[0; 5000]), none);
    let whole = image(&many(300), X86);
    assert_eq!(read(&whole[..whole.len() - 400]), none);
    // Without what points to functions nobody knows where it is linked.
    let mut unknown = whole.clone();
    unknown[..300 + 20 * 8].fill(0x90);
    let error = read(&unknown).unwrap_err();
    assert_eq!(error, XenSymbolsError::Unknown("pointer to its functions"));
    // One symbol less than there are names.
    let mut fewer = whole;
    let count = 301u32.to_le_bytes();
    let at = fewer.windows(4).position(|bytes| bytes == count).unwrap();
    fewer[at] -= 1;
    assert_eq!(read(&fewer), Err(XenSymbolsError::Unknown("names")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_damaged_image_is_no_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        arm in any::<bool>(),
    ) {
        let mut image = image(&many(300), if arm { ARM } else { X86 });
        for (at, byte) in changes {
            let at = at.index(image.len());
            image[at] = byte;
        }
        let _ = read(&image);
        image.truncate(cut.index(image.len()));
        let _ = read(&image);
    }

    #[test]
    fn any_bytes_are_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(read(&bytes).is_err());
    }
}
