//! Models of slabs: who gives up the last block frees it, and rests are used up.

use std::sync::atomic::AtomicUsize;

use super::*;
use crate::memory::slab::{Block, InSlab, Left, Rest, ThreadSlab};

/// Three of them fill a slab.
#[repr(align(4096))]
struct Large {
    counted: Counted,
    _rest: [u8; 12_288],
}

/// Slabs that have been made and not freed.
static SLABS: AtomicUsize = AtomicUsize::new(0);

/// The count of a slab, which counts the slabs too.
struct CountedLeft(loom::sync::atomic::AtomicUsize);

impl Left for CountedLeft {
    fn new(blocks: usize) -> Self {
        SLABS.fetch_add(1, SeqCst);
        Self(<_ as Left>::new(blocks))
    }

    fn give_up(&self, blocks: usize) -> bool {
        let last = self.0.give_up(blocks);
        SLABS.fetch_sub(usize::from(last), SeqCst);
        last
    }
}

loom::lazy_static! {
    static ref LEFTOVERS: Mutex<Vec<Rest<Large>>> = Mutex::new(Vec::new());
}

impl InSlab for Large {
    type Left = CountedLeft;

    /// Each block is taken by a thread that ends: so rests go to and fro.
    fn with_slab<R>(_work: impl FnOnce(&ThreadSlab<Self>) -> R) -> Option<R> {
        None
    }

    fn leftovers() -> &'static std::sync::Mutex<Vec<Rest<Self>>> {
        unreachable!("these are loom's")
    }

    fn leave(rest: Rest<Self>) {
        lock(&LEFTOVERS).push(rest);
    }

    fn leftover() -> Option<Rest<Self>> {
        lock(&LEFTOVERS).pop()
    }
}

fn block(drops: &Drops) -> Block<Large> {
    Block::new(Large {
        counted: drops.counted(),
        _rest: [0; 12_288],
    })
}

/// Two threads give up the blocks of a third one's slab, and one of them, the last, frees
/// it. Rests that threads leave
/// are used up by others.
#[test]
fn loom_slabs_end_with_their_last_block() {
    assert_eq!(Large::COUNT, 3);
    loom::model(|| {
        SLABS.store(0, SeqCst);
        let drops = Drops::new();
        let making = {
            let drops = drops.clone();
            thread::spawn(move || [block(&drops), block(&drops)])
        };
        let blocks = making.join().unwrap();
        let others = blocks.map(|mut block| {
            thread::spawn(move || {
                block.counted.touched.add(1);
                drop(block);
            })
        });
        let last = {
            let drops = drops.clone();
            thread::spawn(move || drop(block(&drops)))
        };
        for thread in others.into_iter().chain([last]) {
            thread.join().unwrap();
        }
        let rests = std::mem::take(&mut *lock(&LEFTOVERS));
        rests.into_iter().for_each(Rest::give_up);
        assert_eq!(drops.count(), 3);
        assert_eq!(SLABS.load(SeqCst), 0, "a slab is not freed");
    });
}

/// Who is told that he gave up the last ones comes after all that was done in the others.
#[test]
fn loom_the_last_block_comes_after_the_others() {
    loom::model(|| {
        let both = Arc::new((loom::sync::atomic::AtomicUsize::new(2), Watched::new()));
        let other = {
            let both = Arc::clone(&both);
            thread::spawn(move || use_and_give_up(&both))
        };
        let lasts = [use_and_give_up(&both), other.join().unwrap()];
        assert_eq!(lasts.iter().filter(|&&last| last).count(), 1);
    });
}

fn use_and_give_up((left, watched): &(loom::sync::atomic::AtomicUsize, Watched)) -> bool {
    watched.look();
    let last = left.give_up(1);
    if last {
        watched.end();
    }
    last
}
