//! Limits of control groups on the CPUs of this process (Documentation/admin-guide/cgroup-v2.rst,
//! cgroup-v1/cpusets.rst, scheduler/sched-bwc.rst).

use crate::list::{self, Set};

type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A hierarchy of control groups: its mount point, and the group of this process.
struct Hierarchy {
    mount: String,
    group: String,
}

impl Hierarchy {
    /// Returns the group, then the groups around it. In a container the group may have another name here, and no files
    /// under this one. The last group is then the container's own.
    fn groups(&self) -> impl Iterator<Item = &str> {
        let group = self.group.trim_end_matches('/');
        let ends = group.rmatch_indices('/').map(|(end, _)| end);
        let around = ends.map(|end| &group[..end]);
        std::iter::once(group).chain(around).take(64)
    }

    fn file(&self, group: &str, file: &str) -> String {
        format!("{}{group}/{file}", self.mount)
    }
}

/// Returns the hierarchies of version 1 that have this controller, then those of version 2.
fn hierarchies(read: Read, controller: &str) -> Vec<Hierarchy> {
    let text = read("/proc/self/cgroup").unwrap_or_default();
    let mut found = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else {
            continue;
        };
        let group = match group.contains("..") {
            true => "/",
            false => group,
        };
        let mut add = |mount: &str| {
            found.push(Hierarchy {
                mount: format!("/sys/fs/cgroup{mount}"),
                group: group.to_owned(),
            });
        };
        if controllers.split(',').any(|other| other == controller) {
            add(&format!("/{controller}"));
        } else if controllers.is_empty() {
            add("");
            // systemd's hybrid mode.
            add("/unified");
        }
    }
    found
}

/// Returns the CPUs in the cpuset of this process, and the outermost group with the same CPUs; none if no file names
/// CPUs.
pub fn cpuset(read: Read) -> Option<(String, Set)> {
    const FILES: [&str; 3] = [
        "cpuset.cpus.effective",
        "cpuset.effective_cpus",
        "cpuset.cpus",
    ];
    for hierarchy in hierarchies(read, "cpuset") {
        let mut found: Option<(String, Set)> = None;
        for group in hierarchy.groups() {
            let cpus = |file| list::parse(&read(&hierarchy.file(group, file))?);
            let cpus = FILES.into_iter().find_map(cpus);
            let Some(cpus) = cpus.filter(|cpus| !cpus.is_empty()) else {
                continue;
            };
            match &mut found {
                None => found = Some((named(group), cpus)),
                Some((name, inner)) if *inner == cpus => *name = named(group),
                Some(_) => break,
            }
        }
        if found.is_some() {
            return found;
        }
    }
    None
}

fn named(group: &str) -> String {
    match group {
        "" => "/".to_owned(),
        group => group.to_owned(),
    }
}

/// Returns the most CPU time that this process may use, in CPUs, if that is limited.
pub fn quota(read: Read) -> Option<f64> {
    let number = |path: &str| read(path)?.trim().parse::<f64>().ok();
    let mut least: Option<f64> = None;
    for hierarchy in hierarchies(read, "cpu") {
        for group in hierarchy.groups() {
            let second = read(&hierarchy.file(group, "cpu.max")).and_then(|text| {
                let mut words = text.split_ascii_whitespace();
                let quota: f64 = words.next()?.parse().ok()?;
                Some((quota, words.next()?.parse::<f64>().ok()?))
            });
            let first = || {
                let quota = number(&hierarchy.file(group, "cpu.cfs_quota_us"))?;
                Some((quota, number(&hierarchy.file(group, "cpu.cfs_period_us"))?))
            };
            if let Some((quota, period)) = second.or_else(first) {
                // -1 is no limit.
                let cpus = quota / period;
                if quota > 0.0 && cpus.is_finite() {
                    least = Some(least.map_or(cpus, |least| least.min(cpus)));
                }
            }
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::Made;

    fn quota(made: &Made) -> Option<f64> {
        made.cpus().quota
    }

    #[test]
    fn the_outermost_group_that_limits_is_named() {
        let of = |made: Made| {
            let cpus = made.cpus();
            (cpus.group, list::show(&cpus.bindable))
        };
        let limited = Made::new("0-3").group("/a/b/c", "/a", "0-1");
        let limited = limited.file("/sys/fs/cgroup/cpuset.cpus.effective", "0-3");
        assert_eq!(of(limited.clone()), (Some("/a".into()), "0-1".into()));
        let inner = limited.file("/sys/fs/cgroup/a/b/c/cpuset.cpus.effective", "1");
        assert_eq!(of(inner), (Some("/a/b/c".into()), "1".into()));
        // In a container the group's files are where the hierarchy begins.
        let container = Made::new("0-3")
            .file("/proc/self/cgroup", "0::/../../x")
            .file("/sys/fs/cgroup/cpuset.cpus.effective", "2");
        assert_eq!(of(container), (Some("/".into()), "2".into()));
        let first = Made::new("0-3")
            .file("/proc/self/cgroup", "7:memory:/m\n3:cpuset:/c\n0::/")
            .file("/sys/fs/cgroup/cpuset/c/cpuset.effective_cpus", "0-2");
        assert_eq!(of(first.clone()), (Some("/c".into()), "0-2".into()));
        let whole = first.file("/sys/fs/cgroup/cpuset/c/cpuset.effective_cpus", "0-3");
        assert_eq!(of(whole), (None, "0-3".into()));
        // An empty list says that the group around decides.
        let empty = Made::new("0-3").group("/a", "/a", "");
        assert_eq!(of(empty), (None, "0-3".into()));
    }

    #[test]
    fn the_least_time_of_all_groups_counts() {
        let second = Made::new("0-3")
            .file("/proc/self/cgroup", "0::/a/b")
            .file("/sys/fs/cgroup/a/b/cpu.max", "300000 100000")
            .file("/sys/fs/cgroup/a/cpu.max", "150000 100000");
        assert_eq!(quota(&second), Some(1.5));
        let none = second.file("/sys/fs/cgroup/a/cpu.max", "max 100000");
        assert_eq!(quota(&none), Some(3.0));
        let first = Made::new("0-3")
            .file("/proc/self/cgroup", "4:cpu,cpuacct:/a")
            .file("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000")
            .file("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000");
        assert_eq!(quota(&first), Some(0.5));
        for odd in ["-1", "0", "x"] {
            let odd = first
                .clone()
                .file("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", odd);
            assert_eq!(quota(&odd), None);
        }
        assert_eq!(quota(&Made::new("0-3")), None);
    }
}
