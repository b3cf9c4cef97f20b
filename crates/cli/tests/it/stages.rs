//! Experiments on staged servers, as small as they can be: that they run and say what they found.

use crate::process::mely;

/// Runs an experiment: whether it succeeded, and what it said.
fn stages(arguments: &[&str]) -> (bool, String) {
    let output = mely().args(["bench", "stages"]).args(arguments).output();
    let output = output.unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

/// Runs one, and reads its lines that begin with a word.
fn lines(experiment: &str, word: &str, arguments: &[&str]) -> Vec<String> {
    let usual = [
        "--experiment",
        experiment,
        "--seconds=0.05",
        "--repeat=1",
        "--keep-disturbed",
    ];
    let (success, said) = stages(&[&usual[..], arguments].concat());
    assert!(success, "{said}");
    let lines = said
        .lines()
        .filter(|line| line.starts_with(&format!("{word} ")));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_staged_server_is_overloaded() {
    let chosen = ["--policy=within,none", "--cost=20", "--answer=100"];
    let found = lines("overload", "step", &chosen);
    assert_eq!(found.len(), 2, "{found:?}");
    for word in ["within", "1.4 times", "share_of_peak=", "accepted="] {
        assert!(found[0].contains(word), "{found:?}");
    }
}

#[test]
fn servers_are_compared() {
    let found = lines("servers", "servers", &["--connections=5"]);
    let names = ["mely", "thread-pool", "thread-each"];
    for (line, name) in found.iter().zip(names) {
        assert!(
            line.contains(name) && line.contains("fairness="),
            "{found:?}"
        );
        assert!(line.contains("errors=0.0"), "{found:?}");
    }
    assert_eq!(found.len(), names.len());
}

#[test]
fn packets_are_sent_on_many_connections_and_on_one_among_idle_ones() {
    let found = lines("sockets", "sockets", &["--connections=1,20", "--packets=3"]);
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found[0].contains("mbit_per_s="), "{found:?}");
    assert_eq!(lines("idle", "idle", &["--connections=10"]).len(), 2);
}

#[test]
fn what_cannot_be_run_is_told() {
    for (arguments, word) in [
        (&[][..], "--experiment"),
        (&["--experiment=step"], "overload"),
        (&["--experiment=overload", "--policy=all"], "response-time"),
        (&["--experiment=overload", "--cost=0"], "--cost"),
        (&["--experiment=idle", "--connections=0"], "--connections"),
        (&["--experiment=sockets", "--seconds=0"], "--seconds"),
    ] {
        let (success, said) = stages(arguments);
        assert!(!success && said.contains(word), "{arguments:?}: {said}");
    }
}
