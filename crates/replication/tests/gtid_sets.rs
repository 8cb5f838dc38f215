//! GTID sets compared with a real server: subset and difference give the server's results.

use harness::{Kind, Server, require};
use replication::gtid::mysql::GtidSet;

const A: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const B: &str = "aaaaaaaa-71ca-11e1-9e33-c80aa9429562";

/// A few dozen different sets, overlapping in every way; the same at each run.
fn sets() -> Vec<String> {
    let intervals = ["1", "1-5", "3-9", "5:7:9", "2-3:8-12", "12-20", "1-20"];
    let origins = [format!("{A}:"), format!("{B}:"), format!("{A}:tag_1:"), format!("{B}:x:")];
    let mut sets = vec![String::new()];
    for (number, interval) in intervals.iter().enumerate() {
        let other = intervals[(number * 3 + 1) % intervals.len()];
        let [first, second] = [&origins[number % 4], &origins[(number + 1) % 4]];
        sets.push(format!("{first}{interval}"));
        sets.push(format!("{first}{interval},{second}{other}"));
        sets.push(format!("{A}:{interval}:tag_1:{other},\n{}:{other}", B.to_uppercase()));
    }
    sets
}

#[test]
fn subset_and_difference_are_those_of_the_server() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let server = Server::builder(Kind::MySql97).start().unwrap();
    let sets = sets();
    let pairs: Vec<(&String, &String)> = sets.iter().flat_map(|a| sets.iter().map(move |b| (a, b))).collect();
    let questions: Vec<String> = pairs
        .iter()
        .map(|(a, b)| {
            format!("SELECT GTID_SUBSET('{a}','{b}'), REPLACE(GTID_SUBTRACT('{a}','{b}'), '\\n', ''), 'end';")
        })
        .collect();
    let answers = server.sql(&questions.join("\n")).unwrap();
    assert_eq!(answers.lines().count(), pairs.len());
    for ((a, b), answer) in pairs.iter().zip(answers.lines()) {
        let [ours, theirs] = [a, b].map(|text| text.parse::<GtidSet>().unwrap());
        let expected = format!("{}\t{}\tend", u8::from(ours.is_subset_of(&theirs)), ours.without(&theirs));
        assert_eq!(answer, expected, "{a} and {b}");
    }
}
