//! Signals, as events of a color.

use std::io::{self, Read};

use crate::color::Colored;
use crate::color::context::Context;
use crate::event::handler::Handler;
use crate::outside::net::UnixStream;

/// The signal that a terminal sends on Ctrl-C.
pub const SIGINT: i32 = signal_hook::consts::SIGINT;
/// The signal that asks a process to end.
pub const SIGTERM: i32 = signal_hook::consts::SIGTERM;
/// The signal that asks a server to look at its configuration again.
pub const SIGHUP: i32 = signal_hook::consts::SIGHUP;

/// The last of Linux' signals.
const SIGNAL_MAX: i32 = 64;

/// Those that the C library keeps for itself.
const LIBRARY: core::ops::RangeInclusive<i32> = 32..=33;

static SIGNAL: Handler = Handler::new("Signal");

/// Signals that are being watched, until this is dropped.
#[derive(Debug)]
#[must_use = "signals are watched until this is dropped"]
pub struct Signals {
    streams: Vec<UnixStream>,
    ids: Vec<signal_hook::SigId>,
}

impl Signals {
    /// Posts an event to `target` for each of `signals` that arrives; several of
    /// one number that arrive close together may be one event. Their default
    /// action is off from then on, also after the watch has ended.
    ///
    /// # Errors
    ///
    /// What the system says. If one of the signals cannot be caught, or there is no such
    /// signal, none is, and all keep their default action.
    pub fn watch<T, F>(signals: &[i32], target: &Colored<T>, call: F) -> io::Result<Self>
    where
        T: Send + 'static,
        F: Fn(&mut T, &mut Context<'_, T>, i32) + Clone + Send + Sync + 'static,
    {
        // Before any is caught: the first one would have lost its default action.
        signals.iter().try_for_each(|&signal| check(signal))?;
        let (mut streams, mut pipes) = (Vec::new(), Vec::new());
        for &signal in signals {
            let (read, write) = std::os::unix::net::UnixStream::pair()?;
            let drained = read.try_clone()?;
            let mut stream = UnixStream::new(read)?;
            let call = call.clone();
            stream.watch(target, &SIGNAL, move |state, cx, _ready| {
                let (mut bytes, mut arrived) = ([0; 64], false);
                while let Ok(count @ 1..) = (&drained).read(&mut bytes) {
                    arrived = true;
                    if count < bytes.len() {
                        break;
                    }
                }
                if arrived {
                    call(state, cx, signal);
                }
            })?;
            streams.push(stream);
            pipes.push((signal, write));
        }
        let mut watched = Self {
            streams,
            ids: Vec::new(),
        };
        for (signal, pipe) in pipes {
            let id = signal_hook::low_level::pipe::register(signal, pipe)?;
            watched.ids.push(id);
        }
        Ok(watched)
    }
}

/// Whether there is such a signal, and it can be caught.
fn check(signal: i32) -> io::Result<()> {
    let is_caught = (1..=SIGNAL_MAX).contains(&signal)
        && !LIBRARY.contains(&signal)
        && !signal_hook::consts::FORBIDDEN.contains(&signal);
    if is_caught {
        return Ok(());
    }
    let why = format!("signal {signal} cannot be caught");
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            signal_hook::low_level::unregister(id);
        }
        self.streams.clear();
    }
}
