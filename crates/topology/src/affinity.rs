//! The CPUs that the process may use, and pinning threads to them.

use std::io;
use std::path::Path;

use rustix::thread::{CpuSet as KernelSet, sched_getaffinity, sched_setaffinity};

use crate::MAX_CPU;
use crate::cpuset::CpuSet;
use crate::files::read_text;

/// The CPUs on which the calling thread may run: its affinity, which a new process
/// or thread inherits and which `taskset` and cgroup cpusets restrict.
///
/// Never empty. The system call as we make it serves machines of up to 1024 possible
/// CPUs; beyond, the list comes from `/proc`. If both are refused, the CPUs are taken
/// to be numbered from 0, as many as the standard library counts.
///
/// ```
/// let allowed = mely_topology::allowed_cpus();
/// assert!(!allowed.is_empty());
/// ```
#[must_use]
pub fn allowed_cpus() -> CpuSet {
    from_kernel()
        .or_else(|| from_status(Path::new("/proc/thread-self/status")))
        .filter(|cpus| !cpus.is_empty())
        .unwrap_or_else(counted)
}

fn from_kernel() -> Option<CpuSet> {
    let kernel = sched_getaffinity(None).ok()?;
    let last = KernelSet::MAX_CPU.min(MAX_CPU);
    CpuSet::of((0..last).filter(|&cpu| kernel.is_set(cpu))).ok()
}

fn from_status(path: &Path) -> Option<CpuSet> {
    let status = read_text(path)?;
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    list.parse().ok()
}

fn counted() -> CpuSet {
    let count = std::thread::available_parallelism().map_or(1, |count| count.get().min(MAX_CPU));
    CpuSet::of(0..count).unwrap_or_else(|_| CpuSet::single(0))
}

/// How many workers to start when the user does not say: one for each allowed CPU,
/// but no more than the quota can keep busy (a started core counts whole), and at
/// least one.
///
/// `quota` is in cores, as from [`cpu_quota`](super::cpu_quota); one that is not a
/// positive finite number is ignored.
///
/// ```
/// use mely_topology::{CpuSet, default_workers};
///
/// let allowed: CpuSet = "0-7".parse()?;
/// assert_eq!(default_workers(&allowed, None), 8);
/// assert_eq!(default_workers(&allowed, Some(1.5)), 2);
/// assert_eq!(default_workers(&allowed, Some(64.0)), 8);
/// # Ok::<(), mely_topology::TopologyError>(())
/// ```
#[must_use]
pub fn default_workers(allowed: &CpuSet, quota: Option<f64>) -> usize {
    let quota = quota.filter(|cores| cores.is_finite() && *cores > 0.0);
    // A float beyond the integers' range becomes the largest integer.
    let affordable = quota.map_or(usize::MAX, |cores| cores.ceil() as usize);
    allowed.len().min(affordable).max(1)
}

/// Makes the calling thread run on CPU `cpu` only.
///
/// # Errors
/// `InvalidInput` when the CPU does not exist, is offline, is forbidden to the process
/// (a cpuset), or has a number of 1024 or more, which the system call as we make it
/// cannot name; otherwise what the system answers, such as `PermissionDenied`. The
/// thread then runs where it ran.
///
/// ```
/// use mely_topology::{allowed_cpus, pin_current_thread};
///
/// let cpu = allowed_cpus().iter().next().unwrap();
/// std::thread::spawn(move || {
///     pin_current_thread(cpu).unwrap();
///     assert_eq!(allowed_cpus().iter().collect::<Vec<_>>(), [cpu]);
/// })
/// .join()
/// .unwrap();
/// ```
pub fn pin_current_thread(cpu: usize) -> io::Result<()> {
    if cpu >= KernelSet::MAX_CPU {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "CPU {cpu} cannot be pinned to: numbers go up to {}",
                KernelSet::MAX_CPU - 1
            ),
        ));
    }
    set_affinity(&CpuSet::single(cpu))
}

/// Makes the calling thread run on these CPUs only, wherever among them the system
/// sees fit. What the process may not use of them is left out.
///
/// # Errors
/// `InvalidInput` when nothing is left of them, or all have numbers of 1024 or more;
/// otherwise what the system answers. The thread then runs where it ran.
///
/// ```
/// use mely_topology::{allowed_cpus, pin_current_thread, restrict_current_thread};
///
/// let allowed = allowed_cpus();
/// std::thread::spawn(move || {
///     pin_current_thread(allowed.iter().next().unwrap()).unwrap();
///     restrict_current_thread(&allowed).unwrap();
///     assert_eq!(allowed_cpus(), allowed);
/// })
/// .join()
/// .unwrap();
/// ```
pub fn restrict_current_thread(cpus: &CpuSet) -> io::Result<()> {
    set_affinity(cpus)
}

fn set_affinity(cpus: &CpuSet) -> io::Result<()> {
    let mut wanted = KernelSet::new();
    let nameable = cpus.iter().filter(|&cpu| cpu < KernelSet::MAX_CPU);
    nameable.for_each(|cpu| wanted.set(cpu));
    sched_setaffinity(None, &wanted).map_err(|errno| {
        let error = io::Error::from(errno);
        let allowed = allowed_cpus();
        io::Error::new(
            error.kind(),
            format!(
                "the thread cannot run on CPU {cpus} only: {error}; CPUs {allowed} are allowed"
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::FixtureTree;

    #[test]
    fn a_pinned_thread_may_run_on_its_cpu_only() {
        for cpu in allowed_cpus().iter() {
            std::thread::scope(|scope| {
                let pinned = scope.spawn(move || {
                    pin_current_thread(cpu).unwrap();
                    allowed_cpus()
                });
                assert_eq!(pinned.join().unwrap(), CpuSet::single(cpu));
            });
        }
    }

    #[test]
    fn impossible_cpus_are_refused_and_named() {
        for cpu in [1023, 1024, MAX_CPU, usize::MAX] {
            if allowed_cpus().contains(cpu) {
                continue;
            }
            let refused = pin_current_thread(cpu).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
            assert!(refused.to_string().contains(&cpu.to_string()));
        }
    }

    #[test]
    fn both_ways_to_ask_give_one_answer() {
        let status = from_status(Path::new("/proc/thread-self/status"));
        if let Some((status, kernel)) = status.zip(from_kernel()) {
            assert_eq!(status, kernel);
        }
    }

    #[test]
    fn status_of_a_very_large_machine() {
        let tree = FixtureTree::new();
        let path = tree.root().join("status");
        tree.root_file(
            "status",
            "Name:\tmely\nCpus_allowed:\tff\nCpus_allowed_list:\t0-1,2000-2047\n",
        );
        assert_eq!(from_status(&path).unwrap().len(), 50);
        tree.root_file("status", "Cpus_allowed_list:\t0-99999\n");
        assert_eq!(from_status(&path), None);
    }

    #[test]
    fn workers_never_number_zero() {
        let eight: CpuSet = "0-7".parse().unwrap();
        for (quota, workers) in [
            (Some(0.001), 1),
            (Some(0.0), 8),
            (Some(-1.0), 8),
            (Some(f64::NAN), 8),
            (Some(f64::INFINITY), 8),
            (Some(f64::MAX), 8),
            (Some(2.0), 2),
            (Some(2.01), 3),
        ] {
            assert_eq!(default_workers(&eight, quota), workers, "{quota:?}");
        }
        assert_eq!(default_workers(&CpuSet::new(), None), 1);
        assert!(!counted().is_empty());
    }
}
