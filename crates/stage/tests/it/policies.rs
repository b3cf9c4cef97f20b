//! Policies of admission that panic, beside others.

use std::sync::{Arc, Mutex};

use mely_sched::admission::{Admission, AdmissionChain, Done, Offer, Reason, Tag, Taken};
use mely_stage::{Ending, Manager, StageOptions, each};

use crate::{LONG, assert_accounted, runtime};

/// Counts the events that it has admitted and not seen the end of.
#[derive(Debug)]
struct Balance(Arc<Mutex<i64>>);

impl Balance {
    fn over(&self) {
        *self.0.lock().expect("whole") -= 1;
    }
}

impl Admission for Balance {
    fn offer(&mut self, _offer: &Offer) -> Result<(), Reason> {
        *self.0.lock().expect("whole") += 1;
        Ok(())
    }
    fn give_back(&mut self, _tag: Tag) {
        self.over();
    }
    fn shed(&mut self, _tag: Tag) {
        self.over();
    }
    fn cancel(&mut self, _tag: Tag) {
        self.over();
    }
    fn complete(&mut self, _tag: Tag, _done: &Done) {
        self.over();
    }
}

/// Panics at one place.
#[derive(Debug)]
struct Panics(&'static str);

impl Panics {
    fn at(&self, place: &str) {
        if self.0 == place {
            std::panic::resume_unwind(Box::new("in a policy"));
        }
    }
}

impl Admission for Panics {
    fn offer(&mut self, _offer: &Offer) -> Result<(), Reason> {
        self.at("offer");
        Ok(())
    }
    fn take(&mut self, _tag: Tag, _taken: &Taken) -> Result<(), Reason> {
        self.at("take");
        Ok(())
    }
    fn give_back(&mut self, _tag: Tag) {
        self.at("give back");
    }
    fn complete(&mut self, _tag: Tag, _done: &Done) {
        self.at("complete");
    }
}

#[test]
fn a_policy_that_panics_costs_the_others_nothing() {
    let rt = runtime();
    let stages = Manager::new(&rt);
    let mut wrong = Vec::new();
    for place in ["offer", "take", "give back", "complete"] {
        for is_first in [false, true] {
            let balance = Arc::new(Mutex::new(0));
            let (balances, panics) = (Balance(Arc::clone(&balance)), Panics(place));
            let chain = AdmissionChain::new();
            let chain = match is_first {
                true => chain.and(panics).and(balances),
                false => chain.and(balances).and(panics),
            };
            let options = StageOptions::new().admission(chain);
            let stage = stages
                .create(place, options, |_| each(|_: u32| ()))
                .expect("created");
            (0..10).for_each(|n| _ = stage.sink().offer(n));
            drop(stage.sink().reserve(&7));
            stage.destroy(Ending::Drain, LONG).expect("drained");
            assert_accounted(&stage.snapshot());
            let left = *balance.lock().expect("whole");
            if left != 0 {
                wrong.push((place, is_first, left));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
