//! `mely sim`: machines and their files; the papers' tables.

use crate::process::mely;
use std::path::Path;

/// Runs `mely sim`, and returns exit code, standard output and error.
fn sim(arguments: &[&str]) -> (i32, String, String) {
    let output = mely().arg("sim").args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    (code, text(output.stdout), text(output.stderr))
}

fn show(path: &Path) -> (i32, String, String) {
    sim(&["machines", "--show", path.to_str().unwrap()])
}

#[test]
fn machines_are_listed_and_shown() {
    let (code, listed, said) = sim(&["machines"]);
    assert_eq!((code, said.as_str()), (0, ""));
    for name in ["xeon-e5410", "epyc-9554", "xeon-8592-2s"] {
        assert!(listed.contains(name), "{listed}");
        let (code, toml, _) = sim(&["machines", "--show", name]);
        assert_eq!(code, 0);
        assert!(toml.contains(&format!("name = \"{name}\"")), "{toml}");
    }
    let (code, json, _) = sim(&["machines", "--json"]);
    assert_eq!(code, 0);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["cores"], 8);
}

#[test]
fn this_machine_becomes_a_file() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("here.toml");
    let file = path.to_str().unwrap();
    let (code, out, said) = sim(&["calibrate", "--name", "here", "--output", file]);
    assert_eq!((code, out.as_str(), said.as_str()), (0, "", ""));
    let (code, toml, said) = show(&path);
    assert_eq!(code, 0, "{said}");
    assert!(toml.contains("name = \"here\""), "{toml}");
    let (code, _, said) = sim(&["calibrate", "--output", "/no/such/dir/here.toml"]);
    assert_eq!(code, 1);
    assert!(said.contains("/no/such/dir/here.toml"), "{said}");
}

#[test]
fn wrong_machines_are_told() {
    let (code, _, said) = sim(&["machines", "--show", "abacus"]);
    assert_eq!(code, 2);
    assert!(
        said.contains("abacus") && said.contains("epyc-9554"),
        "{said}"
    );
    let (code, _, said) = sim(&["calibrate", "--name", "My Machine"]);
    assert_eq!(code, 2);
    assert!(said.contains("lower-case"), "{said}");
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("absent.toml");
    let (code, _, said) = show(&path);
    assert_eq!(code, 1);
    assert!(said.contains("absent.toml: "), "{said}");
    std::fs::write(&path, "cores = 8\nbeads = 3\n").unwrap();
    let (code, _, said) = show(&path);
    assert_eq!(code, 1);
    assert!(
        said.contains("absent.toml") && said.contains("beads"),
        "{said}"
    );
}

#[test]
fn a_table_of_a_paper_is_printed_and_kept() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("cells.json");
    let mut arguments = vec!["paper", "--table", "pinning"];
    arguments.extend(["--policy", "libasync-smp-nosteal,cfse"]);
    arguments.extend(["--json", path.to_str().unwrap()]);
    let (code, out, said) = sim(&arguments);
    assert_eq!((code, said.as_str()), (0, ""));
    for part in ["Xeon E5410", "sim/paper", "orderings of the papers hold"] {
        assert!(out.contains(part), "{out}");
    }
    let cells = std::fs::read_to_string(&path).unwrap();
    let cells: serde_json::Value = serde_json::from_str(&cells).unwrap();
    let cell = &cells[0];
    assert_eq!(cell["table"], "pinning");
    assert_eq!(cell["row"], "cfse");
    assert_eq!(cell["column"], "rate/nosteal");
    assert_eq!(cell["paper"], 1.02);
    assert_eq!(cell["standing"], "predicted");
    assert!(cell["simulated"].as_f64().unwrap() > 0.5, "{cells}");
}

#[test]
fn wrong_tables_and_policies_are_told() {
    let (code, _, said) = sim(&["paper", "--table", "tableau"]);
    assert_eq!(code, 2);
    assert!(
        said.contains("tableau") && said.contains("cache-aware"),
        "{said}"
    );
    let (code, _, said) = sim(&["paper", "--policy", "fastest"]);
    assert_eq!(code, 2);
    assert!(said.contains("mely-timeleft"), "{said}");
    let few = ["paper", "--table", "pinning", "--machine", "kvm-xeon-2"];
    let (code, _, said) = sim(&few);
    assert_ne!(code, 0);
    assert!(said.contains("mely: "), "{said}");
    let (code, help, _) = sim(&["paper", "--help"]);
    assert_eq!(code, 0);
    assert!(
        help.contains("--json") && help.contains("cfse-web"),
        "{help}"
    );
}

