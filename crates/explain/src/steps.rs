//! The steps of a transaction with one packet each way (Dall et al., 2015, Table 6), between functions that its packets
//! pass: in the bridge of the machine's own kernel, and in the network stack of the VM's. Nothing is traced.

use crate::spread::Spread;
use crate::symbols::Symbols;
use std::collections::BTreeMap;

/// A function of a level.
struct Passed {
    level: u8,
    function: &'static str,
    module: Option<&'static str>,
}

const BRIDGE: Option<&str> = Some("bridge");
const REQUEST: Passed = Passed {
    level: 0,
    function: "br_dev_xmit",
    module: BRIDGE,
};
const REPLY: Passed = Passed {
    level: 0,
    function: "br_pass_frame_up",
    module: BRIDGE,
};
const IN_VM: [Passed; 2] = [
    Passed {
        level: 1,
        function: "__netif_receive_skb_core",
        module: None,
    },
    Passed {
        level: 1,
        function: "__dev_queue_xmit",
        module: None,
    },
];

/// Percentage of transactions whose packets may pass the points in another order. The packets that begin and end a
/// connection do, and the shorter run that is taken off may differ in them.
const OTHER_PERCENT: u64 = 1;

/// Steps from each function to the next, by the names of results.
const NATIVELY: [&str; 2] = ["recv-to-send", "send-to-recv"];
const WITH_VM: [&str; 4] = [
    "recv-to-vm-recv",
    "vm-recv-to-vm-send",
    "vm-send-to-send",
    "send-to-recv",
];

/// A place in the code of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    pub level: u8,
    pub address: u64,
}

/// Reason why a transaction has no steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepsError {
    #[error("the kernel has no function {0}")]
    Function(&'static str),
    #[error(
        "its packets do not take turns: {times} steps from point {from} to point {to} in {units} transactions"
    )]
    Turns {
        from: u64,
        to: u64,
        times: u64,
        units: u64,
    },
}

/// Returns the points of a transaction, in the order in which its packets pass them.
///
/// # Errors
/// The kernel does not have one of the functions.
pub fn points(linux: &Symbols, has_vm: bool) -> Result<Vec<Point>, StepsError> {
    let in_vm = if has_vm { &IN_VM[..] } else { &[] };
    let passed = [&REQUEST].into_iter().chain(in_vm).chain([&REPLY]);
    passed.map(|passed| passed.point(linux)).collect()
}

impl Passed {
    fn point(&self, linux: &Symbols) -> Result<Point, StepsError> {
        let symbol = linux.all().iter().find(|symbol| {
            // A compiler's variant of a function has a suffix.
            let rest = symbol.name.strip_prefix(self.function);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                && symbol.module.as_deref() == self.module
        });
        Ok(Point {
            level: self.level,
            address: symbol.ok_or(StepsError::Function(self.function))?.address,
        })
    }
}

/// Returns the mean of the instructions and idle ticks of each step, by the step's name.
///
/// # Errors
/// The packets of more than 1 % of transactions did not pass the points in their order.
pub fn steps(spread: &Spread, units: u64) -> Result<BTreeMap<String, f64>, StepsError> {
    let has_vm = spread.ways.keys().any(|(from, to)| from.max(to) > &1);
    let names = if has_vm { &WITH_VM[..] } else { &NATIVELY };
    let count = names.len() as u64;
    let mut steps = BTreeMap::new();
    for from in 0..count {
        for to in 0..count {
            let is_step = to == (from + 1) % count;
            let [times, ticks] = spread.ways.get(&(from, to)).copied().unwrap_or_default();
            let wanted = if is_step { units } else { 0 };
            if times.abs_diff(wanted) * 100 > units * OTHER_PERCENT {
                return Err(StepsError::Turns {
                    from,
                    to,
                    times,
                    units,
                });
            }
            if is_step {
                let name = names[from as usize].to_owned();
                steps.insert(name, ticks as f64 / times.max(1) as f64);
            }
        }
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linux() -> Symbols {
        let list = "ffff800079efbc90 t br_dev_xmit [bridge]\n\
                    6d38 t br_pass_frame_up [bridge]\n\
                    6c32880 T __dev_queue_xmit\n\
                    18a8 t __netif_receive_skb_core.constprop.0\n\
                    100 t __netif_receive_skb_core_more\n";
        Symbols::of_kernel(list).unwrap()
    }

    #[test]
    fn points_are_functions_of_a_level() {
        let of = |has_vm| -> Vec<(u8, u64)> {
            let points = points(&linux(), has_vm).unwrap().into_iter();
            points
                .map(|point| (point.level, point.address & 0xffff_ffff))
                .collect()
        };
        assert_eq!(of(false), [(0, 0x79ef_bc90), (0, 0x79f0_29c8)]);
        let wanted = [
            (0, 0x79ef_bc90),
            (1, 0x80b3_6af0),
            (1, 0x80b3_5248),
            (0, 0x79f0_29c8),
        ];
        assert_eq!(of(true), wanted);
        let without = Symbols::of_kernel("100 T __dev_queue_xmit\n").unwrap();
        let error = points(&without, false).unwrap_err();
        assert_eq!(error, StepsError::Function("br_dev_xmit"));
    }

    fn spread(ways: &[(u64, u64, u64, u64)]) -> Spread {
        let ways = ways.iter();
        Spread {
            ways: ways
                .map(|(from, to, times, ticks)| ((*from, *to), [*times, *ticks]))
                .collect(),
            ..Spread::default()
        }
    }

    #[test]
    fn steps_are_from_each_point_to_the_next() {
        let natively = spread(&[(0, 1, 10, 200), (1, 0, 10, 155), (0, 0, 0, 3)]);
        let of = steps(&natively, 10).unwrap();
        assert_eq!(of["recv-to-send"], 20.0);
        assert_eq!(of["send-to-recv"], 15.5);
        let in_vm = spread(&[
            (0, 1, 10, 10),
            (1, 2, 10, 20),
            (2, 3, 10, 30),
            (3, 0, 10, 40),
        ]);
        let of = steps(&in_vm, 10).unwrap();
        let wanted = [1.0, 4.0, 2.0, 3.0];
        assert_eq!(of.values().copied().collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn packets_that_do_not_take_turns_are_an_error() {
        let of = |ways: &[_]| steps(&spread(ways), 200);
        let says = |ways: &[_]| of(ways).unwrap_err().to_string();
        let twice = says(&[(0, 1, 200, 9), (1, 0, 197, 9), (1, 1, 3, 9)]);
        assert!(
            twice.contains("197 steps from point 1 to point 0 in 200"),
            "{twice}"
        );
        let none = says(&[]);
        assert!(none.contains("0 steps from point 0 to point 1"), "{none}");
        // A mean of the others.
        let once = of(&[(0, 1, 199, 398), (1, 0, 201, 201), (1, 1, 1, 9)]).unwrap();
        assert_eq!(once.values().copied().collect::<Vec<_>>(), [2.0, 1.0]);
    }
}
