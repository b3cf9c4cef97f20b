//! Cores in groups: who shares a cache, a package, a memory node.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

/// Every core of a machine in exactly one group.
///
/// ```
/// use mely_sim::machine::Groups;
///
/// let pairs = Groups::of_size(2, 8).unwrap();
/// assert_eq!((pairs.len(), pairs.of(5)), (4, 2));
/// assert_eq!(pairs.members(2), [4, 5]);
/// assert!(Groups::of_size(3, 8).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    of_core: Vec<usize>,
    members: Vec<Vec<usize>>,
}

impl Groups {
    /// Groups of `size` consecutive cores.
    ///
    /// # Errors
    /// What is wrong, when the size does not divide the number of cores.
    pub fn of_size(size: usize, cores: usize) -> Result<Self, String> {
        if size == 0 {
            return Err("0 cores share nothing: give at least 1".to_owned());
        }
        if !cores.is_multiple_of(size) {
            return Err(format!(
                "{size} does not divide {cores} cores: list the groups, as in [[0, 1], [2]]"
            ));
        }
        let first = (0..cores).step_by(size);
        Self::listed(first.map(|core| (core..core + size).collect()), cores)
    }

    /// These groups, which hold each of `cores` once.
    ///
    /// # Errors
    /// What is wrong, when a core is missing, unknown or in two groups.
    pub fn listed(
        groups: impl IntoIterator<Item = Vec<usize>>,
        cores: usize,
    ) -> Result<Self, String> {
        let members: Vec<Vec<usize>> = groups.into_iter().collect();
        let mut of_core = vec![usize::MAX; cores];
        for (index, group) in members.iter().enumerate() {
            if group.is_empty() {
                return Err(format!("group {index} is empty: leave it out"));
            }
            for &core in group {
                match of_core.get_mut(core) {
                    None => return Err(format!("no core {core}: the last is {}", cores - 1)),
                    Some(group) if *group != usize::MAX => {
                        return Err(format!("core {core} is listed twice: list it once"));
                    }
                    Some(group) => *group = index,
                }
            }
        }
        match of_core.iter().position(|&group| group == usize::MAX) {
            Some(core) => Err(format!("core {core} is in no group: list every core once")),
            None => Ok(Self { of_core, members }),
        }
    }

    /// How many groups there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a machine has cores")]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// The group of a core.
    ///
    /// # Panics
    /// If the machine has no such core.
    #[must_use]
    pub fn of(&self, core: usize) -> usize {
        self.of_core[core]
    }

    /// The cores of a group.
    ///
    /// # Panics
    /// If there is no such group.
    #[must_use]
    pub fn members(&self, group: usize) -> &[usize] {
        &self.members[group]
    }

    /// All groups.
    pub fn iter(&self) -> impl Iterator<Item = &[usize]> {
        self.members.iter().map(Vec::as_slice)
    }

    pub(crate) fn cores(&self) -> usize {
        self.of_core.len()
    }

    /// The size of all groups, if they are equal and of consecutive cores.
    #[must_use]
    pub fn size(&self) -> Option<usize> {
        let size = self.members[0].len();
        match Self::of_size(size, self.cores()) {
            Ok(regular) if regular == *self => Some(size),
            _ => None,
        }
    }

    /// Two cores of one group that `outer` keeps apart.
    pub(crate) fn split_by(&self, outer: &Self) -> Option<(usize, usize)> {
        self.iter().find_map(|group| {
            let apart = |&&core: &&usize| outer.of(core) != outer.of(group[0]);
            group.iter().find(apart).map(|&core| (group[0], core))
        })
    }
}

/// As a file gives them: the size of all, or a list.
#[derive(Clone, Debug)]
pub(super) enum Described {
    Size(usize),
    List(Vec<Vec<usize>>),
}

impl Described {
    pub(super) fn over(self, cores: usize) -> Result<Groups, String> {
        match self {
            Self::Size(size) => Groups::of_size(size, cores),
            Self::List(groups) => Groups::listed(groups, cores),
        }
    }
}

/// Written by hand because a derived enum forgets what was wrong with each form.
impl<'de> Deserialize<'de> for Described {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = Described;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of consecutive cores, or lists of cores [[0, 1], [2, 3]]")
            }

            fn visit_i64<E: de::Error>(self, size: i64) -> Result<Described, E> {
                let wrong = |_| E::invalid_value(de::Unexpected::Signed(size), &self);
                usize::try_from(size).map(Described::Size).map_err(wrong)
            }

            fn visit_u64<E: de::Error>(self, size: u64) -> Result<Described, E> {
                let wrong = |_| E::invalid_value(de::Unexpected::Unsigned(size), &self);
                usize::try_from(size).map(Described::Size).map_err(wrong)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Described, A::Error> {
                let mut groups = Vec::new();
                while let Some(group) = list.next_element()? {
                    groups.push(group);
                }
                Ok(Described::List(groups))
            }
        }
        deserializer.deserialize_any(Form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_core_is_in_one_group() {
        for (groups, words) in [
            (vec![vec![0, 1], vec![]], "group 1 is empty"),
            (vec![vec![0, 1], vec![1]], "core 1 is listed twice"),
            (vec![vec![0, 3]], "no core 3"),
            (vec![vec![0, 1]], "core 2 is in no group"),
        ] {
            let wrong = Groups::listed(groups, 3).unwrap_err();
            assert!(wrong.contains(words), "{wrong}");
        }
        let mixed = Groups::listed([vec![2, 0], vec![1]], 3).unwrap();
        assert_eq!((mixed.of(0), mixed.of(1), mixed.size()), (0, 1, None));
    }
}
