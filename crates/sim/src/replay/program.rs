//! The events of a trace, each with what it posted.

use std::collections::HashMap;
use std::io::Read;

use mely_trace::{Event, Graph, Handlers, NO_CAUSE, Reader};

use super::figures::{Delays, Figures};
use crate::mely::Handler;

/// What a post takes in production, which is part of the recorded cost of the event
/// that posts, and which the simulation charges for itself: some 20 ns, as measured
/// for `Colored::post`.
const POST_SECONDS: f64 = 20e-9;

/// An event, as it is run again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Of the program.
    pub(super) handler: u32,
    /// Of the program.
    pub(super) color: u32,
    /// When it arrives, for a root: in recorded cycles since the first of them.
    pub(super) arrival: u64,
    /// In recorded cycles, without its posts.
    pub(super) cost: u64,
}

/// A color of the trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hue {
    pub(super) number: u64,
    /// How many events it has.
    pub(super) events: u32,
}

/// The events of a trace, each with what it posted.
pub struct Program {
    pub(super) nodes: Vec<Node>,
    /// What each posts is in `children`, from here to that of the next one.
    first_child: Vec<u32>,
    children: Vec<u32>,
    /// Those without a cause, in the order of their arrival.
    pub(super) roots: Vec<u32>,
    pub(super) hues: Vec<Hue>,
    pub(super) handlers: Vec<&'static Handler>,
    pub(super) cycles_per_second: f64,
    recorded: Figures,
    policy: String,
    lost: u64,
}

impl Program {
    /// Reads what is left of a trace, as far as it is whole; and what it ends with.
    ///
    /// Handlers are annotated with the mean of what their events took, as a programmer
    /// would who measured them: policies that do not learn go by that. Their names are
    /// kept until the process ends.
    ///
    /// # Errors
    ///
    /// In the second place, what [`Graph::read`] says.
    pub fn read<R: Read>(reader: &mut Reader<R>) -> (Self, Result<(), mely_trace::Error>) {
        let (graph, end) = Graph::read_whole(reader);
        let header = reader.header();
        let mut program = Self::of(&graph.events, header.cycles_per_second);
        program.recorded.utilisation.resize(header.cores.len(), 0.0);
        program.policy.clone_from(&header.policy);
        program.lost = graph.lost;
        program.handlers = handlers(&graph.events, &mut program.nodes, reader.handlers());
        (program, end)
    }

    fn of(events: &[Event], cycles_per_second: f64) -> Self {
        let is_root = |event: &Event| {
            // Of a damaged trace, so that nothing is its own cause.
            event.cause == NO_CAUSE || events[event.cause as usize].start >= event.start
        };
        let numbers = 0..events.len() as u32;
        let (mut roots, mut children): (Vec<u32>, Vec<u32>) =
            numbers.partition(|&number| is_root(&events[number as usize]));
        let arrival = |number: u32| {
            let event = &events[number as usize];
            match event.cause {
                NO_CAUSE => event.posted.min(event.start),
                _ => event.start,
            }
        };
        // Those that arrive at once stay in the order of the file, which is that of
        // their poster.
        roots.sort_by_key(|&root| arrival(root));
        children.sort_by_key(|&child| {
            let event = &events[child as usize];
            (event.cause, event.place)
        });
        let mut first_child = Vec::with_capacity(events.len() + 1);
        let mut next = 0;
        for cause in 0..events.len() as u32 {
            first_child.push(next as u32);
            let of_cause = |&&child: &&u32| events[child as usize].cause == cause;
            next += children[next..].iter().take_while(of_cause).count();
        }
        first_child.push(children.len() as u32);
        let zero = roots.first().map_or(0, |&root| arrival(root));
        let posting = POST_SECONDS * cycles_per_second;
        let mut program = Self {
            nodes: Vec::with_capacity(events.len()),
            recorded: Figures::default(),
            hues: Vec::new(),
            handlers: Vec::new(),
            policy: String::new(),
            lost: 0,
            first_child,
            children,
            roots,
            cycles_per_second,
        };
        let mut known = HashMap::new();
        for (number, event) in (0..).zip(events) {
            let hues = &mut program.hues;
            let color = *known.entry(event.color).or_insert_with(|| {
                hues.push(Hue {
                    number: event.color,
                    events: 0,
                });
                hues.len() as u32 - 1
            });
            hues[color as usize].events += 1;
            let posts = program.children_of(number).len() as f64;
            program.nodes.push(Node {
                handler: event.handler,
                color,
                arrival: arrival(number).saturating_sub(zero),
                cost: event.cost.saturating_sub((posts * posting) as u64),
            });
        }
        program.recorded = program.recorded_figures(events, zero);
        program
    }

