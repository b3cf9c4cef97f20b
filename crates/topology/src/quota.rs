//! The container's CPU quota, from control groups of both versions.

use std::path::{Component, Path, PathBuf};

use crate::files::read_text;

/// How much CPU time the process's control groups grant it, in cores (1.5 is three
/// cores half of the time); `None` where nothing limits it.
///
/// Every group from the process's own up to the root counts, in both versions of
/// control groups (`cpu.max`; `cpu.cfs_quota_us` over `cpu.cfs_period_us`): the least
/// wins. Files that are missing or make no sense limit nothing.
///
/// ```
/// if let Some(cores) = mely_topology::cpu_quota() {
///     assert!(cores > 0.0);
/// }
/// ```
#[must_use]
pub fn cpu_quota() -> Option<f64> {
    cpu_quota_under(Path::new("/"))
}

/// [`cpu_quota`] as the files under another root tell it.
///
/// ```
/// use std::path::Path;
///
/// assert_eq!(mely_topology::cpu_quota_under(Path::new("/nowhere")), None);
/// ```
#[must_use]
pub fn cpu_quota_under(root: &Path) -> Option<f64> {
    let memberships = read_text(&root.join("proc/self/cgroup"))?;
    let mounts = read_text(&root.join("proc/self/mountinfo")).unwrap_or_default();
    let quotas = memberships.lines().filter_map(|line| {
        let membership = Membership::parse(line)?;
        let mount = Mount::of(membership.version, &mounts);
        mount.least_quota(root, &membership)
    });
    quotas.min_by(f64::total_cmp)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

/// The process's place in a hierarchy of groups that can limit its CPU time.
struct Membership<'a> {
    version: Version,
    path: &'a str,
}

impl<'a> Membership<'a> {
    /// A line of `/proc/self/cgroup`: `0::/path` or `4:cpu,cpuacct:/path`.
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.splitn(3, ':');
        let (id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let version = if id == "0" && controllers.is_empty() {
            Version::V2
        } else if controllers.split(',').any(|name| name == "cpu") {
            Version::V1
        } else {
            return None;
        };
        Some(Self { version, path })
    }
}

/// Where the groups of a hierarchy are visible.
struct Mount {
    /// The group that is mounted, `/` unless only a part of the hierarchy is.
    group: String,
    /// The folder where it is, from the root.
    folder: String,
}

impl Mount {
    /// The mount of that version's CPU controller; its usual place where the list of
    /// mounts does not say.
    fn of(version: Version, mounts: &str) -> Self {
        let found = mounts.lines().find_map(|line| Self::parse(version, line));
        found.unwrap_or_else(|| Self {
            group: "/".into(),
            folder: match version {
                Version::V1 => "/sys/fs/cgroup/cpu".into(),
                Version::V2 => "/sys/fs/cgroup".into(),
            },
        })
    }

    /// A line of `/proc/self/mountinfo`, if it mounts what is looked for.
    fn parse(version: Version, line: &str) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (group, folder) = (place.next()?, place.next()?);
        let mut kind = kind.split(' ');
        let (filesystem, options) = (kind.next()?, kind.nth(1)?);
        let is_wanted = match version {
            Version::V1 => {
                filesystem == "cgroup" && options.split(',').any(|option| option == "cpu")
            }
            Version::V2 => filesystem == "cgroup2",
        };
        is_wanted.then(|| Self {
            group: unescape(group),
            folder: unescape(folder),
        })
    }

    /// The least quota of the groups from the process's own up to the mounted one.
    fn least_quota(&self, root: &Path, membership: &Membership<'_>) -> Option<f64> {
        let top = root.join(self.folder.trim_start_matches('/'));
        let mut group = self.inside(membership.path);
        let mut least: Option<f64> = None;
        loop {
            let quota = read_quota(membership.version, &top.join(&group));
            least = least.into_iter().chain(quota).min_by(f64::total_cmp);
            if !group.pop() {
                return least;
            }
        }
    }

    /// The process's group as a path below the mount.
    ///
    /// A group outside of what is mounted, as in a container whose groups are seen
    /// from the host, leaves the mounted group itself.
    fn inside(&self, path: &str) -> PathBuf {
        let below = Path::new(path).strip_prefix(&self.group);
        let components = below.into_iter().flat_map(Path::components);
        let mut inside = PathBuf::new();
        for component in components {
            match component {
                Component::Normal(name) => inside.push(name),
                Component::RootDir | Component::CurDir => {}
                Component::ParentDir | Component::Prefix(_) => return PathBuf::new(),
            }
        }
        inside
    }
}

