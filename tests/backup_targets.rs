//! Restores to many random points in time. Each transaction writes its number, so a restored server shows exactly which
//! ones it has.

use std::fs;

use harness::{Kind, Server};

use crate::backup_binlogs::Case;
use crate::support::chance::{Random, number};
use crate::support::disk::text;

/// Number of transactions before and after the second backup.
const HALF: u64 = 120;
/// Rows of a large transaction, of about a kilobyte.
const LARGE: u64 = 1500;

/// A transaction, as its client saw it. Times are in microseconds since 1970, by the server's clock.
#[derive(Clone, Debug)]
struct Written {
    number: u64,
    is_large: bool,
    began: i64,
    /// When its rows were written, before `COMMIT`.
    committing: i64,
    committed: i64,
    gtid: String,
    /// The log and the offset before and after it.
    begin: (String, u64),
    end: (String, u64),
}

/// Where a restore is to end.
#[derive(Clone, Debug)]
struct Target {
    /// The option and its value.
    option: [String; 2],
    /// The number of transactions that the restored server must have.
    count: u64,
}

#[test]
#[ignore = "each target takes seconds: `make soak`"]
fn any_target_is_reached_on_mysql() {
    if let Some(case) = Case::mysql() {
        every_target_is_reached(&case, &mut Random::new(31));
    }
}

#[test]
#[ignore = "each target takes seconds: `make soak`"]
fn any_target_is_reached_on_mariadb() {
    if let Some(case) = Case::mariadb() {
        every_target_is_reached(&case, &mut Random::new(32));
    }
}

#[allow(clippy::print_stdout, reason = "shows how far it is, as it takes long")]
fn every_target_is_reached(case: &Case, random: &mut Random) {
    let tables = "CREATE DATABASE soak; \
         CREATE TABLE soak.entries (n INT, part INT, filler TEXT, PRIMARY KEY (n, part)); \
         CREATE TABLE soak.last (one INT PRIMARY KEY, n INT); INSERT INTO soak.last VALUES (1, 0)";
    case.server.sql(tables).expect("tables are made");
    case.backups.backup(&["run"]).is(0);
    let mut written = write(case, 1, random);
    case.backups.backup(&["binlogs", "--once"]).is(0);
    case.backups.backup(&["run"]).is(0);
    written.extend(write(case, HALF + 1, random));
    // Later ones, so that all targets by time are in the archive.
    case.server.sql("DO SLEEP(1.1); UPDATE soak.last SET n = -1").expect("changed");
    case.backups.backup(&["binlogs", "--once"]).is(0);
    let is_mysql = case.server.kind() == Kind::MySql97;
    let targets = number("SEALANT_PIT_TARGETS", 100);
    for target in 1..=targets {
        let to = choose(&written, is_mysql, random);
        // The second backup has the first half.
        let backup = if to.count > HALF && random.below(2) == 0 { "2" } else { "1" };
        reaches(case, backup, &to);
        println!(
            "{target} of {targets}: {} {}, {} transactions, from backup {backup}",
            to.option[0], to.option[1], to.count
        );
    }
}

/// Writes transactions from this number on, through one client that also asks for time and position.
fn write(case: &Case, first: u64, random: &mut Random) -> Vec<Written> {
    let is_mysql = case.server.kind() == Kind::MySql97;
    let status = if is_mysql { "SHOW BINARY LOG STATUS" } else { "SHOW MASTER STATUS" };
    let time = "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)";
    let remember = if is_mysql { "SET @had = @@GLOBAL.gtid_executed;" } else { "" };
    let gtid = if is_mysql { "GTID_SUBTRACT(@@GLOBAL.gtid_executed, @had)" } else { "@@last_gtid" };
    let recursions = if is_mysql { "cte_max_recursion_depth" } else { "max_recursive_iterations" };
    let mut statements = format!("SET SESSION {recursions} = 100000;\n");
    let mut large = Vec::new();
    for number in first..first + HALF {
        let is_large = random.below(12) == 0;
        let rows = if is_large { LARGE } else { 1 + random.below(4) };
        large.push(is_large);
        let filler = if is_large { 1000 } else { random.below(60) };
        if random.below(20) == 0 {
            statements += "FLUSH BINARY LOGS;\n";
        }
        // Small ones of MariaDB are statements in the log. In a large one that would be short, too.
        if !is_mysql {
            statements += &format!("SET SESSION binlog_format = {};\n", if is_large { "ROW" } else { "MIXED" });
        }
        // Most are in the same second as the one before.
        if random.below(6) == 0 {
            statements += &format!("DO SLEEP(0.{});\n", 1 + random.below(9));
        }
        let parts = format!(
            "WITH RECURSIVE parts (part) AS (SELECT 1 UNION ALL SELECT part + 1 FROM parts WHERE part < {rows})"
        );
        statements += &format!(
            "{remember} {status}; SELECT 'began', {time}; BEGIN;\n\
             INSERT INTO soak.entries {parts} SELECT {number}, part, REPEAT(CHAR(97 + {number} % 26), {filler}) FROM parts;\n\
             UPDATE soak.last SET n = {number}; SELECT 'committing', {time}; COMMIT;\n\
             SELECT 'committed', {time}; SELECT 'gtid', {gtid}; {status};\n"
        );
    }
    let output = case.server.sql(&statements).expect("written");
    let lines: Vec<Vec<&str>> = output.lines().map(|line| line.split('\t').collect()).collect();
    let written =
        lines.chunks(6).zip(first..).zip(large).map(|((lines, number), is_large)| parse(lines, number, is_large));
    let written: Vec<Written> = written.collect();
    assert_eq!(written.len() as u64, HALF);
    written
}

