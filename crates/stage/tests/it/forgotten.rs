//! What has ended is kept by nobody.

use std::sync::{Arc, Weak};

use mely_stage::{Ending, Manager, StageOptions, each};

use crate::{LONG, runtime};

#[test]
fn a_manager_forgets_stages_that_have_ended() {
    let rt = runtime();
    let stages = Manager::new(&rt);
    let mut gone = Vec::new();
    for n in 0..200 {
        let token = Arc::new(());
        gone.push(Arc::downgrade(&token));
        let stage = stages.create(&n.to_string(), StageOptions::new().colors(1), move |_| {
            let _token = &token;
            each(|_: u32| ())
        });
        stage
            .expect("created")
            .destroy(Ending::Drain, LONG)
            .expect("drained");
    }
    let alive = gone
        .iter()
        .filter(|token: &&Weak<()>| token.upgrade().is_some())
        .count();
    assert!(alive <= 20, "{alive} of 200");
}
