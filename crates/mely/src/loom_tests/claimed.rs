//! Models of what is claimed from its owner.
#![allow(unsafe_code)]

use core::cell::RefCell;

use super::*;
use crate::queue::claimable::{Claimable, Owner};

type Own = RefCell<Watched>;

fn own() -> Owner<Own> {
    Owner::new(RefCell::new(Watched::new()), true)
}

fn add(own: &Own) {
    own.borrow_mut().add(1);
}

/// Whether it could be claimed.
fn claim(claimable: &Claimable<Own>) -> bool {
    let claimed = claimable.claim();
    if let Some(claimed) = &claimed {
        add(claimed.get());
    }
    claimed.is_some()
}

fn touches(owner: &Owner<Own>) -> usize {
    owner.with(|own| own.borrow_mut().values().len())
}

/// An owner lends and touches its own while another claims it: one at a time, and each
/// sees what the other did.
#[test]
fn loom_one_at_a_time_touches_what_can_be_claimed() {
    loom::model(|| {
        let owner = own();
        let claimable = Arc::clone(owner.claimable());
        let claiming = thread::spawn(move || [(); 2].map(|()| claim(&claimable)));
        owner.with(add);
        // SAFETY: not within a touch of it.
        unsafe { owner.lend() };
        owner.with(add);
        owner.take_back();
        owner.with(add);
        let claims = claiming.join().unwrap();
        let claimed = claims.into_iter().filter(|&claimed| claimed).count();
        assert_eq!(touches(&owner), 3 + claimed);
    });
}

/// Two claim what its owner lends and takes back.
#[test]
fn loom_of_two_who_claim_one_has_it() {
    loom::model(|| {
        let owner = own();
        // SAFETY: not within a touch of it.
        unsafe { owner.lend() };
        let claims = [(); 2].map(|()| {
            let claimable = Arc::clone(owner.claimable());
            thread::spawn(move || claim(&claimable))
        });
        owner.take_back();
        owner.with(add);
        let claims = claims.map(|claim| claim.join().unwrap());
        let claimed = claims.into_iter().filter(|&claimed| claimed).count();
        assert_eq!(touches(&owner), 1 + claimed);
    });
}
