//! The NUMA nodes of CPUs and memory.

use crate::sys;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use ws_cpus::list;

/// The NUMA nodes of the machine, and their CPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topology {
    node_of: BTreeMap<usize, u32>,
    nodes: usize,
}

impl Topology {
    /// The kernel's directory of nodes.
    pub const SYSFS: &str = "/sys/devices/system/node";

    /// Reads the nodes from a directory like [`Topology::SYSFS`]: `node0/cpulist` and so on. If the
    /// directory does not exist, there is one node.
    ///
    /// # Errors
    ///
    /// A list of CPUs can't be read or parsed; the message names the file.
    pub fn read(sysfs: &Path) -> io::Result<Self> {
        let mut topology = Self::default();
        let entries = match std::fs::read_dir(sysfs) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(topology),
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let node = name.to_str().and_then(|name| name.strip_prefix("node"));
            let Some(node) = node.and_then(|node| node.parse::<u32>().ok()) else {
                continue;
            };
            let path = entry.path().join("cpulist");
            let named = |why: String| io::Error::other(format!("{}: {why}", path.display()));
            let text = std::fs::read_to_string(&path).map_err(|error| named(error.to_string()))?;
            let cpus = list::parse(&text)
                .ok_or_else(|| named(format!("{text:?} is not a list of CPUs")))?;
            topology.nodes += 1;
            topology
                .node_of
                .extend(cpus.into_iter().map(|cpu| (cpu as usize, node)));
        }
        Ok(topology)
    }

    /// Returns the number of nodes, at least 1.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes.max(1)
    }

    /// Returns the node of a CPU.
    #[must_use]
    pub fn node_of(&self, cpu: usize) -> Option<u32> {
        self.node_of.get(&cpu).copied()
    }

    /// Returns the node of all these CPUs. None if there are no CPUs, they are on several nodes, or the first is
    /// unknown.
    #[must_use]
    pub fn node_of_all(&self, mut cpus: impl Iterator<Item = usize>) -> Option<u32> {
        let node = self.node_of(cpus.next()?)?;
        // An affinity mask may contain CPUs that the machine does not have.
        let mut others = cpus.filter_map(|cpu| self.node_of(cpu));
        others.all(|other| other == node).then_some(node)
    }
}

/// Returns the node with most of these pages of this process. None if none of them was used yet, or if that node has
/// less than twice as many as the next: memory spread over nodes has no node.
#[must_use]
pub fn node_of_memory(pages: &[usize]) -> Option<u32> {
    most(sys::nodes_of_pages(pages).ok()?)
}

fn most(nodes: Vec<i32>) -> Option<u32> {
    let mut pages: BTreeMap<u32, u32> = BTreeMap::new();
    for node in nodes
        .into_iter()
        .filter_map(|node| u32::try_from(node).ok())
    {
        *pages.entry(node).or_default() += 1;
    }
    let mut pages: Vec<(u32, u32)> = pages
        .into_iter()
        .map(|(node, count)| (count, node))
        .collect();
    pages.sort_unstable();
    let (first, node) = pages.pop()?;
    let second = pages.pop().map_or(0, |(second, _)| second);
    (first >= 2 * second).then_some(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory in the kernel's format, with these lists of CPUs.
    fn sysfs(lists: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (node, list) in lists.iter().enumerate() {
            let node = dir.path().join(format!("node{node}"));
            std::fs::create_dir(&node).unwrap();
            std::fs::write(node.join("cpulist"), format!("{list}\n")).unwrap();
        }
        std::fs::write(dir.path().join("online"), "0-1\n").unwrap();
        std::fs::create_dir(dir.path().join("power")).unwrap();
        dir
    }

    #[test]
    fn a_machine_of_two_sockets_and_one_with_memory_alone() {
        let dir = sysfs(&["0-3,8-11", "4-7,12,13-15", ""]);
        let topology = Topology::read(dir.path()).unwrap();
        assert_eq!(topology.nodes(), 3);
        assert_eq!(
            [0, 3, 4, 8, 12, 15].map(|cpu| topology.node_of(cpu)),
            [0, 0, 1, 0, 1, 1].map(Some)
        );
        assert_eq!(topology.node_of(16), None);
        assert_eq!(topology.node_of_all([4, 5, 12].into_iter()), Some(1));
        assert_eq!(topology.node_of_all([4, 5, 99].into_iter()), Some(1));
        assert_eq!(topology.node_of_all([3, 4].into_iter()), None);
        assert_eq!(topology.node_of_all(std::iter::empty()), None);
    }

    #[test]
    fn what_is_no_list_is_named_and_no_nodes_are_one() {
        for wrong in ["x", "3-1", "0-", "0-99999999999", "-1"] {
            let dir = sysfs(&["0", wrong]);
            let error = Topology::read(dir.path()).unwrap_err().to_string();
            assert!(error.contains("node1/cpulist"), "{error}");
        }
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Topology::read(&dir.path().join("none")).unwrap().nodes(), 1);
    }

    #[test]
    fn this_machine_s_own_nodes_and_memory() {
        let topology = Topology::read(Path::new(Topology::SYSFS)).unwrap();
        let used = vec![1u8; 1 << 20];
        let page = |index: usize| used.as_ptr() as usize + index * 4096;
        let pages: Vec<usize> = (0..256).map(page).collect();
        if let (1, Some(node)) = (topology.nodes(), node_of_memory(&pages)) {
            assert_eq!(node, topology.node_of(0).unwrap_or(0));
        }
        // Unmapped addresses are not an error.
        assert_eq!(node_of_memory(&[0, 4096]), None);
        assert_eq!(node_of_memory(&[]), None);
    }

    #[test]
    fn memory_that_is_spread_has_no_node() {
        assert_eq!(most(vec![1, 1, 0, 1, -2]), Some(1));
        assert_eq!(most(vec![1, 0, 1]), Some(1));
        assert_eq!(most(vec![1, 0, 1, 0, 1]), None);
        assert_eq!(most(vec![-2, -14]), None);
    }
}