/// What the client saw of one transaction.
fn parse(lines: &[Vec<&str>], number: u64, is_large: bool) -> Written {
    let [before, began, committing, committed, gtid, after] = lines else { panic!("{lines:?}") };
    let position = |line: &[&str]| (line[0].to_owned(), line[1].parse().expect("an offset"));
    let time = |line: &[&str], name: &str| {
        assert_eq!(line[0], name);
        line[1].parse().expect("a time")
    };
    Written {
        number,
        is_large,
        began: time(began, "began"),
        committing: time(committing, "committing"),
        committed: time(committed, "committed"),
        gtid: gtid[1].to_owned(),
        begin: position(before),
        end: position(after),
    }
}

/// Chooses a target whose outcome follows from what the client saw.
fn choose(written: &[Written], is_mysql: bool, random: &mut Random) -> Target {
    loop {
        let any = random.below(written.len() as u64 - 1) as usize;
        let large: Vec<usize> = (0..written.len() - 1).filter(|index| written[*index].is_large).collect();
        // A third of the targets is at a large transaction.
        let index = if random.below(3) == 0 { large[random.below(large.len() as u64) as usize] } else { any };
        let (one, next) = (&written[index], &written[index + 1]);
        let target = |option: &str, value: String, count| Some(Target { option: [option.to_owned(), value], count });
        let position = |(file, offset): &(String, u64)| format!("{file}:{offset}");
        let chosen = match random.below(6) {
            0 => target("--to-gtid", one.gtid.clone(), one.number),
            1 => target("--before-gtid", one.gtid.clone(), one.number - 1),
            2 => target("--to-position", position(&one.end), one.number),
            3 => {
                let inside = one.begin.1 + 1 + random.below(one.end.1 - one.begin.1 - 1);
                target("--to-position", position(&(one.end.0.clone(), inside)), one.number - 1)
            }
            // Between two transactions, or while rows of one are written.
            kind if is_mysql => {
                let (from, end, count) = if kind == 4 {
                    (one.committed, next.began, one.number)
                } else {
                    (one.began, one.committing, one.number - 1)
                };
                let at = from + random.below((end - from).max(1) as u64) as i64;
                (from < end).then(|| target("--to-time", utc(at), count)).flatten()
            }
            // All of a second: known if each transaction near it began and ended in one second.
            _ => {
                let second = one.committed / 1_000_000;
                let is_known = |one: &Written| one.began / 1_000_000 == one.committed / 1_000_000;
                let later = written.iter().find(|other| other.began / 1_000_000 > second);
                let unsure = written.iter().any(|other| {
                    !is_known(other) && other.began / 1_000_000 <= second && other.committed / 1_000_000 > second
                });
                let at = second * 1_000_000 + random.below(1_000_000) as i64;
                let count = later.map(|later| later.number - 1);
                count.filter(|_| !unsure).and_then(|count| target("--to-time", utc(at), count))
            }
        };
        if let Some(target) = chosen {
            return target;
        }
    }
}

fn utc(microsecond: i64) -> String {
    jiff::Timestamp::from_microsecond(microsecond).expect("a time").to_string()
}

/// Asserts that a restore to the target has exactly the transactions up to it.
#[track_caller]
fn reaches(case: &Case, backup: &str, to: &Target) {
    let into = case.backups.path("target");
    let mut options: Vec<&str> = case.keys.iter().map(String::as_str).collect();
    options.extend(["--mysqld", text(&case.mysqld), &to.option[0], &to.option[1]]);
    let code = case.backups.restore(backup, &into, &options);
    assert!(matches!(code.code, 0 | 4), "{to:?} from backup {backup}: {}\n{}", code.stderr, code.json);
    let restored = case.start(&into);
    let query = |server: &Server, within: &str| {
        let columns = "COUNT(DISTINCT n), MIN(n), MAX(n), COUNT(*), SUM(CRC32(CONCAT_WS('-', n, part, filler)))";
        server.value(&format!("SELECT {columns} FROM soak.entries {within}")).expect("a row")
    };
    let expected = query(&case.server, &format!("WHERE n <= {}", to.count));
    assert_eq!(query(&restored, ""), expected, "{to:?} from backup {backup}: {}", code.json);
    let last = restored.value("SELECT n FROM soak.last").expect("a row");
    assert_eq!(last, to.count.to_string(), "{to:?} from backup {backup}");
    drop(restored);
    fs::remove_dir_all(&into).expect("removed");
}
