//! What a descriptor is ready for.

use rustix::event::epoll::EventFlags;

/// What a descriptor is ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// There may be something to read, or to accept, or the end of the stream.
    pub readable: bool,
    /// There may be room to write.
    pub writable: bool,
    /// The peer will send no more, or is gone.
    pub closed: bool,
}

impl Readiness {
    pub(super) fn from_bits(bits: u32) -> Self {
        let flags = EventFlags::from_bits_retain(bits);
        let gone = EventFlags::HUP | EventFlags::ERR;
        Self {
            readable: flags.intersects(EventFlags::IN | EventFlags::RDHUP | gone),
            writable: flags.intersects(EventFlags::OUT | gone),
            closed: flags.intersects(EventFlags::RDHUP | gone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_makes_a_descriptor_ready_for_everything() {
        let ready = Readiness::from_bits(EventFlags::ERR.bits());
        assert!(ready.readable && ready.writable && ready.closed);
    }
}
