use std::cell::Cell;
use std::rc::Rc;

use proptest::prelude::*;

use super::*;

/// A color, shared by its events.
#[derive(Debug)]
struct Color {
    number: u8,
    waiting: Cell<u32>,
}

#[derive(Debug)]
struct Item {
    color: Rc<Color>,
    sequence: usize,
}

/// Every fifth color is pinned.
fn is_pinned(color: u8) -> bool {
    color % 5 == 4
}

impl FifoEvent for Item {
    type Color = u8;

    fn color(&self) -> u8 {
        self.color.number
    }

    fn is_pinned(&self) -> bool {
        is_pinned(self.color.number)
    }

    fn waiting(&self) -> u32 {
        self.color.waiting.get()
    }

    fn set_waiting(&self, events: u32) {
        self.color.waiting.set(events);
    }
}

const CORES: usize = 3;
const COLORS: u8 = 12;

/// What the paper says, with nothing kept that can be counted.
#[derive(Clone, Debug, Default)]
struct Model {
    /// Color and sequence.
    events: Vec<(u8, usize)>,
    running: Option<u8>,
}

impl Model {
    fn count(&self, color: u8) -> usize {
        self.events.iter().filter(|(c, _)| *c == color).count()
    }

    fn load(&self) -> usize {
        self.events.len() + usize::from(self.running.is_some())
    }

    fn can_be_stolen(&self) -> bool {
        let mut colors: Vec<_> = self.events.iter().map(|(color, _)| *color).collect();
        let free = |&color: &u8| !is_pinned(color) && Some(color) != self.running;
        let movable = colors.iter().any(free);
        colors.extend(self.running);
        colors.sort_unstable();
        colors.dedup();
        colors.len() > 1 && movable
    }

    /// The colors that a thief may take on their own, first ones first.
    fn movable(&self) -> Vec<u8> {
        let mut movable = Vec::new();
        for &(color, _) in &self.events {
            let count = self.count(color);
            let small = count == 1 || 2 * count < self.load();
            let free = !is_pinned(color) && Some(color) != self.running;
            if small && free && !movable.contains(&color) {
                movable.push(color);
            }
        }
        movable
    }

    fn steal(&mut self, by_batch: bool) -> Vec<(u8, usize)> {
        if !self.can_be_stolen() {
            return Vec::new();
        }
        let mut chosen = Vec::new();
        let (mut total, half) = (0, self.load() / 2);
        for color in self.movable() {
            let count = self.count(color);
            let fits = by_batch && total + count <= half && total < half;
            if chosen.is_empty() || fits {
                chosen.push(color);
                total += count;
            }
        }
        let (taken, left) = self.events.iter().partition(|(c, _)| chosen.contains(c));
        self.events = left;
        taken
    }
}

struct Cores {
    queues: [EventFifo<Item>; CORES],
    models: [Model; CORES],
    colors: Vec<Rc<Color>>,
    homes: Vec<usize>,
    next: usize,
}

impl Cores {
    fn new() -> Self {
        let color = |number| {
            Rc::new(Color {
                number,
                waiting: Cell::new(0),
            })
        };
        Self {
            queues: Default::default(),
            models: Default::default(),
            colors: (0..COLORS).map(color).collect(),
            homes: (0..COLORS)
                .map(|color| usize::from(color) % CORES)
                .collect(),
            next: 0,
        }
    }

    fn push(&mut self, color: u8) {
        let (home, sequence) = (self.homes[usize::from(color)], self.next);
        self.next += 1;
        let color_of = Rc::clone(&self.colors[usize::from(color)]);
        self.queues[home].push(Item {
            color: color_of,
            sequence,
        });
        self.models[home].events.push((color, sequence));
    }

    fn pop(&mut self, core: usize) {
        let (queue, model) = (&mut self.queues[core], &mut self.models[core]);
        let ended = model.running.take();
        let expected = (!model.events.is_empty()).then(|| model.events.remove(0));
        let event = queue.pop().map(|event| (event.color(), event.sequence));
        assert_eq!(event, expected);
        model.running = expected.map(|(color, _)| color);
        let exposed = ended.is_some_and(|c| model.movable().contains(&c));
        assert_eq!(queue.exposed(), exposed, "{ended:?}");
    }

    fn steal(&mut self, thief: usize, by_batch: bool) {
        let victim = (thief + 1) % CORES;
        let before = self.models[victim].events.len();
        let expected = self.models[victim].steal(by_batch);
        let stolen = self.queues[victim].steal(by_batch);
        let taken: Vec<_> = stolen
            .events
            .iter()
            .map(|e| (e.color(), e.sequence))
            .collect();
        assert_eq!(taken, expected);
        assert!(stolen.scanned <= 2 * before, "each search passes once");
        let mut colors: Vec<_> = taken.iter().map(|(color, _)| *color).collect();
        colors.sort_unstable();
        colors.dedup();
        assert_eq!(stolen.colors, colors.len());
        for event in stolen.events {
            self.homes[usize::from(event.color())] = thief;
            self.models[thief]
                .events
                .push((event.color(), event.sequence));
            self.queues[thief].push(event);
        }
    }

