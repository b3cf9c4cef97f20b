//! A process that keeps a core busy, as another program on the machine would.

use std::io;
use std::process::{Child, Command, Stdio};
use std::thread;

use mely::topology::{allowed_cpus, pin_current_thread};

/// A process that spins on the first core that this one may use, until dropped.
#[derive(Debug)]
pub(crate) struct Foreign(Child);

/// Spins for as long as its parent lives: it must not outlive a run that was killed.
const SPIN: &str = "while kill -0 $PPID; do i=0; \
                    while [ $i -lt 100000 ]; do i=$((i + 1)); done; done";

impl Foreign {
    /// Starts it.
    pub(crate) fn start() -> io::Result<Self> {
        let start = || {
            // A process inherits the cores of the thread that starts it.
            if let Some(first) = allowed_cpus().iter().next() {
                pin_current_thread(first)?;
            }
            Command::new("sh")
                .args(["-c", SPIN])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
        };
        let started = thread::spawn(start).join();
        started
            .unwrap_or_else(|_| Err(io::Error::other("its thread panicked")))
            .map(Self)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        // One that has ended already needs no end; its time counts as ours only once
        // it was waited for.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn it_runs_on_the_first_core_until_dropped() {
        let foreign = Foreign::start().unwrap();
        let folder = format!("/proc/{}", foreign.0.id());
        let status = fs::read_to_string(format!("{folder}/status")).unwrap();
        let cores = status
            .lines()
            .find_map(|l| l.strip_prefix("Cpus_allowed_list:"));
        let first = allowed_cpus().iter().next().unwrap().to_string();
        assert_eq!(cores.map(str::trim), Some(first.as_str()));
        drop(foreign);
        assert!(!fs::exists(folder).unwrap());
    }
}
