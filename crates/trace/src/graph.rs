//! What caused what: the events of a trace, each with the one that posted it.

use std::collections::{HashMap, VecDeque};
use std::io::Read;

use crate::{Error, Origin, Reader, Record, Run, Sourced};

/// The cause of an event that no event posted.
pub const NO_CAUSE: u32 = u32::MAX;

/// An event that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its handler.
    pub handler: u32,
    /// Its color.
    pub color: u64,
    /// The worker that ran it.
    pub worker: u32,
    /// The event that posted it, as an index of [`Graph::events`]; [`NO_CAUSE`] if that
    /// is not known or none did.
    pub cause: u32,
    /// Its place among the posts of its cause, from 0.
    pub place: u32,
    /// When it was posted, in cycles since the start of the trace: for an event without a
    /// cause. 0 for others.
    pub posted: u64,
    /// When it began.
    pub start: u64,
    /// The cycles that it took.
    pub cost: u64,
}

/// A post that has not been paired with its run.
#[derive(Clone, Copy, Debug)]
struct Pending {
    handler: u32,
    cause: u32,
    place: u32,
    posted: u64,
}

/// The events of a trace with their causes, in memory: what a replay needs.
///
/// Runs are paired with posts by color, poster and order. Where records were lost,
/// the events that they are of have no cause, and their time of posting is that of
/// their run.
///
/// ```
/// use mely_trace::{Block, Graph, Header, NO_CAUSE, Reader, Run, Writer};
/// let mut writer = Writer::new(Vec::new(), &Header::new(1, 1e9))?;
/// writer.handlers(&[(1, "Ping"), (2, "Pong")])?;
/// let mut block = Block::new(0);
/// block.root(10, 1, 70);
/// block.post(2, 80);
/// block.run(Run { handler: 1, color: 70, posted_by: 0, start: 20, cost: 5, panicked: false });
/// block.run(Run { handler: 2, color: 80, posted_by: 0, start: 30, cost: 9, panicked: false });
/// writer.block(&block)?;
/// let file = writer.finish(40)?;
///
/// let graph = Graph::read(&mut Reader::new(&file[..])?)?;
/// let [ping, pong] = graph.events[..] else { panic!("two events") };
/// assert_eq!((ping.cause, ping.posted, pong.cause), (NO_CAUSE, 10, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// All events, in the order of the file.
    pub events: Vec<Event>,
    /// Events whose post is not in the trace.
    pub without_post: u64,
    /// Posts whose event did not run, or ran unrecorded.
    pub without_run: u64,
    /// Records that are missing.
    pub lost: u64,
}

/// The runs that are not yet paired: their posts are in blocks to come.
type Waiting = HashMap<(u32, u64), Queue>;

/// The posts of a source to a color, and its runs, both oldest first. One of the two
/// may be ahead, as blocks of different workers come in any order.
#[derive(Debug, Default)]
struct Queue {
    posts: VecDeque<Pending>,
    runs: VecDeque<u32>,
}

impl Graph {
    /// The events that are kept at the most, of 56 bytes each: 4 GB of memory.
    pub const EVENTS_MAX: u32 = 1 << 26;

    /// Reads all that is left of a trace.
    ///
    /// # Errors
    ///
    /// What [`Reader::next_record`] says, and [`Error::TooMany`] for more events than
    /// [`EVENTS_MAX`](Self::EVENTS_MAX).
    pub fn read<R: Read>(reader: &mut Reader<R>) -> Result<Self, Error> {
        let sources = reader.header().workers() as usize + 1;
        let mut build = Build {
            graph: Graph::default(),
            by_event: vec![Vec::new(); sources],
            waiting: Waiting::new(),
        };
        while let Some(record) = reader.next_record()? {
            build.take(record)?;
        }
        Ok(build.end())
    }
}

struct Build {
    graph: Graph,
    /// For each source the posts of the event whose run is to come.
    by_event: Vec<Vec<(u64, u32)>>,
    waiting: Waiting,
}

impl Build {
    fn take(&mut self, Sourced { source, record }: Sourced) -> Result<(), Error> {
        let posts = &mut self.by_event[source as usize];
        match record {
            Record::Post {
                handler,
                color,
                origin: Origin::Event,
            } => posts.push((color, handler)),
            Record::Post {
                handler,
                color,
                origin: Origin::Root(posted),
            } => {
                let post = Pending {
                    handler,
                    cause: NO_CAUSE,
                    place: 0,
                    posted,
                };
                self.post(source, color, post);
            }
            Record::Run(run) => self.run(source, &run)?,
            Record::Lost(lost) => {
                self.graph.lost = self.graph.lost.saturating_add(lost);
                // They may be of the event whose run is lost.
                self.graph.without_run += posts.len() as u64;
                posts.clear();
            }
        }
        Ok(())
    }

    fn run(&mut self, source: u32, run: &Run) -> Result<(), Error> {
        let number = match u32::try_from(self.graph.events.len()) {
            Ok(number) if number < Graph::EVENTS_MAX => number,
            _ => {
                return Err(Error::TooMany {
                    what: "events",
                    max: u64::from(Graph::EVENTS_MAX),
                });
            }
        };
        self.graph.events.push(Event {
            handler: run.handler,
            color: run.color,
            worker: source,
            cause: NO_CAUSE,
            place: 0,
            posted: run.start,
            start: run.start,
            cost: run.cost,
        });
        let posts = std::mem::take(&mut self.by_event[source as usize]);
        for (place, &(color, handler)) in (0..).zip(&posts) {
            let post = Pending {
                handler,
                cause: number,
                place,
                posted: 0,
            };
            self.post(source, color, post);
        }
        // Its memory is used again.
        self.by_event[source as usize] = posts;
        self.by_event[source as usize].clear();
        let queue = self.waiting.entry((run.posted_by, run.color)).or_default();
        queue.runs.push_back(number);
        self.pair(run.posted_by, run.color);
        Ok(())
    }

    fn post(&mut self, source: u32, color: u64, post: Pending) {
        let queue = self.waiting.entry((source, color)).or_default();
        queue.posts.push_back(post);
        self.pair(source, color);
    }

    /// Pairs the posts and runs of a source and a color that are both there.
    fn pair(&mut self, source: u32, color: u64) {
        let Some(queue) = self.waiting.get_mut(&(source, color)) else {
            return;
        };
        while let (Some(&run), Some(_)) = (queue.runs.front(), queue.posts.front()) {
            let event = &mut self.graph.events[run as usize];
            // A post that was lost is noticed by the handler, where it differs; 0 is
            // one that was not looked up.
            let fits = |p: &Pending| p.handler == event.handler || p.handler == 0;
            while let Some(post) = queue.posts.pop_front() {
                if fits(&post) {
                    (event.cause, event.place) = (post.cause, post.place);
                    event.posted = post.posted;
                    queue.runs.pop_front();
                    break;
                }
                self.graph.without_run += 1;
            }
        }
        if queue.runs.is_empty() && queue.posts.is_empty() {
            self.waiting.remove(&(source, color));
        }
    }

    fn end(mut self) -> Graph {
        for queue in self.waiting.values() {
            self.graph.without_run += queue.posts.len() as u64;
            self.graph.without_post += queue.runs.len() as u64;
        }
        let left = self.by_event.iter().map(|posts| posts.len() as u64);
        self.graph.without_run += left.sum::<u64>();
        self.graph
    }
}
