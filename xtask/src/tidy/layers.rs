//! Imports run down a written list of layers, and never in a circle.
//!
//! ARCHITECTURE.md has the list, crate by crate: modules of the crate's root from the
//! top floor down. One may import those on lower floors only, so that what is below can
//! be read without what is above. Within a module the order is not written, but its
//! children must not import each other in a circle either. A module and its own
//! children may: they are one thing in several files. Code of tests stands aside.

mod graph;
mod imports;
mod inline;
mod modules;

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use super::source::line_of;
use super::tree::Tree;
use modules::{Import, Modules, Path};

const MAP: &str = "ARCHITECTURE.md";
const BEGIN: &str = "<!-- layers:begin -->";
const END: &str = "<!-- layers:end -->";

/// The floors of a crate from the top down, each a set of modules.
#[derive(Debug)]
struct Layers {
    folder: String,
    line: usize,
    floors: Vec<Vec<String>>,
}

/// One module uses another, neither being the other's ancestor.
struct Use<'a> {
    /// The module that both are in.
    within: &'a [String],
    from: &'a str,
    to: &'a str,
    import: &'a Import,
}

pub(super) fn imports_run_down(tree: &Tree) -> Vec<Violation> {
    let Some(listed) = listed(tree) else {
        let what = format!("no list of layers between `{BEGIN}` and `{END}`");
        return vec![Violation::of_file(MAP, what)];
    };
    let folders = folders(tree);
    let mut found = Vec::new();
    for layers in listed.iter().filter(|l| !folders.contains(&*l.folder)) {
        let what = format!("`{}` has no source any more", layers.folder);
        found.push(Violation::at(MAP, layers.line, what));
    }
    for folder in folders {
        let modules = Modules::read(tree, folder);
        let targets = modules.targets();
        let uses: Vec<Use> = targets
            .iter()
            .filter_map(|(from, import, to)| Use::of(from, to, import))
            .collect();
        match listed.iter().find(|layers| layers.folder == folder) {
            Some(layers) => found.extend(layers.violations(&modules, &uses)),
            None => found.push(unlisted(folder, &modules, &uses)),
        }
        found.extend(circles(&uses));
    }
    found
}

/// The folders of source of the workspace's crates.
fn folders(tree: &Tree) -> BTreeSet<&str> {
    let crates = tree.rust().filter_map(|text| {
        let end = text.path.find("/src/")? + "/src".len();
        let folder = &text.path[..end];
        let depth = folder.matches('/').count();
        let is_crate = folder == "xtask/src" || folder.starts_with("crates/") && depth == 2;
        is_crate.then_some(folder)
    });
    crates.collect()
}

impl<'a> Use<'a> {
    fn of(from: &'a Path, to: &'a Path, import: &'a Import) -> Option<Self> {
        let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        Some(Self {
            within: &from[..shared],
            from: from.get(shared)?,
            to: to.get(shared)?,
            import,
        })
    }
}

impl Layers {
    fn floor(&self, module: &str) -> Option<usize> {
        let is_on = |floor: &Vec<String>| floor.iter().any(|name| name == module);
        self.floors.iter().position(is_on)
    }

    fn violations(&self, modules: &Modules, uses: &[Use]) -> Vec<Violation> {
        let rooms = modules.rooms();
        let mut found = Vec::new();
        let at_list = |what: String| Violation::at(MAP, self.line, what);
        for name in self.floors.iter().flatten() {
            if !rooms.contains(name) {
                let what = format!("`{}` has no module `{name}`", self.folder);
                found.push(at_list(what));
            }
        }
        for name in rooms.iter().filter(|name| self.floor(name).is_none()) {
            let what = format!("`{name}` of `{}` is on no floor", self.folder);
            found.push(at_list(what));
        }
        for used in uses.iter().filter(|used| used.within.is_empty()) {
            let (Some(from), Some(to)) = (self.floor(used.from), self.floor(used.to)) else {
                continue;
            };
            if from >= to {
                let what = format!(
                    "`{}` uses `{}`, which {MAP} has no lower: move what both need down",
                    used.from, used.to
                );
                found.push(Violation::at(&used.import.file, used.import.line, what));
            }
        }
        // One line may name many things of a module.
        found.dedup();
        found
    }
}

fn unlisted(folder: &str, modules: &Modules, uses: &[Use]) -> Violation {
    let what = format!("`{folder}` has no list of layers");
    let top = uses.iter().filter(|used| used.within.is_empty());
    let edges: BTreeSet<_> = top.map(|used| (used.from, used.to)).collect();
    let hint = match graph::floors(modules.rooms(), &edges) {
        Some(floors) => {
            let floors: Vec<_> = floors.iter().map(|floor| floor.join(" ")).collect();
            format!("; as it is: {}", floors.join(" > "))
        }
        None => String::new(),
    };
    Violation::of_file(MAP, what + &hint)
}

/// Children of one module that import each other, also by way of others.
fn circles(uses: &[Use]) -> Vec<Violation> {
    let mut within: BTreeMap<&[String], Vec<&Use>> = BTreeMap::new();
    for used in uses {
        within.entry(used.within).or_default().push(used);
    }
    let mut found = Vec::new();
    for uses in within.values() {
        let edges: BTreeSet<_> = uses.iter().map(|used| (used.from, used.to)).collect();
        for circle in graph::circles(&edges) {
            let in_circle = |name| circle.contains(&name);
            // An edge is named once, by its first import.
            let mut seen = BTreeSet::new();
            for used in uses {
                if in_circle(used.from) && in_circle(used.to) && seen.insert((used.from, used.to)) {
                    let what = format!(
                        "`{}` uses `{}`, in a circle of {}",
                        used.from,
                        used.to,
                        circle.join(", ")
                    );
                    found.push(Violation::at(&used.import.file, used.import.line, what));
                }
            }
        }
    }
    found
}

/// The lists, or nothing when the markers are not there. An item reads
/// `` - `crates/x/src`: `top` > `middle` `beside` > `bottom` `` and may go on in
/// further lines.
fn listed(tree: &Tree) -> Option<Vec<Layers>> {
    let map = &tree.text(MAP)?.content;
    let begin = map.find(BEGIN)? + BEGIN.len();
    let end = begin + map[begin..].find(END)?;
    let mut all: Vec<Layers> = Vec::new();
    for (text, line) in map[begin..end].lines().zip(line_of(map, begin)..) {
        let text = text.trim().replace('`', " ");
        let rest = match text.strip_prefix('-').and_then(|item| item.split_once(':')) {
            Some((folder, rest)) => {
                all.push(Layers {
                    folder: folder.trim().to_owned(),
                    line,
                    floors: vec![Vec::new()],
                });
                rest
            }
            None => &text,
        };
        let Some(layers) = all.last_mut() else {
            continue;
        };
        for (index, floor) in rest.split('>').enumerate() {
            if index > 0 {
                layers.floors.push(Vec::new());
            }
            if let Some(last) = layers.floors.last_mut() {
                last.extend(floor.split_whitespace().map(str::to_owned));
            }
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests;