#[test]
fn workloads_run_on_more_and_more_cores() {
    let root = tempfile::tempdir().unwrap();
    let (json, svg) = (root.path().join("scale.json"), root.path().join("svg"));
    let [file, directory] = [&json, &svg].map(|path| path.to_str().unwrap());
    let these = ["--workload", "unbalanced", "--policy", "mely,adaptive"];
    let arguments = [&["scale", "--small", "--cores", "2,1"], &these[..]].concat();
    let written = ["--json", file, "--svg", directory];
    let (code, text, said) = sim(&[&arguments[..], &written].concat());
    assert_eq!((code, said.as_str()), (0, ""));
    for word in ["adaptive", "events/s", "efficiency", "100.0%"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let rows = json.as_array().unwrap();
    let cores: Vec<_> = rows.iter().map(|row| row["cores"].as_u64()).collect();
    assert_eq!(cores, [Some(1), Some(1), Some(2), Some(2)]);
    assert!(
        rows.iter()
            .all(|row| row["per_second"].as_f64() > Some(0.0))
    );
    let picture = std::fs::read_to_string(svg.join("scale-unbalanced.svg")).unwrap();
    assert!(picture.contains("steals/s"), "{picture}");

    let (code, text, _) = sim(&[&arguments[..], &["--limit", "0"]].concat());
    assert_eq!(code, 0);
    assert!(text.contains("cut: 4 of 4"), "{text}");
    for (argument, value) in [("--cores", "0"), ("--workload", "abacus")] {
        let (code, _, said) = sim(&["scale", argument, value]);
        assert_eq!(code, 2);
        assert!(said.contains(value), "{said}");
    }
    let (code, _, said) = sim(&["scale", "--machine", "xeon-e5410", "--cores", "7"]);
    assert_eq!(code, 2);
    assert!(said.contains("give 6 or 8"), "{said}");
}

#[test]
fn explore_runs_programs_and_tells_what_it_did() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("explore.json");
    let file = file.to_str().unwrap();
    let arguments = ["explore", "--seeds", "3", "--policy", "all", "--json", file];
    let (code, table, said) = sim(&arguments);
    assert_eq!((code, said.as_str()), (0, ""));
    assert!(table.contains("libasync-smp-nosteal"), "{table}");
    let json = std::fs::read_to_string(file).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["policies"].as_array().unwrap().len(), 13);
    assert_eq!(json["policies"][0]["programs"], 3);
    assert!(json["failure"].is_null());
    // The same again, and another seed is another run.
    assert!(table.contains(json["trace_hash"].as_str().unwrap()));
    let hash = |table: &str| table.lines().last().unwrap().to_owned();
    let one = |first: &str| hash(&sim(&["explore", "--first", first, "--seeds", "1"]).1);
    assert_eq!(one("5"), one("5"));
    assert_ne!(one("5"), one("6"));
}

#[test]
fn explore_refuses_what_it_cannot_do() {
    for (arguments, part) in [
        (["--cores", "0"], "give 1 to 64"),
        (["--policy", "fastest"], "or `all`"),
        (["--seeds", "0"], "seeds"),
    ] {
        let (code, _, said) = sim(&["explore", arguments[0], arguments[1]]);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn simulations_are_compared_with_this_machine() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("check.json");
    let mut arguments = vec!["check", "--seconds", "0.005", "--repeat", "1"];
    arguments.extend(["--policy", "libasync-smp,adaptive"]);
    arguments.extend(["--json", path.to_str().unwrap()]);
    let (code, out, said) = sim(&arguments);
    assert_eq!((code, said.as_str()), (0, ""));
    for part in ["measured/simulated", "cache-efficient", "of 6 ratios are"] {
        assert!(out.contains(part), "{out}");
    }
    let cells = std::fs::read_to_string(&path).unwrap();
    let cells: serde_json::Value = serde_json::from_str(&cells).unwrap();
    let cells = cells.as_array().unwrap();
    assert_eq!(cells.len(), 6);
    for cell in cells {
        let of = |name: &str| cell[name].as_f64().unwrap();
        assert!(of("simulated") > 0.0 && of("min") > 0.0, "{cell}");
        // But for what a reader of JSON rounds.
        let ratio = of("measured") / of("simulated");
        assert!((of("ratio") / ratio - 1.0).abs() < 1e-9, "{cell}");
        assert_eq!(cell["runs"], 1);
    }
    let whence = std::fs::read_to_string(path.with_extension("machine.json")).unwrap();
    assert!(
        whence.contains("sim check") && whence.contains("measured"),
        "{whence}"
    );
}

#[test]
fn what_cannot_be_compared_is_told() {
    let (code, _, said) = sim(&["check", "--machine", "xeon-8592-2s"]);
    assert_eq!(code, 2);
    for part in ["xeon-8592-2s", "are here", "mely sim calibrate"] {
        assert!(said.contains(part), "{said}");
    }
    for (argument, value) in [
        ("--seconds", "0"),
        ("--repeat", "0"),
        ("--policy", "fastest"),
    ] {
        let (code, _, said) = sim(&["check", argument, value]);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(value), "{said}");
    }
    let file = [
        "check",
        "--json",
        "/no/such/dir/check.json",
        "--policy",
        "mely",
    ];
    let (code, _, said) = sim(&[&file[..], &["--seconds", "0.001", "--repeat", "1"]].concat());
    assert_eq!(code, 1);
    assert!(said.contains("/no/such/dir/check.json"), "{said}");
    let (code, help, _) = sim(&["check", "--help"]);
    assert_eq!(code, 0);
    assert!(
        help.contains("--json") && help.contains("--repeat"),
        "{help}"
    );
}
