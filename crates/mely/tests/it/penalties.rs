//! What a color loses by moving, as the runtime learns it.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use mely::{Colored, Handler, HandlerMetrics, Policy, Runtime};

use crate::support::{Gate, WAIT, bounded, settle};

/// Numbers in the array of a color: 32 KiB.
const ARRAY: usize = 4096;
const MOVES: usize = 12;

/// What holds a core while the color moves: one for each time, as what is known to be
/// over soon does not let others run what waits.
static HOLDERS: [Handler; 2 * MOVES] =
    [const { Handler::new("penalties::Holder").cost_cycles(10_000_000) }; 2 * MOVES];
static NEXT_HOLDER: AtomicUsize = AtomicUsize::new(0);

/// A color that touches its array when told, and where it did so last.
#[derive(Clone)]
struct Walker {
    array: Colored<Vec<u64>>,
    touch: &'static Handler,
    worker: Arc<AtomicUsize>,
}

impl Walker {
    fn post_touch(&self, touched: Gate) {
        let worker = Arc::clone(&self.worker);
        self.array
            .with_handler(self.touch)
            .post_or_shed(move |array, cx| {
                array.iter_mut().for_each(|number| *number += 1);
                // Relaxed: the gate orders it.
                worker.store(cx.worker(), Relaxed);
                touched.arrive();
            });
    }

    /// Touches the array while the core where it is is held, so that another core must
    /// steal the color.
    fn move_once(&self, rt: &Runtime) {
        let at = self.worker.load(Relaxed);
        let holder = rt.color_options().pin_to(at).new_color().expect("a worker");
        let (walker, touched) = (self.clone(), Gate::default());
        // Relaxed: only that each is used once.
        let next = NEXT_HOLDER.fetch_add(1, Relaxed);
        holder
            .with_handler(&HOLDERS[next])
            .post_or_shed(move |_, _| {
                walker.post_touch(touched.clone());
                assert!(touched.wait_for(1, WAIT), "nobody stole the color");
            });
        settle(rt);
    }
}

/// What the metrics say of a handler whose color moved about.
fn metrics_after_moves(policy: Policy, touch: &'static Handler) -> (HandlerMetrics, String) {
    bounded("moves", move || {
        let rt = Runtime::builder().workers(2).policy(policy).build();
        let rt = rt.expect("a runtime");
        let array = rt.color_options().start_on(0).colored(vec![0; ARRAY]);
        let walker = Walker {
            array: array.expect("a worker"),
            touch,
            worker: Arc::default(),
        };
        walker.post_touch(Gate::default());
        settle(&rt);
        (0..MOVES).for_each(|_| walker.move_once(&rt));
        let touched = walker.array.blocking_with(|array| array.clone());
        assert_eq!(touched, vec![1 + MOVES as u64; ARRAY]);
        let metrics = rt.metrics();
        assert_eq!(metrics.total(|w| w.panics), 0, "{metrics:#?}");
        assert!(metrics.total(|w| w.steals) >= MOVES as u64);
        assert!(metrics.total(|w| w.stolen_cost_cycles) > 0);
        let handler = metrics.handler(touch.name()).expect("it has run").clone();
        (handler, metrics.to_prometheus())
    })
}

#[test]
fn each_move_is_timed_and_a_penalty_comes_of_it() {
    static TOUCH: Handler = Handler::new("penalties::Touch");
    let (touch, text) = metrics_after_moves(Policy::Adaptive, &TOUCH);
    assert_eq!(
        (touch.events, touch.moves),
        (1 + MOVES as u64, MOVES as u64)
    );
    assert!((1.0..=64.0).contains(&touch.penalty), "{touch:?}");
    let moves = format!("mely_handler_moves_total{{handler=\"penalties::Touch\"}} {MOVES}");
    assert!(text.contains(&moves), "{text}");
    assert!(text.contains("mely_handler_penalty{handler=\"penalties::Touch\"} "));
}

#[test]
fn an_annotated_penalty_is_shown_as_it_is() {
    static TOUCH: Handler = Handler::new("penalties::Annotated")
        .cost_cycles(10_000_000)
        .penalty(7);
    let (touch, _) = metrics_after_moves(Policy::Mely, &TOUCH);
    assert_eq!((touch.moves, touch.penalty), (MOVES as u64, 7.0));
}
