//! What caused what: the events of a trace, each with the one that posted it.

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
    /// The source that posted it: a worker, or the threads outside.
    pub posted_by: u32,
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

/// A post, to be paired with the run of its event.
#[derive(Clone, Copy, Debug)]
struct Post {
    source: u32,
    color: u64,
    handler: u32,
    cause: u32,
    place: u32,
    posted: u64,
}

/// The events of a trace with their causes, in memory: what a replay needs.
///
/// Runs are paired with posts by color, poster and order. Where records were lost,
/// the events that they are of have no cause, and their time of posting is that of
/// their run; others of the same color, handler and poster may be given the cause of
/// one that was lost.
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

impl Graph {
    /// The events that are kept at the most, of 64 bytes each: 4 GB of memory, and
    /// about as much for their posts while they are read.
    pub const EVENTS_MAX: u32 = 1 << 26;

    /// Reads all that is left of a trace.
    ///
    /// # Errors
    ///
    /// What [`Reader::next_record`] says, and [`Error::TooMany`] for more events than
    /// [`EVENTS_MAX`](Self::EVENTS_MAX).
    pub fn read<R: Read>(reader: &mut Reader<R>) -> Result<Self, Error> {
        let (graph, end) = Self::read_whole(reader);
        end.map(|()| graph)
    }

    /// Reads as far as the trace is whole: what there is before the first error, and
    /// that error.
    ///
    /// ```
    /// # use mely_trace::{Block, Graph, Header, Reader, Run, Writer};
    /// let mut writer = Writer::new(Vec::new(), &Header::new(1, 1e9))?;
    /// writer.handlers(&[(1, "Ping")])?;
    /// let mut block = Block::new(0);
    /// block.run(Run { handler: 1, color: 7, posted_by: 0, start: 20, cost: 5, panicked: false });
    /// writer.block(&block)?;
    /// let file = writer.finish(40)?;
    /// let cut = &file[..file.len() - 1];
    /// let (graph, end) = Graph::read_whole(&mut Reader::new(cut)?);
    /// assert_eq!(graph.events.len(), 1);
    /// assert!(end.unwrap_err().is_truncation());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_whole<R: Read>(reader: &mut Reader<R>) -> (Self, Result<(), Error>) {
        let sources = reader.header().workers() as usize + 1;
        let mut build = Build {
            graph: Graph::default(),
            by_event: vec![Vec::new(); sources],
            posts: Vec::new(),
        };
        let end = build.read(reader);
        (build.end(), end)
    }
}

struct Build {
    graph: Graph,
    /// For each source the posts of the event whose run is to come.
    by_event: Vec<Vec<(u64, u32)>>,
    /// All posts, those of a source in its order.
    posts: Vec<Post>,
}

impl Build {
    fn read<R: Read>(&mut self, reader: &mut Reader<R>) -> Result<(), Error> {
        while let Some(record) = reader.next_record()? {
            self.take(record)?;
        }
        Ok(())
    }

    fn take(&mut self, Sourced { source, record }: Sourced) -> Result<(), Error> {
        let by_event = &mut self.by_event[source as usize];
        match record {
            Record::Post {
                handler,
                color,
                origin: Origin::Event,
            } => by_event.push((color, handler)),
            Record::Post {
                handler,
                color,
                origin: Origin::Root(posted),
            } => self.posts.push(Post {
                source,
                color,
                handler,
                cause: NO_CAUSE,
                place: 0,
                posted,
            }),
            Record::Run(run) => self.run(source, &run)?,
            Record::Lost(lost) => {
                self.graph.lost = self.graph.lost.saturating_add(lost);
                // They may be of an event whose run is lost.
                self.graph.without_run += by_event.len() as u64;
                by_event.clear();
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
            posted_by: run.posted_by,
            cause: NO_CAUSE,
            place: 0,
            posted: run.start,
            start: run.start,
            cost: run.cost,
        });
        let posts = (0..).zip(self.by_event[source as usize].drain(..));
        self.posts
            .extend(posts.map(|(place, (color, handler))| Post {
                source,
                color,
                handler,
                cause: number,
                place,
                posted: run.start,
            }));
        Ok(())
    }

    /// Pairs posts and runs: those of the same poster and color, in their order. A color
    /// moves between workers, and their blocks come in any order: its runs are in order
    /// by their time, as one ends before the next begins.
    fn end(mut self) -> Graph {
        let left = self.by_event.iter().map(|posts| posts.len() as u64);
        self.graph.without_run += left.sum::<u64>();
        self.posts.sort_by_key(|post| (post.source, post.color));
        let events = &mut self.graph.events;
        let mut runs: Vec<u32> = (0..events.len() as u32).collect();
        runs.sort_by_key(|&run| {
            let event = &events[run as usize];
            (event.posted_by, event.color, event.start)
        });
        let mut posts = self.posts.iter().peekable();
        for run in runs {
            let event = &mut events[run as usize];
            let key = (event.posted_by, event.color);
            let post = loop {
                let is_before = |post: &&Post| (post.source, post.color) <= key;
                let Some(post) = posts.peek().copied().filter(is_before) else {
                    break None;
                };
                if (post.source, post.color) == key
                    && self.graph.lost > 0
                    && post.posted > event.start
                {
                    // Its own post is lost.
                    break None;
                }
                posts.next();
                if (post.source, post.color) == key && post.is_of(event) {
                    break Some(post);
                }
                self.graph.without_run += 1;
            };
            match post {
                Some(post) => {
                    (event.cause, event.place) = (post.cause, post.place);
                    event.posted = if post.cause == NO_CAUSE {
                        post.posted
                    } else {
                        0
                    };
                }
                None => self.graph.without_post += 1,
            }
        }
        self.graph.without_run += posts.count() as u64;
        self.graph
    }
}

impl Post {
    /// Whether it may be the post of an event: 0 is a handler that was not looked up.
    fn is_of(&self, event: &Event) -> bool {
        self.handler == event.handler || self.handler == 0
    }
}
