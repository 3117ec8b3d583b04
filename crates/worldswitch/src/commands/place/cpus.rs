//! The CPUs of this host that may be used, and the placements on them.

use anyhow::Context;
use std::fs;
use ws_lab::workload::NAME_BYTES;
use ws_machines::pin;
use ws_report::{PlaceKind, PlaceRow, Places, Side, Spot};

/// The CPUs that this process may use.
pub struct Cpus {
    allowed: Vec<u32>,
    /// Those that share a core with the first one.
    siblings: Vec<u32>,
    /// Those on the memory of the first one.
    near: Vec<u32>,
}

impl Cpus {
    /// Of this host.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn of_host() -> anyhow::Result<Self> {
        let usable = ws_io::cpus::usable().context("can't read which CPUs may be used")?;
        let allowed: Vec<u32> = usable
            .into_iter()
            .map(u32::try_from)
            .collect::<Result<_, _>>()?;
        let first = allowed.first().copied().unwrap_or_default();
        let cpu = format!("/sys/devices/system/cpu/cpu{first}");
        let list = |path: String| -> Vec<u32> {
            let text = fs::read_to_string(path).unwrap_or_default();
            pin::parse(&text).unwrap_or_default()
        };
        let node = (0..64).find(|node| fs::exists(format!("{cpu}/node{node}")).unwrap_or(false));
        let near = node.map(|node| list(format!("/sys/devices/system/node/node{node}/cpulist")));
        Ok(Self {
            siblings: list(format!("{cpu}/topology/thread_siblings_list")),
            near: near.unwrap_or_else(|| allowed.clone()),
            allowed,
        })
    }

    /// Made up, for tests.
    #[cfg(test)]
    pub fn some(allowed: &[u32], siblings: &[u32], near: &[u32]) -> Self {
        Self {
            allowed: allowed.to_vec(),
            siblings: siblings.to_vec(),
            near: near.to_vec(),
        }
    }

    /// Whether there is only one.
    pub fn is_one(&self) -> bool {
        self.allowed.len() == 1
    }

    /// All of them, as a list.
    pub fn all(&self) -> String {
        ranges(&self.allowed)
    }

    /// Placements, those first that tell most: apart, on the same CPU, everywhere; then to another thread of
    /// the same core and to another node where there are such; each part on a CPU of its own; the rest of the
    /// paper's; and on two CPUs every way to put the receiver and the VM's other threads.
    pub fn cells(&self) -> Vec<Places> {
        let Some((first, rest)) = self.allowed.split_first() else {
            return Vec::new();
        };
        let is_sibling = |cpu: &&u32| self.siblings.contains(cpu);
        let is_far = |cpu: &&u32| !self.near.contains(cpu);
        let near = |cpu: &&u32| !is_sibling(cpu) && !is_far(cpu);
        let a = first.to_string();
        let Some(other) = rest.iter().find(near).or_else(|| rest.first()) else {
            return vec![at(&a, &a)];
        };
        let (b, all) = (other.to_string(), self.all());
        let mut cells = vec![at(&a, &b), at(&a, &a), at(&all, &all)];
        let special = [rest.iter().find(is_sibling), rest.iter().find(is_far)];
        for cpu in special.into_iter().flatten().filter(|cpu| *cpu != other) {
            cells.push(at(&a, &cpu.to_string()));
        }
        let mut others = rest.iter().filter(|cpu| *cpu != other);
        if let Some(c) = others.next() {
            let (c, d) = (c.to_string(), others.next().unwrap_or(c).to_string());
            cells.push(apart((&a, &c), (&b, &d)));
        }
        cells.extend([at(&b, &a), at(&b, &b), at(&all, &a), at(&all, &b)]);
        cells.extend([
            apart((&a, &a), (&b, &a)),
            apart((&a, &b), (&b, &b)),
            apart((&a, &b), (&b, &a)),
            apart((&b, &b), (&b, &a)),
            apart((&b, &a), (&b, &b)),
            apart((&b, &a), (&b, &a)),
        ]);
        // A row's name is limited; only a list of very many pieces is longer.
        let has_names = |places: &Places| {
            let row = PlaceRow::both(PlaceKind::DiskBuffered, Side::Guest, places);
            row.name().len() <= NAME_BYTES
        };
        cells.into_iter().filter(has_names).collect()
    }
}

/// Sender and receiver of the host; the VM's CPU and its other threads.
fn apart(host: (&str, &str), vm: (&str, &str)) -> Places {
    let spot = |(work, serve): (&str, &str)| match work == serve {
        true => Spot::of(work),
        false => Spot::apart(work, serve),
    };
    Places {
        host: spot(host),
        vm: spot(vm),
    }
}

fn at(host: &str, vm: &str) -> Places {
    apart((host, host), (vm, vm))
}

/// CPUs as the kernel writes them: `0-3,8`.
fn ranges(cpus: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => runs.push((*cpu, *cpu)),
        }
    }
    let runs = runs.into_iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    runs.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(cpus: &Cpus) -> String {
        let cells = cpus.cells().into_iter();
        let cells = cells.map(|places| format!("{}/{}", places.host, places.vm));
        cells.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn two_cpus_have_the_papers_seven_placements() {
        let two = Cpus::some(&[0, 1], &[0], &[0, 1]);
        let sevens = "0/1 0/0 0-1/0-1 1/0 1/1 0-1/0 0-1/1";
        // Then what serves apart.
        let rest = "0/1>0 0>1/1 0>1/1>0 1/1>0 1>0/1 1>0/1>0";
        assert_eq!(shown(&two), format!("{sevens} {rest}"));
        // Also if they are threads of one core.
        let two = Cpus::some(&[0, 1], &[0, 1], &[0, 1]);
        assert_eq!(shown(&two), format!("{sevens} {rest}"));
        assert_eq!(shown(&Cpus::some(&[3], &[3], &[3])), "3/3");
    }

    #[test]
    fn a_thread_of_the_core_and_another_node_are_placements_of_their_own() {
        let many = Cpus::some(&[0, 1, 2, 3, 8], &[0, 1], &[0, 1, 2, 3]);
        assert!(
            shown(&many)
                .starts_with("0/2 0/0 0-3,8/0-3,8 0/1 0/8 0>1/2>3 2/0 2/2 0-3,8/0 0-3,8/2 0/2>0 "),
            "{}",
            shown(&many)
        );
        // No row has a name that is too long.
        let pieces: Vec<u32> = (0..64).step_by(2).collect();
        let shown = shown(&Cpus::some(&pieces, &[0], &pieces));
        assert!(
            shown.starts_with("0/2 0/0 0>4/2>6 2/0 2/2 0/2>0 "),
            "{shown}"
        );
    }
}
