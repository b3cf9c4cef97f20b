//! Sets of CPUs, in the kernel's list format.

use std::fmt;
use std::str::FromStr;

use crate::MAX_CPU;
use crate::error::TopologyError;

const WORD_BITS: usize = u64::BITS as usize;

/// A set of CPUs by their operating-system numbers, each below [`MAX_CPU`].
///
/// It is read and printed in the kernel's list format, that of
/// `/sys/devices/system/cpu/online` and of `taskset --cpu-list`. At most 1 KiB.
///
/// ```
/// use mely_topology::CpuSet;
///
/// let set: CpuSet = "0-3,8,10-11".parse()?;
/// assert_eq!(set.len(), 7);
/// assert!(set.contains(10) && !set.contains(9));
/// assert_eq!(set.to_string(), "0-3,8,10-11");
/// # Ok::<(), mely_topology::TopologyError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct CpuSet {
    /// Never ends with a zero word, so that equal sets are equal vectors.
    words: Vec<u64>,
}

impl CpuSet {
    /// The empty set.
    ///
    /// ```
    /// assert!(mely_topology::CpuSet::new().is_empty());
    /// ```
    #[must_use]
    pub const fn new() -> Self {
        Self { words: Vec::new() }
    }

    /// The set of the CPUs named, in any order.
    ///
    /// # Errors
    /// [`TopologyError::CpuOutOfRange`] for a CPU that is not below [`MAX_CPU`].
    ///
    /// ```
    /// use mely_topology::CpuSet;
    ///
    /// assert_eq!(CpuSet::of([2, 1, 0, 7])?.to_string(), "0-2,7");
    /// assert!(CpuSet::of([8192]).is_err());
    /// # Ok::<(), mely_topology::TopologyError>(())
    /// ```
    pub fn of(cpus: impl IntoIterator<Item = usize>) -> Result<Self, TopologyError> {
        let mut set = Self::new();
        for cpu in cpus {
            set.insert(cpu)?;
        }
        Ok(set)
    }

    /// Adds a CPU; tells whether it was not there before.
    ///
    /// # Errors
    /// [`TopologyError::CpuOutOfRange`] for a CPU that is not below [`MAX_CPU`].
    ///
    /// ```
    /// let mut set = mely_topology::CpuSet::new();
    /// assert!(set.insert(5)?);
    /// assert!(!set.insert(5)?);
    /// # Ok::<(), mely_topology::TopologyError>(())
    /// ```
    pub fn insert(&mut self, cpu: usize) -> Result<bool, TopologyError> {
        if cpu >= MAX_CPU {
            return Err(TopologyError::out_of_range(cpu));
        }
        let (word, bit) = (cpu / WORD_BITS, 1 << (cpu % WORD_BITS));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        Ok(is_new)
    }

    /// Whether the CPU is in the set.
    ///
    /// ```
    /// let set: mely_topology::CpuSet = "4-5".parse()?;
    /// assert!(set.contains(4) && !set.contains(usize::MAX));
    /// # Ok::<(), mely_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn contains(&self, cpu: usize) -> bool {
        self.words
            .get(cpu / WORD_BITS)
            .is_some_and(|word| word >> (cpu % WORD_BITS) & 1 == 1)
    }

    /// How many CPUs are in the set.
    ///
    /// ```
    /// assert_eq!("0,64-65".parse::<mely_topology::CpuSet>()?.len(), 3);
    /// # Ok::<(), mely_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Whether no CPU is in the set.
    ///
    /// ```
    /// assert!("".parse::<mely_topology::CpuSet>()?.is_empty());
    /// # Ok::<(), mely_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The CPUs in increasing number.
    ///
    /// ```
    /// let set: mely_topology::CpuSet = "1,64-65".parse()?;
    /// assert_eq!(set.iter().collect::<Vec<_>>(), [1, 64, 65]);
    /// # Ok::<(), mely_topology::TopologyError>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let after = |rest: &u64| Some(rest & (rest - 1)).filter(|&rest| rest != 0);
            std::iter::successors(Some(word).filter(|&word| word != 0), after)
                .map(move |rest| index * WORD_BITS + rest.trailing_zeros() as usize)
        })
    }

    /// The CPUs that are in both sets.
    ///
    /// ```
    /// use mely_topology::CpuSet;
    ///
    /// let (allowed, node): (CpuSet, CpuSet) = ("0-5".parse()?, "4-7".parse()?);
    /// assert_eq!(allowed.intersection(&node).to_string(), "4-5");
    /// # Ok::<(), mely_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let common = self.words.iter().zip(&other.words).map(|(a, b)| a & b);
        let mut words: Vec<u64> = common.collect();
        let used = words
            .iter()
            .rposition(|&word| word != 0)
            .map_or(0, |last| last + 1);
        words.truncate(used);
        Self { words }
    }

    /// Whether every CPU of this set is in the other.
    ///
    /// ```
    /// use mely_topology::CpuSet;
    ///
    /// let (pair, all): (CpuSet, CpuSet) = ("2-3".parse()?, "0-3".parse()?);
    /// assert!(pair.is_subset(&all) && !all.is_subset(&pair));
    /// # Ok::<(), mely_topology::TopologyError>(())
    /// ```
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.words.len() <= other.words.len()
            && self
                .words
                .iter()
                .zip(&other.words)
                .all(|(a, b)| a & !b == 0)
    }

    /// The set of one CPU of a machine that was read, where numbers were checked.
    pub(crate) fn single(cpu: usize) -> Self {
        debug_assert!(cpu < MAX_CPU);
        let mut words = vec![0; cpu / WORD_BITS + 1];
        words[cpu / WORD_BITS] = 1 << (cpu % WORD_BITS);
        Self { words }
    }
}

