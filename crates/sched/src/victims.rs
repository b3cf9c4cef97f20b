//! In which order an idle core looks at the others.

/// Victims near first, by the distance that `distance` gives; among equals, the
/// core numbers that follow `thief`, wrapping round, so that not every thief looks
/// at the same victim first.
///
/// *Efficient Workstealing*, section III-A (locality-aware stealing).
///
/// ```
/// // Pairs of cores share a cache.
/// let order = mely_sched::victims_near_first(2, 6, |a, b| usize::from(a / 2 != b / 2));
/// assert_eq!(order, [3, 4, 5, 0, 1]);
/// ```
pub fn victims_near_first<D: Ord>(
    thief: usize,
    cores: usize,
    distance: impl Fn(usize, usize) -> D,
) -> Vec<usize> {
    let mut order: Vec<_> = (1..cores).map(|step| (thief + step) % cores).collect();
    order.sort_by_key(|&victim| distance(thief, victim));
    order
}

/// The core of which `len` says most, then the following core numbers.
///
/// *Efficient Workstealing*, figure 2 (`construct_core_set`). The thief itself is left out.
///
/// ```
/// let lens = [0, 5, 2, 9, 1];
/// let order: Vec<_> = mely_sched::victims_busiest_first(0, 5, |core| lens[core]).collect();
/// assert_eq!(order, [3, 4, 1, 2]);
/// ```
pub fn victims_busiest_first(
    thief: usize,
    cores: usize,
    len: impl Fn(usize) -> usize,
) -> impl Iterator<Item = usize> {
    let busiest = (0..cores).rev().max_by_key(|&core| len(core)).unwrap_or(0);
    (0..cores)
        .map(move |step| (busiest + step) % cores)
        .filter(move |&core| core != thief)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_other_core_is_looked_at_once(cores in 1usize..80, thief in 0usize..80, salt in any::<u64>()) {
            let thief = thief % cores;
            let distance = |a: usize, b: usize| (a as u64 ^ b as u64 ^ salt) % 5;
            let near = victims_near_first(thief, cores, distance);
            prop_assert!(near.is_sorted_by_key(|&v| distance(thief, v)));
            let busy: Vec<_> = victims_busiest_first(thief, cores, |c| (c as u64 ^ salt) as usize % 7).collect();
            for mut order in [near, busy] {
                order.sort_unstable();
                prop_assert!(order.into_iter().eq((0..cores).filter(|&c| c != thief)));
            }
        }
    }

    #[test]
    fn one_core_has_no_victim() {
        assert!(victims_near_first(0, 1, |_, _| 0).is_empty());
        assert_eq!(victims_busiest_first(0, 1, |_| 3).count(), 0);
    }
}