    fn check(&self) {
        for (queue, model) in self.queues.iter().zip(&self.models) {
            let events: Vec<_> = queue
                .events
                .iter()
                .map(|e| (e.color(), e.sequence))
                .collect();
            assert_eq!(events, model.events);
            assert_eq!(
                (queue.len(), queue.is_empty()),
                (events.len(), events.is_empty())
            );
            assert_eq!(queue.can_be_stolen(), model.can_be_stolen());
            let waiting = (0..COLORS).filter(|&color| model.count(color) > 0);
            assert_eq!(queue.colors(), waiting.count());
        }
        for color in &self.colors {
            let home = &self.models[self.homes[usize::from(color.number)]];
            assert_eq!(color.waiting.get() as usize, home.count(color.number));
        }
    }
}

#[derive(Clone, Debug)]
enum Op {
    Push(u8),
    Pop(usize),
    Steal(usize, bool),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 512 }))]

    #[test]
    fn behaves_as_the_paper_says(ops in proptest::collection::vec(prop_oneof![
        6 => (0..COLORS).prop_map(Op::Push),
        3 => (0..CORES).prop_map(Op::Pop),
        1 => (0..CORES, any::<bool>()).prop_map(|(thief, by_batch)| Op::Steal(thief, by_batch)),
    ], 0..if cfg!(miri) { 30 } else { 120 })) {
        let mut cores = Cores::new();
        for op in ops {
            match op {
                Op::Push(color) => cores.push(color),
                Op::Pop(core) => cores.pop(core),
                // A core steals when it has nothing, as the thread that owns it.
                Op::Steal(thief, by_batch) => {
                    if cores.queues[thief].is_empty() {
                        cores.pop(thief);
                        cores.steal(thief, by_batch);
                    }
                }
            }
            cores.check();
        }
        for queue in &mut cores.queues {
            queue.take_all();
            prop_assert!(queue.is_empty() && queue.colors() == 0);
        }
        prop_assert!(cores.colors.iter().all(|color| color.waiting.get() == 0));
    }
}

fn with(colors: &[u8]) -> EventFifo<Item> {
    let mut cores = Cores::new();
    cores.homes.fill(0);
    colors.iter().for_each(|&color| cores.push(color));
    std::mem::take(&mut cores.queues[0])
}

fn taken(stolen: &Stolen<Item>) -> Vec<u8> {
    stolen.events.iter().map(Item::color).collect()
}

#[test]
fn the_first_color_below_half_is_taken_with_all_its_events() {
    let mut queue = with(&[1, 1, 1, 2, 1, 3, 2]);
    let stolen = queue.steal(false);
    assert_eq!((taken(&stolen), stolen.colors), (vec![2, 2], 1));
    // Four to the first of color 2, seven to its last.
    assert_eq!(stolen.scanned, 11);
    assert_eq!(queue.len(), 5);
}

#[test]
fn what_runs_stays_and_so_does_a_color_with_half() {
    let mut queue = with(&[1, 1, 2, 2]);
    assert!(queue.can_be_stolen());
    assert!(queue.steal(false).events.is_empty(), "each is half");
    assert_eq!(queue.pop().map(|e| e.color()), Some(1));
    assert!(queue.steal(false).events.is_empty(), "1 runs, 2 is half");
    assert_eq!(queue.len(), 3);
}

#[test]
fn a_lone_color_is_stolen_only_from_a_core_that_runs_another() {
    let mut queue = with(&[1, 2]);
    let first = queue.pop();
    assert_eq!(taken(&queue.steal(false)), [2]);
    drop(first);
    let mut queue = with(&[1]);
    assert!(!queue.can_be_stolen() && queue.steal(true).events.is_empty());
}

#[test]
fn a_batch_is_half_of_the_events_in_whole_colors() {
    let mut queue = with(&[0, 1, 2, 3, 5, 6, 0, 1, 2, 3, 5, 6]);
    let stolen = queue.steal(true);
    assert_eq!((taken(&stolen), stolen.colors), (vec![0, 1, 2, 0, 1, 2], 3));
}

#[test]
fn pinned_colors_are_passed_over() {
    let mut queue = with(&[4, 9, 4, 9, 1]);
    assert_eq!(taken(&queue.steal(true)), [1]);
    assert!(!queue.can_be_stolen(), "4 and 9 are pinned");
}