fn read_quota(version: Version, group: &Path) -> Option<f64> {
    match version {
        Version::V1 => {
            let quota = read_text(&group.join("cpu.cfs_quota_us"))?;
            let period = read_text(&group.join("cpu.cfs_period_us"))?;
            cores(&quota, &period)
        }
        Version::V2 => {
            let max = read_text(&group.join("cpu.max"))?;
            let (quota, period) = max.split_once(' ')?;
            cores(quota, period)
        }
    }
}

/// Quota over period, both in microseconds. No limit is written `max` or `-1`, which
/// are not the positive numbers that a limit is.
fn cores(quota: &str, period: &str) -> Option<f64> {
    let quota: u64 = quota.parse().ok().filter(|&us| us > 0)?;
    let period: u64 = period.parse().ok().filter(|&us| us > 0)?;
    Some(quota as f64 / period as f64)
}

/// Undoes the kernel's way of writing white space in paths: `\040` is a blank.
fn unescape(path: &str) -> String {
    let mut plain = path.to_owned();
    for (escaped, character) in [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ] {
        plain = plain.replace(escaped, character);
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixtures::FixtureTree;

    const V2_MOUNT: &str =
        "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1_MOUNT: &str =
        "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";

    fn tree(files: &[(&str, &str)]) -> FixtureTree {
        let tree = FixtureTree::new();
        for (path, content) in files {
            tree.root_file(path, content);
        }
        tree
    }

    fn quota(files: &[(&str, &str)]) -> Option<f64> {
        cpu_quota_under(tree(files).root())
    }

    #[test]
    fn the_least_of_the_way_up_wins() {
        let files = [
            ("proc/self/cgroup", "0::/user.slice/a b/job\n"),
            ("proc/self/mountinfo", V2_MOUNT),
            ("sys/fs/cgroup/user.slice/a b/job/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/user.slice/a b/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/user.slice/cpu.max", "400000 100000\n"),
            ("sys/fs/cgroup/other/cpu.max", "1000 100000\n"),
        ];
        assert_eq!(quota(&files), Some(1.5));
    }

    #[test]
    fn a_container_sees_its_group_as_the_root() {
        let namespaced = [
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", V2_MOUNT),
            ("sys/fs/cgroup/cpu.max", "50000 100000\n"),
        ];
        assert_eq!(quota(&namespaced), Some(0.5));
        let outside = [
            ("proc/self/cgroup", "0::/../elsewhere\n"),
            ("proc/self/mountinfo", V2_MOUNT),
            ("sys/fs/cgroup/cpu.max", "50000 100000\n"),
            ("sys/fs/elsewhere/cpu.max", "1000 100000\n"),
        ];
        assert_eq!(quota(&outside), Some(0.5));
    }

    #[test]
    fn version_1_with_a_part_of_the_hierarchy_mounted() {
        let inner = [
            (
                "proc/self/cgroup",
                "3:cpuset:/x\n4:cpu,cpuacct:/docker/abc/inner\n",
            ),
            ("proc/self/mountinfo", V1_MOUNT),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_quota_us", "-1\n"),
            (
                "sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_period_us",
                "100000\n",
            ),
        ];
        assert_eq!(quota(&inner), Some(3.0));
    }

    #[test]
    fn both_versions_at_once_and_no_list_of_mounts() {
        let hybrid = [
            ("proc/self/cgroup", "1:cpu:/\n0::/\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"),
            ("sys/fs/cgroup/cpu.max", "100000 100000"),
        ];
        assert_eq!(quota(&hybrid), Some(1.0));
    }

    #[test]
    fn nothing_limits_where_nothing_is_said() {
        assert_eq!(quota(&[]), None);
        assert_eq!(quota(&[("proc/self/cgroup", "0::/\n")]), None);
        for garbage in [
            "",
            "max",
            "max 100000",
            "0 100000",
            "1 0",
            "-5 7",
            "a b",
            "1  2",
            "99999999999999999999 1",
        ] {
            let files = [
                ("proc/self/cgroup", "0::/\n"),
                ("sys/fs/cgroup/cpu.max", garbage),
            ];
            assert_eq!(quota(&files), None, "{garbage:?}");
        }
    }

    #[test]
    fn blanks_in_mount_points() {
        assert_eq!(unescape("/a\\040b\\134c"), "/a b\\c");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn garbage_never_panics(cgroup in "[0-9:a-z/.,\n]{0,60}|.{0,60}", mounts in "[0-9a-z/ \\-,\n]{0,80}|.{0,80}") {
            let files = [
                ("proc/self/cgroup", cgroup.as_str()),
                ("proc/self/mountinfo", mounts.as_str()),
                ("sys/fs/cgroup/cpu.max", "150000 100000"),
            ];
            prop_assert!(quota(&files).is_none_or(|cores| cores > 0.0));
        }
    }
}
