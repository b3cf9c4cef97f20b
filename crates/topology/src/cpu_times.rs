//! How long a thread ran, and how long it waited for a CPU.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// What the kernel has counted of a thread since it began.
///
/// ```
/// use std::time::Duration;
/// use mely_topology::CpuTimes;
///
/// let times = CpuTimes { ran: Duration::from_millis(70), waited: Duration::from_millis(30) };
/// assert_eq!(times.share_waited(), 0.3);
/// assert_eq!(CpuTimes::default().share_waited(), 0.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// It had a CPU.
    pub ran: Duration,
    /// It could have run, but others had the CPU: the kernel's run delay.
    pub waited: Duration,
}

impl CpuTimes {
    /// What has come since an earlier moment.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            ran: self.ran.saturating_sub(earlier.ran),
            waited: self.waited.saturating_sub(earlier.waited),
        }
    }

    /// The time in which the thread wanted a CPU.
    #[must_use]
    pub fn wanted(self) -> Duration {
        self.ran + self.waited
    }

    /// The part of that time in which it had none, from 0 to 1.
    #[must_use]
    pub fn share_waited(self) -> f64 {
        match self.wanted().as_secs_f64() {
            0.0 => 0.0,
            wanted => self.waited.as_secs_f64() / wanted,
        }
    }
}

/// The kernel's account of one thread: open once, read often (about a microsecond).
///
/// ```
/// let account = mely_topology::CpuAccount::of_current_thread()?;
/// let before = account.read()?;
/// assert!(account.read()?.wanted() >= before.wanted());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct CpuAccount(File);

impl CpuAccount {
    /// Opens the account of the calling thread. Any thread may read it then.
    ///
    /// # Errors
    /// What the system says where `/proc` is hidden, or the kernel keeps no accounts.
    pub fn of_current_thread() -> io::Result<Self> {
        let account = Self(File::open("/proc/thread-self/schedstat")?);
        account.read()?;
        Ok(account)
    }

    /// What has been counted up to now; of the time slice that runs, up to its last
    /// tick.
    ///
    /// # Errors
    /// What the system says; `InvalidData` when the file is not as the kernel writes it.
    pub fn read(&self) -> io::Result<CpuTimes> {
        let mut text = [0; 64];
        let length = self.0.read_at(&mut text, 0)?;
        parse(&text[..length]).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// Nanoseconds run, nanoseconds waited, and the number of time slices.
fn parse(text: &[u8]) -> Option<CpuTimes> {
    let text = std::str::from_utf8(text).ok()?;
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    let mut next = || Some(Duration::from_nanos(numbers.next()?.ok()?));
    Some(CpuTimes {
        ran: next()?,
        waited: next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_line_is_read() {
        let times = parse(b"1000675388 87328974 2018\n").unwrap();
        assert_eq!(times.ran, Duration::from_nanos(1_000_675_388));
        assert_eq!(times.waited, Duration::from_nanos(87_328_974));
        for garbage in [&b""[..], b"1", b"a b c", b"-1 2 3", &[0xff, 0xfe]] {
            assert_eq!(parse(garbage), None, "{garbage:?}");
        }
    }

    #[test]
    fn what_has_come_since_is_what_counts() {
        let at = |ran, waited| CpuTimes {
            ran: Duration::from_millis(ran),
            waited: Duration::from_millis(waited),
        };
        let lately = at(400, 310).since(at(300, 10));
        assert_eq!(lately.wanted(), Duration::from_millis(400));
        assert_eq!(lately.share_waited(), 0.75);
        assert_eq!(at(1, 1).since(at(2, 2)), CpuTimes::default());
    }
}
