//! Whether something else used the machine during a run.

use std::fs;

/// A run is disturbed if others used more than this part of all cores.
const LIMIT: f64 = 0.10;

/// The processor time that has been used so far, in ticks of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Ticks that could be used: idle or not, over all cores.
    available: u64,
    /// Ticks that were, also by other guests of the host.
    used: u64,
    /// Ticks of this process and of its children that have ended.
    own: u64,
}

impl Usage {
    /// Reads the kernel's counters; `None` where there are none to be read.
    pub(crate) fn now() -> Option<Self> {
        let all = fs::read_to_string("/proc/stat").ok()?;
        let own = fs::read_to_string("/proc/self/stat").ok()?;
        Self::read(&all, &own)
    }

    fn read(all: &str, own: &str) -> Option<Self> {
        let fields = all.lines().next()?.strip_prefix("cpu ")?;
        let fields: Vec<u64> = fields.split_whitespace().flat_map(str::parse).collect();
        // user nice system idle iowait irq softirq steal; guests are part of user.
        let fields = fields.get(..8)?;
        let available = fields.iter().sum();
        // The name, in parentheses, may contain anything; the state comes first
        // after it, utime stime cutime cstime are numbers 11 to 14.
        let (_, own) = own.rsplit_once(')')?;
        let own: Vec<&str> = own.split_whitespace().collect();
        let own: Vec<u64> = own.get(11..15)?.iter().flat_map(|n| n.parse()).collect();
        Some(Self {
            available,
            used: available - fields[3] - fields[4],
            own: own.iter().sum(),
        })
    }

    /// The part of the machine that others used since `before`.
    pub(crate) fn of_others_since(self, before: Self) -> f64 {
        let used = self.used.saturating_sub(before.used);
        let own = self.own.saturating_sub(before.own);
        let available = self.available.saturating_sub(before.available);
        used.saturating_sub(own) as f64 / available.max(1) as f64
    }

    /// Whether a run that began at `before` does not count.
    pub(crate) fn disturbed_since(self, before: Self) -> bool {
        self.of_others_since(before) > LIMIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(busy: u64, idle: u64, steal: u64, own: u64) -> Usage {
        let all = format!("cpu  {busy} 0 0 {idle} 0 0 0 {steal} 0 0\ncpu0 1 2\n");
        let own = format!("12 (a ) name) R 1 1 1 0 -1 0 0 0 0 0 {own} 0 0 0 20 0 1\n");
        Usage::read(&all, &own).unwrap()
    }

    #[test]
    fn what_others_use_is_told_from_what_we_use() {
        let before = usage(100, 1000, 0, 50);
        assert!(!usage(300, 1000, 0, 250).disturbed_since(before));
        assert!(!usage(315, 1085, 0, 250).disturbed_since(before));
        assert!(usage(340, 1000, 0, 250).disturbed_since(before));
        assert!(usage(300, 1000, 40, 250).disturbed_since(before));
    }

    #[test]
    fn a_file_that_is_something_else_gives_none() {
        assert_eq!(Usage::read("cpu  1 2 3", "1 (x) R"), None);
        assert_eq!(Usage::read("", ""), None);
    }
}