    /// What an event posts, in order.
    pub(super) fn children_of(&self, event: u32) -> &[u32] {
        let event = event as usize;
        let range = self.first_child[event] as usize..self.first_child[event + 1] as usize;
        &self.children[range]
    }

    /// How many events there are.
    #[must_use]
    pub fn events(&self) -> usize {
        self.nodes.len()
    }

    /// How many of them no event posted.
    #[must_use]
    pub fn roots(&self) -> usize {
        self.roots.len()
    }

    /// How many colors they have.
    #[must_use]
    pub fn colors(&self) -> usize {
        self.hues.len()
    }

    /// How many records are missing.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// What the run that was recorded came to. Its delays are estimates: when within an
    /// event it posted is not recorded.
    #[must_use]
    pub fn recorded(&self) -> &Figures {
        &self.recorded
    }

    /// The policy that it ran under.
    #[must_use]
    pub fn policy(&self) -> &str {
        &self.policy
    }

    /// The events whose cause is an event, with that one and the place among its posts.
    pub fn posts(&self) -> impl Iterator<Item = (u32, u32, usize)> {
        let causes = 0..self.nodes.len() as u32;
        causes.flat_map(|cause| {
            let children = self.children_of(cause).iter().enumerate();
            children.map(move |(place, &child)| (cause, child, place))
        })
    }

    /// The color of an event, as the trace numbers it.
    ///
    /// # Panics
    ///
    /// If there is no such event.
    #[must_use]
    pub fn color_of(&self, event: u32) -> u64 {
        let color = self.nodes[event as usize].color;
        self.hues[color as usize].number
    }

    /// The figures of the recorded run, from the first arrival on.
    fn recorded_figures(&self, events: &[Event], zero: u64) -> Figures {
        let seconds = |cycles: u64| cycles as f64 / self.cycles_per_second;
        let end = events.iter().map(|event| event.start + event.cost).max();
        let mut delays = Vec::with_capacity(events.len());
        for &root in &self.roots {
            let start = events[root as usize].start;
            delays.push(start.saturating_sub(zero + self.nodes[root as usize].arrival));
        }
        for (cause, child, place) in self.posts() {
            let posts = self.children_of(cause).len() as u64;
            let cause = &events[cause as usize];
            let posted = cause.start + cause.cost / (posts + 1) * (place as u64 + 1);
            delays.push(events[child as usize].start.saturating_sub(posted));
        }
        let time = seconds(end.unwrap_or(zero).saturating_sub(zero));
        let workers = events.iter().map(|event| event.worker as usize + 1).max();
        let mut busy = vec![0; workers.unwrap_or(0)];
        for event in events {
            busy[event.worker as usize] += event.cost;
        }
        let share = |cycles: u64| {
            if time > 0.0 {
                seconds(cycles) / time
            } else {
                0.0
            }
        };
        Figures {
            events: events.len() as u64,
            seconds: time,
            delays: Delays::of(delays.into_iter().map(seconds).collect()),
            utilisation: busy.into_iter().map(share).collect(),
        }
    }
}

/// The handlers of the events, each with the mean of what they took; the events get
/// their places among them.
fn handlers(events: &[Event], nodes: &mut [Node], names: &Handlers) -> Vec<&'static Handler> {
    let mut sums: Vec<(u32, u64, u64)> = Vec::new();
    let mut places = HashMap::new();
    for (event, node) in events.iter().zip(nodes) {
        let place = *places.entry(event.handler).or_insert_with(|| {
            sums.push((event.handler, 0, 0));
            sums.len() - 1
        });
        sums[place].1 += event.cost;
        sums[place].2 += 1;
        node.handler = place as u32;
    }
    let handler = |&(number, cycles, events): &(u32, u64, u64)| {
        let name = names.name(number).unwrap_or("(unnamed)").to_owned();
        let mean = u32::try_from(cycles / events.max(1)).unwrap_or(u32::MAX);
        Handler::new(Box::leak(name.into_boxed_str())).cost_cycles(mean)
    };
    // Handlers are static: those of a trace live as long as the process. In a row, as
    // workers remember them by the distance of their addresses.
    let handlers: Box<[Handler]> = sums.iter().map(handler).collect();
    Box::leak(handlers).iter().collect()
}
