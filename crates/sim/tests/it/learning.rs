//! What the scheduler learns while it runs.

use mely_sim::engine::{Settings, Simulation};
use mely_sim::mely::{Builder, Color, Handler};

static PAIR: Handler = Handler::new("learning::Pair");

/// What the first and the second event of a color take.
const CYCLES: [u64; 2] = [100, 20_000];

/// Colors enough for a hundred turns that are timed.
const COLORS: usize = 4_000;

/// Of two events that wait in a color the second, which was posted while the color waited
/// for its turn, counts for the mean as much as the first.
#[test]
fn events_that_came_while_their_color_waited_are_timed_too() {
    let builder = Builder::default().workers(1);
    let simulation = Simulation::new(builder, Settings::xeon_e5410()).unwrap();
    let colors: Vec<Color> = (0..COLORS)
        .map(|_| simulation.handle().new_color())
        .collect();
    let poster = simulation.handle().new_color();
    poster.post_or_shed(move |(), _| {
        for cycles in CYCLES {
            for color in &colors {
                color
                    .with_handler(&PAIR)
                    .post_or_shed(move |(), cx| cx.spend(cycles));
            }
        }
    });
    simulation.run_until_idle().unwrap();
    let metrics = simulation.handle().metrics();
    let pair = metrics.handlers.iter().find(|h| h.name == PAIR.name());
    let learned = pair.expect("it has run").cost_cycles;
    assert!((4_000..16_000).contains(&learned), "{learned} cycles");
}
