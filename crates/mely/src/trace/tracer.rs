//! What a source records: a worker, or all threads outside together.

use std::sync::mpsc::{Receiver, Sender};

use mely_trace::{Block, Run};

use super::Message;
use crate::event::handler::HandlerId;

/// The blocks of a source, of 64 KiB each: while the file takes 10 ms for something
/// else, 10 million records a second still fit.
const BLOCKS_MAX: usize = 16;

/// The event that is being run.
#[derive(Clone, Copy)]
struct Running {
    handler: HandlerId,
    color: u64,
    start: u64,
}

/// What a source records, and where that goes.
pub(crate) struct Tracer {
    source: u16,
    /// The source that stands for threads outside.
    outside: u16,
    origin: u64,
    block: Block,
    blocks: usize,
    running: Option<Running>,
    to_file: Sender<Message>,
    emptied: Receiver<Block>,
}

impl Tracer {
    pub(super) fn new(
        source: u16,
        outside: u16,
        origin: u64,
        to_file: Sender<Message>,
        emptied: Receiver<Block>,
    ) -> Self {
        Self {
            source,
            outside,
            origin,
            block: Block::new(source),
            blocks: 1,
            running: None,
            to_file,
            emptied,
        }
    }

    /// Its number.
    pub(crate) fn source(&self) -> u16 {
        self.source
    }

    /// Records a post: by the event that is being run, else by none at the time `now`.
    pub(crate) fn post(&mut self, handler: HandlerId, color: u64, now: impl FnOnce() -> u64) {
        self.make_room();
        let handler = handler.index() as u32;
        match self.running {
            Some(_) => self.block.post(handler, color),
            None => {
                let time = now().saturating_sub(self.origin);
                self.block.root(time, handler, color);
            }
        }
    }

    /// An event is about to be run.
    pub(crate) fn begin(&mut self, handler: HandlerId, color: u64, start: u64) {
        self.running = Some(Running {
            handler,
            color,
            start,
        });
    }

    /// The event has ended at a time.
    pub(crate) fn end(&mut self, end: u64, panicked: bool) {
        let Some(running) = self.running.take() else {
            return;
        };
        self.make_room();
        self.block.run(Run {
            handler: running.handler.index() as u32,
            color: running.color,
            posted_by: u32::from(running.handler.posted_by().unwrap_or(self.outside)),
            start: running.start.saturating_sub(self.origin),
            cost: end.saturating_sub(running.start),
            panicked,
        });
    }

    /// Hands over what there is.
    pub(crate) fn finish(&mut self) {
        if self.block.records() > 0 || self.block.lost() > 0 {
            self.hand_over(Block::new(self.source));
        }
    }

    fn make_room(&mut self) {
        if !self.block.has_room() {
            self.change_block();
        }
    }

    #[cold]
    fn change_block(&mut self) {
        let emptied = self.emptied.try_recv().ok();
        match emptied {
            Some(mut empty) => {
                empty.reuse(0);
                self.hand_over(empty);
            }
            None if self.blocks < BLOCKS_MAX => {
                self.blocks += 1;
                self.hand_over(Block::new(self.source));
            }
            None => {
                let lost = self.block.lost() + u64::from(self.block.records());
                self.block.reuse(lost);
            }
        }
    }

    fn hand_over(&mut self, next: Block) {
        let full = std::mem::replace(&mut self.block, next);
        // An error means that the file has ended before this source did: a handler
        // did not return in time.
        drop(self.to_file.send(Message::Block(full)));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::mpsc;

    use mely_trace::{Header, Reader, Record, Writer};

    use super::*;

    #[test]
    fn a_source_that_nobody_empties_counts_what_it_loses_and_says_where() {
        let ((to_file, messages), (empty, emptied)) = (mpsc::channel(), mpsc::channel());
        let mut tracer = Tracer::new(0, 1, 0, to_file, emptied);
        let mut posted = 0;
        let mut post = |tracer: &mut Tracer, posts: u64| {
            (0..posts).for_each(|_| tracer.post(HandlerId::UNRESOLVED, 5, || 0));
            posted += posts;
        };
        // Some four bytes each: far more than fits.
        post(&mut tracer, 1_000_000);
        let mut writer = Writer::new(Vec::new(), &Header::new(1, 1e9)).unwrap();
        writer.handlers(&[(0, "(unresolved)")]).unwrap();
        let mut write = |message| match message {
            Message::Block(block) => {
                writer.block(&block).unwrap();
                empty.send(block).unwrap();
            }
            Message::End(_) => unreachable!("nobody has ended it"),
        };
        messages.try_iter().for_each(&mut write);
        post(&mut tracer, 100_000);
        tracer.finish();
        messages.try_iter().for_each(&mut write);
        let (records, lost) = (writer.records(), writer.lost());
        assert!(records > 0 && lost > 0);
        assert_eq!(records + lost, posted);
        let file = writer.finish(1).unwrap();

        let mut reader = Reader::new(&file[..]).unwrap();
        let (mut before, mut marks) = (0, Vec::new());
        while let Some(read) = reader.next_record().unwrap() {
            match read.record {
                Record::Lost(lost) => marks.push((before, lost)),
                _ => before += 1,
            }
        }
        // All that was lost was lost at one place: when no block was left.
        assert_eq!(marks.len(), 1);
        assert_eq!(marks[0].1, lost);
        assert!(marks[0].0 > 0 && marks[0].0 < before);
    }
}
