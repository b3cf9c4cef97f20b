//! The machine alone, with programs in place of workers.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use super::*;
use crate::mely::simulated::{Hooks, Installed, Work, install, meter};

const LOCK: u64 = 4096;

type Log = Rc<RefCell<Vec<(usize, &'static str, u64)>>>;

/// A machine on which nothing but what a program says takes time.
fn machine(cores: usize, order: Order) -> (Rc<Engine>, Installed) {
    machine_that(cores, |settings| settings.order = order)
}

/// A machine on which nothing takes time but for what is changed.
fn machine_that(cores: usize, change: impl FnOnce(&mut Settings)) -> (Rc<Engine>, Installed) {
    let mut settings = Settings {
        hertz: 1e9,
        costs: Costs::nothing(),
        memory: MemoryModel::Flat(FlatCosts {
            read: 0,
            write: 0,
            update: 0,
        }),
        ..Settings::xeon_e5410()
    };
    change(&mut settings);
    let (engine, tariff) = Engine::new(settings, &(0..cores).collect::<Vec<_>>());
    let engine = Rc::new(engine);
    let hooks = Rc::clone(&engine);
    let installed = install(hooks, tariff).expect("the thread has no machine");
    (engine, installed)
}

/// Runs a program on each core, told its number, until all have ended.
fn run(
    order: Order,
    cores: usize,
    program: impl Fn(&Engine, usize, &dyn Fn(&'static str)) + 'static,
) -> Vec<(usize, &'static str, u64)> {
    let (engine, _installed) = machine(cores, order);
    let (log, program) = (Log::default(), Rc::new(program));
    for core in 0..cores {
        let (on, log, program) = (Rc::downgrade(&engine), Rc::clone(&log), Rc::clone(&program));
        let body = move || {
            let engine = on.upgrade().expect("it runs");
            let say = |what| log.borrow_mut().push((core, what, meter::now()));
            program(&engine, core, &say);
        };
        engine.start(core, body).expect("there is memory");
    }
    assert_eq!(engine.run(u64::MAX, || false).ok(), Some(Outcome::Ended));
    log.take()
}

fn hold_a_lock(engine: &Engine, core: usize, say: &dyn Fn(&'static str)) {
    engine.spend(10 * core as u64);
    engine.lock(LOCK);
    say("has it");
    engine.spend(1_000);
    engine.unlocked(LOCK);
}

#[test]
fn who_waits_for_a_lock_waits_until_it_is_free_at_any_slack() {
    for slack in [0, 100, 5_000] {
        let log = run(Order::Time { slack }, 3, hold_a_lock);
        let had = [(0, "has it", 0), (1, "has it", 1_000), (2, "has it", 2_000)];
        assert_eq!(log, had, "slack {slack}");
    }
}

#[test]
fn a_lock_that_is_held_cannot_be_tried() {
    let log = run(Order::Time { slack: 5_000 }, 2, |engine, core, say| {
        engine.spend(10 * core as u64);
        for _ in 0..2 {
            match engine.try_lock(LOCK) {
                true => {
                    say("has it");
                    engine.spend(100);
                    engine.unlocked(LOCK);
                }
                false => say("has not"),
            }
            engine.spend(95);
        }
    });
    let second: Vec<_> = log.into_iter().filter(|&(core, ..)| core == 1).collect();
    assert_eq!(second, [(1, "has not", 10), (1, "has it", 105)]);
}

#[test]
fn the_core_whose_time_is_least_goes_on() {
    let log = run(Order::Time { slack: 0 }, 2, |engine, core, say| {
        for _ in 0..3 {
            engine.spend([30, 100][core]);
            say("on");
        }
    });
    let times: Vec<_> = log.iter().map(|&(_, _, time)| time).collect();
    assert!(times.is_sorted(), "{log:?}");
}

#[test]
fn a_sleeper_wakes_in_time_or_when_it_is_woken() {
    let log = run(
        Order::Time { slack: 0 },
        3,
        |engine, core, say| match core {
            0 => {
                engine.wait(0, Some(Duration::from_nanos(500)));
                say("slept");
            }
            1 => {
                engine.wait(1, None);
                say("was woken");
                engine.spend(100);
                engine.wait(1, None);
                say("did not sleep");
            }
            _ => {
                for _ in 0..2 {
                    engine.spend(200);
                    engine.wake(1);
                    // It sleeps no more, and will not the next time.
                    engine.spend(10);
                    engine.wake(1);
                }
            }
        },
    );
    let said = [
        (1, "was woken", 201),
        (1, "did not sleep", 301),
        (0, "slept", 500),
    ];
    assert_eq!(log, said);
}

#[test]
fn a_deadlock_is_told_with_the_cores_that_wait() {
    let (engine, _installed) = machine(2, Order::Time { slack: 0 });
    for core in 0..2 {
        let on = Rc::downgrade(&engine);
        let body = move || {
            let engine = on.upgrade().expect("it runs");
            engine.lock(LOCK + 64 * core);
            engine.spend(10);
            engine.lock(LOCK + 64 * (1 - core));
        };
        engine.start(core as usize, body).expect("there is memory");
    }
    let ended = engine.run(u64::MAX, || false);
    assert!(
        matches!(&ended, Err(SimulationError::Deadlock { cores }) if *cores == [0, 1]),
        "{ended:?}"
    );
    engine.give_up();
}

#[test]
fn the_more_spin_on_a_lock_the_later_it_is_handed_over() {
    let (engine, _installed) = machine_that(3, |settings| settings.costs.spinner = 70);
    let log = Log::default();
    for core in 0..3 {
        let (on, log) = (Rc::downgrade(&engine), Rc::clone(&log));
        let body = move || {
            let engine = on.upgrade().expect("it runs");
            let say = |what| log.borrow_mut().push((core, what, meter::now()));
            hold_a_lock(&engine, core, &say);
        };
        engine.start(core, body).expect("there is memory");
    }
    assert_eq!(engine.run(u64::MAX, || false).ok(), Some(Outcome::Ended));
    let times: Vec<_> = log.borrow().iter().map(|&(_, _, time)| time).collect();
    // One goes on to wait after the first hand-over, none after the second.
    assert_eq!(times[1] - times[0], times[2] - times[1] + 70);
}

#[test]
fn a_core_that_polls_looks_again_while_another_works() {
    let idle = Idle::Poll { cycles: 100 };
    let (engine, _installed) = machine_that(2, |settings| settings.idle = idle);
    let looks = Rc::new(RefCell::new(0));
    for core in 0..2 {
        let (on, looks) = (Rc::downgrade(&engine), Rc::clone(&looks));
        let body = move || {
            let engine = on.upgrade().expect("it runs");
            if core == 0 {
                meter::work(Work::Turn, 1);
                return engine.spend(1_050);
            }
            while meter::now() < 1_000 {
                engine.wait(core, None);
                *looks.borrow_mut() += 1;
            }
        };
        engine.start(core, body).expect("there is memory");
    }
    assert_eq!(engine.run(u64::MAX, || false).ok(), Some(Outcome::Ended));
    assert_eq!(*looks.borrow(), 10);
}
