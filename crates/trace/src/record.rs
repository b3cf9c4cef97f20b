//! Records: what happened, as bytes of a block.

use crate::bytes::{Bytes, Packed};

const POST: u8 = 1;
const ROOT: u8 = 2;
const RUN: u8 = 3;
const RUN_PANICKED: u8 = 4;

/// What caused a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The event whose run is the next one in the same source.
    Event,
    /// No event: a timer, readiness of a descriptor, or a thread outside, at this time
    /// in cycles.
    Root(u64),
}

/// The run of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its handler.
    pub handler: u32,
    /// Its color.
    pub color: u64,
    /// The source that posted it: a worker, or the threads outside.
    pub posted_by: u32,
    /// When it began, in cycles since the start of the trace.
    pub start: u64,
    /// The cycles that it took.
    pub cost: u64,
    /// Whether it ended with a panic.
    pub panicked: bool,
}

/// Something that a source recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// An event was posted.
    Post {
        /// Its handler; 0 where that was not looked up yet, for posts from outside.
        handler: u32,
        /// Its color.
        color: u64,
        /// What caused it.
        origin: Origin,
    },
    /// An event ran; its posts came before.
    Run(Run),
    /// So many records of this source are missing here: the file could not be written
    /// as fast as they came.
    Lost(u64),
}

/// Times within a block, each given by what has passed since the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times(u64);

impl Times {
    /// What has passed; a time before the last one counts as that.
    #[inline]
    fn passed(&mut self, time: u64) -> u64 {
        let passed = time.saturating_sub(self.0);
        self.0 += passed;
        passed
    }

    fn after(&mut self, passed: u64) -> Option<u64> {
        self.0 = self.0.checked_add(passed)?;
        Some(self.0)
    }
}

#[inline]
pub(crate) fn put_post(out: &mut Vec<u8>, handler: u32, color: u64) {
    let mut packed = Packed::new(POST);
    packed.put(u64::from(handler));
    packed.put(color);
    packed.append_to(out);
}

#[inline]
pub(crate) fn put_root(out: &mut Vec<u8>, times: &mut Times, time: u64, handler: u32, color: u64) {
    let mut packed = Packed::new(ROOT);
    packed.put(times.passed(time));
    packed.put(u64::from(handler));
    packed.put(color);
    packed.append_to(out);
}

#[inline]
pub(crate) fn put_run(out: &mut Vec<u8>, times: &mut Times, run: &Run) {
    let mut packed = Packed::new(if run.panicked { RUN_PANICKED } else { RUN });
    packed.put(u64::from(run.handler));
    packed.put(run.color);
    packed.put(u64::from(run.posted_by));
    packed.put(times.passed(run.start));
    packed.put(run.cost);
    packed.append_to(out);
}

/// Takes a record; `None` if the bytes are none.
pub(crate) fn take(bytes: &mut Bytes<'_>, times: &mut Times) -> Option<Record> {
    let tag = bytes.u8()?;
    let time = match tag {
        ROOT => Some(bytes.varint()?),
        _ => None,
    };
    let handler = u32::try_from(bytes.varint()?).ok()?;
    let color = bytes.varint()?;
    match tag {
        POST => Some(Record::Post {
            handler,
            color,
            origin: Origin::Event,
        }),
        ROOT => Some(Record::Post {
            handler,
            color,
            origin: Origin::Root(times.after(time?)?),
        }),
        RUN | RUN_PANICKED => Some(Record::Run(Run {
            handler,
            color,
            posted_by: u32::try_from(bytes.varint()?).ok()?,
            start: times.after(bytes.varint()?)?,
            cost: bytes.varint()?,
            panicked: tag == RUN_PANICKED,
        })),
        _ => None,
    }
}
