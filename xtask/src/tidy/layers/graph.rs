//! Circles of a directed graph, and its floors where it has none.

use std::collections::{BTreeMap, BTreeSet};

type Edges<'a> = BTreeSet<(&'a str, &'a str)>;

/// Sets of nodes, each of which reaches all others of its set.
pub(super) fn circles<'a>(edges: &Edges<'a>) -> Vec<Vec<&'a str>> {
    let nodes: BTreeSet<&str> = edges.iter().flat_map(|&(from, to)| [from, to]).collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> = nodes
        .iter()
        .map(|&node| (node, reached(node, edges)))
        .collect();
    let mut found: BTreeSet<Vec<&str>> = BTreeSet::new();
    for &node in &nodes {
        if reached[node].contains(node) {
            let mutual = reached[node]
                .iter()
                .filter(|&&to| reached[to].contains(node));
            found.insert(mutual.copied().collect());
        }
    }
    found.into_iter().collect()
}

/// What can be reached from a node by one step or more.
fn reached<'a>(start: &str, edges: &Edges<'a>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open = vec![start];
    while let Some(node) = open.pop() {
        for &(_, to) in edges.iter().filter(|(from, _)| *from == node) {
            if found.insert(to) {
                open.push(to);
            }
        }
    }
    found
}

/// The nodes from those that nobody uses down to those that use nobody; nothing if
/// there is a circle.
pub(super) fn floors(mut nodes: BTreeSet<String>, edges: &Edges) -> Option<Vec<Vec<String>>> {
    let mut floors = Vec::new();
    while !nodes.is_empty() {
        let is_used = |name: &str| {
            let by_another = |(from, to): &(&str, &str)| *to == name && nodes.contains(*from);
            edges.iter().any(by_another)
        };
        let floor: Vec<String> = nodes.iter().filter(|n| !is_used(n)).cloned().collect();
        if floor.is_empty() {
            return None;
        }
        nodes.retain(|name| !floor.contains(name));
        floors.push(floor);
    }
    Some(floors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_and_what_hangs_on_them_is_not() {
        let edges = Edges::from([("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("e", "e")]);
        assert_eq!(circles(&edges), [vec!["b", "c"], vec!["e"]]);
        assert!(circles(&Edges::from([("a", "b"), ("a", "c"), ("b", "c")])).is_empty());
    }

    #[test]
    fn floors_go_from_the_top_down() {
        let nodes = ["a", "b", "c", "d"].map(str::to_owned);
        let edges = Edges::from([("a", "b"), ("b", "c"), ("a", "d")]);
        let expected = [vec!["a"], vec!["b", "d"], vec!["c"]];
        assert_eq!(floors(nodes.clone().into(), &edges).unwrap(), expected);
        let circle = Edges::from([("a", "b"), ("b", "a")]);
        assert!(floors(nodes.into(), &circle).is_none());
    }
}