impl FromStr for CpuSet {
    type Err = TopologyError;

    /// Reads a list such as `0-3,8,10-11`; white space around it is ignored, and
    /// an empty list is the empty set, as in the kernel's files.
    fn from_str(list: &str) -> Result<Self, TopologyError> {
        let list = list.trim();
        let mut set = Self::new();
        if list.is_empty() {
            return Ok(set);
        }
        for item in list.split(',') {
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            let (first, last) = (parse_cpu(first, item)?, parse_cpu(last, item)?);
            if first > last {
                return Err(TopologyError::list_item(item));
            }
            for cpu in first..=last {
                set.insert(cpu)?;
            }
        }
        Ok(set)
    }
}

/// One number of a list: digits only, since `parse` alone would accept `+1`.
fn parse_cpu(digits: &str, item: &str) -> Result<usize, TopologyError> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(TopologyError::list_item(item));
    }
    digits
        .parse()
        .ok()
        .filter(|&cpu| cpu < MAX_CPU)
        .ok_or_else(|| TopologyError::out_of_range(digits))
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if_eq(&(last + 1)) {
                last = next;
            }
            write!(f, "{separator}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuSet({self})")
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for CpuSet {
    /// As the list, which stays readable where an array of 128 numbers does not.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_what_the_kernel_prints() {
        for (text, cpus) in [
            ("", vec![]),
            ("\n", vec![]),
            ("0\n", vec![0]),
            ("0-3,8,10-11\n", vec![0, 1, 2, 3, 8, 10, 11]),
            ("63-64,8191", vec![63, 64, 8191]),
        ] {
            let set: CpuSet = text.parse().unwrap();
            assert_eq!(set.iter().collect::<Vec<_>>(), cpus, "{text:?}");
        }
    }

    #[test]
    fn refuses_garbage_with_its_reason() {
        for text in [
            ",", "0,", "-", "1-", "-1", "3-1", "+1", "0x1", "0-3:1/2", "a", "1 2", "0–3",
        ] {
            let refused = text.parse::<CpuSet>().unwrap_err();
            assert!(
                matches!(refused, TopologyError::CpuList { .. }),
                "{text:?}: {refused:?}"
            );
        }
        for text in [
            "8192",
            "0-8192",
            "0-18446744073709551615",
            "99999999999999999999999999",
        ] {
            let refused = text.parse::<CpuSet>().unwrap_err();
            assert!(
                matches!(refused, TopologyError::CpuOutOfRange { .. }),
                "{text:?}: {refused:?}"
            );
        }
        let long = "9".repeat(10_000);
        assert!(long.parse::<CpuSet>().unwrap_err().to_string().len() < 200);
    }

    #[test]
    fn intersection_of_disjoint_sets_is_the_empty_set() {
        let high = CpuSet::of([700]).unwrap();
        assert_eq!(
            high.intersection(&CpuSet::of([701]).unwrap()),
            CpuSet::new()
        );
        assert!(!high.is_subset(&CpuSet::new()));
        assert!(CpuSet::new().is_subset(&high));
        assert_eq!(CpuSet::single(700), high);
    }

    proptest! {
        #[test]
        fn printing_then_reading_gives_the_set_back(cpus in prop::collection::btree_set(0..MAX_CPU, 0..200)) {
            let set = CpuSet::of(cpus.iter().copied()).unwrap();
            prop_assert_eq!(set.to_string().parse::<CpuSet>().unwrap(), set.clone());
            prop_assert_eq!(set.len(), cpus.len());
            prop_assert_eq!(set.iter().collect::<BTreeSet<_>>(), cpus);
        }

        #[test]
        fn dense_sets_too(bits in any::<u128>()) {
            let set = CpuSet::of((0..128).filter(|bit| bits >> bit & 1 == 1)).unwrap();
            prop_assert_eq!(set.to_string().parse::<CpuSet>().unwrap(), set);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[0-9,\\- ]{0,40}|.{0,40}") {
            if let Ok(set) = text.parse::<CpuSet>() {
                prop_assert!(set.iter().all(|cpu| cpu < MAX_CPU));
            }
        }

        #[test]
        fn set_operations_agree_with_those_of_the_standard_library(
            a in prop::collection::btree_set(0..300_usize, 0..60),
            b in prop::collection::btree_set(0..300_usize, 0..60),
        ) {
            let (left, right) = (CpuSet::of(a.clone()).unwrap(), CpuSet::of(b.clone()).unwrap());
            let common = left.intersection(&right);
            prop_assert_eq!(&common, &CpuSet::of(a.intersection(&b).copied()).unwrap());
            prop_assert_eq!(left.is_subset(&right), a.is_subset(&b));
            prop_assert!(common.is_subset(&left) && common.is_subset(&right));
        }
    }
}
