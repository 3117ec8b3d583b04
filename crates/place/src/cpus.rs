//! The CPUs of this host that may be used, and the placements on them.

use ws_cpus::list::{self, Set};
use ws_lab::workload::NAME_BYTES;
use ws_results::place::{PlaceKind, PlaceRow, Places, Side, Spot};

/// The CPUs that this process may use, all of one kind.
pub struct Cpus {
    allowed: Vec<u32>,
    /// CPUs that share a core with the first one.
    siblings: Vec<u32>,
    /// CPUs on the memory node of the first one.
    near: Vec<u32>,
}

impl Cpus {
    /// Finds the CPUs of this host.
    pub fn of_host() -> Self {
        Self::of(&ws_cpus::Cpus::here())
    }

    /// Takes the CPUs of the fastest kind that has two: placements on two kinds would compare kinds, not places.
    fn of(host: &ws_cpus::Cpus) -> Self {
        let allowed = host.alike(&host.allowed, 2);
        let first = allowed.first().copied().unwrap_or_default();
        let is_near = |cpu: &u32| host.node_of(*cpu) == host.node_of(first);
        Self {
            siblings: host.core_of(first).into_iter().collect(),
            near: allowed.iter().copied().filter(is_near).collect(),
            allowed: allowed.into_iter().collect(),
        }
    }

    /// Makes CPUs up, for tests.
    #[cfg(test)]
    pub fn some(allowed: &[u32], siblings: &[u32], near: &[u32]) -> Self {
        Self {
            allowed: allowed.to_vec(),
            siblings: siblings.to_vec(),
            near: near.to_vec(),
        }
    }

    /// Whether there is only one CPU.
    pub fn is_one(&self) -> bool {
        self.allowed.len() == 1
    }

    /// All CPUs, as a list such as `0-3`.
    pub fn all(&self) -> String {
        let all: Set = self.allowed.iter().copied().collect();
        list::show(&all)
    }

    /// Placements, the most telling ones first: apart, on the same CPU, everywhere. Then come another thread of the
    /// same core and another node, where there are such. Then each part has a CPU of its own. The rest of the paper's
    /// follow, and on two CPUs every way to put the receiver and the VM's other threads.
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
    fn a_hosts_placements_are_on_cpus_of_one_kind() {
        let files = |path: &str| {
            let text = match path {
                "/sys/devices/system/cpu/online" => "0-7",
                "/sys/devices/cpu_core/cpus" => "4-7",
                "/sys/devices/cpu_atom/cpus" => "0-3",
                "/sys/devices/system/cpu/cpu4/topology/thread_siblings_list" => "4-5",
                "/sys/devices/system/node/online" => "0-1",
                "/sys/devices/system/node/node0/cpulist" => "0-6",
                "/sys/devices/system/node/node1/cpulist" => "7",
                "/proc/self/status" => "Cpus_allowed_list:\t0-1,4-7",
                _ => return None,
            };
            Some(text.to_owned())
        };
        let host = Cpus::of(&ws_cpus::Cpus::read(&files));
        assert_eq!(host.all(), "4-7");
        assert!(
            shown(&host).starts_with("4/6 4/4 4-7/4-7 4/5 4/7 "),
            "{}",
            shown(&host)
        );
        let one = |path: &str| match path {
            "/proc/self/status" => Some("Cpus_allowed_list:\t0-1,4".to_owned()),
            path => files(path),
        };
        assert_eq!(Cpus::of(&ws_cpus::Cpus::read(&one)).all(), "0-1");
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
