//! The thread that writes.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender};

use mely_trace::{Block, END_BYTES, Writer};

use super::{Message, TraceReport};
use crate::event::handler::names_from;

/// A file that is being written.
struct Traced<W> {
    writer: Writer<W>,
    /// How many handlers it names.
    named: usize,
}

impl<W: io::Write> Traced<W> {
    /// Names what is new. A handler is known to the process before an event of it is
    /// recorded, so all events of a block that is here are of those.
    fn name_new(&mut self) -> io::Result<()> {
        let new = names_from(self.named);
        let numbered: Vec<_> = (self.named as u32..).zip(new).collect();
        self.named += numbered.len();
        match numbered.is_empty() {
            true => Ok(()),
            false => self.writer.handlers(&numbered),
        }
    }

    fn block(&mut self, block: &Block) -> io::Result<()> {
        self.name_new()?;
        self.writer.block(block)
    }
}

/// Writes all blocks that come, and gives them back to be filled again. After an error
/// it only gives them back: the program goes on.
pub(super) fn write<W: io::Write>(
    path: &Path,
    writer: Writer<W>,
    messages: &Receiver<Message>,
    written: &[Sender<Block>],
) -> TraceReport {
    let mut traced = Traced { writer, named: 0 };
    let mut report = TraceReport {
        path: path.to_owned(),
        records: 0,
        lost: 0,
        bytes: 0,
        error: None,
    };
    let mut unwritten = 0;
    let mut end = None;
    for message in messages {
        match message {
            Message::Block(block) => {
                if report.error.is_some() {
                    unwritten += u64::from(block.records()) + block.lost();
                } else if let Err(error) = traced.block(&block) {
                    unwritten += u64::from(block.records()) + block.lost();
                    report.error = Some(error.to_string());
                }
                if let Some(source) = written.get(usize::from(block.source())) {
                    // A source that has ended needs it no more.
                    drop(source.send(block));
                }
            }
            Message::End(at) => {
                end = Some(at);
                break;
            }
        }
    }
    let Traced { writer, .. } = traced;
    report.records = writer.records();
    report.lost = writer.lost() + unwritten;
    report.bytes = writer.bytes();
    if report.error.is_none() {
        report.error = match end.map(|at| writer.finish(at)) {
            Some(Ok(_)) => {
                report.bytes += END_BYTES;
                None
            }
            Some(Err(error)) => Some(error.to_string()),
            None => Some("the runtime did not start".to_owned()),
        };
    }
    report
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::mpsc;

    use mely_trace::Header;

    use super::*;

    /// Takes so many bytes, then none.
    struct Disk(usize);

    impl io::Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            match taken {
                0 => Err(io::Error::new(
                    io::ErrorKind::StorageFull,
                    "the disk is full",
                )),
                taken => Ok(taken),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_loses_the_rest_gives_blocks_back_and_is_told() {
        let ((to_file, messages), (empty, emptied)) = (mpsc::channel(), mpsc::channel());
        for _ in 0..3 {
            let mut block = Block::new(0);
            block.post(0, 9);
            to_file.send(Message::Block(block)).unwrap();
        }
        to_file.send(Message::End(1)).unwrap();
        let header = Header::new(1, 1e9);
        let writer = Writer::new(Disk(100), &header).unwrap();
        let report = write(Path::new("trace"), writer, &messages, &[empty]);
        assert_eq!(report.records + report.lost, 3);
        assert!(report.lost > 0);
        assert!(report.error.unwrap().contains("disk is full"));
        assert_eq!(emptied.try_iter().count(), 3);
    }
}
