//! What the machine is that the figures come from.

use std::fmt;
use std::fs;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// Facts that a figure means nothing without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// Cores that the process may use.
    pub(crate) cores: usize,
    /// The processor, as the kernel names it.
    pub(crate) model: String,
    /// The kernel's release.
    pub(crate) kernel: String,
    /// The compiler that is installed.
    pub(crate) rustc: String,
}

impl Machine {
    pub(crate) fn detect() -> Self {
        let unknown = || "unknown".to_owned();
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease");
        Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            model: model(&cpuinfo).map_or_else(unknown, str::to_owned),
            kernel: kernel.map_or_else(|_| unknown(), |text| text.trim().to_owned()),
            rustc: rustc_version().unwrap_or_else(unknown),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cores,
            model,
            kernel,
            rustc,
        } = self;
        write!(f, "{cores} cores of {model}, Linux {kernel}, rustc {rustc}")
    }
}

fn model(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, model)| model.trim())
}

fn rustc_version() -> Option<String> {
    let output = Command::new("rustc").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().trim_start_matches("rustc ").to_owned())
}
