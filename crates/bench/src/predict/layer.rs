//! What encrypting a layer costs a server: rates of its operations times the cost of each.

use serde::Serialize;
use server::Flavor;

use super::{
    activity::Activity,
    calibration::{AesCost, Calibration},
    protection::{Protection, Sessions, State},
};
use crate::range::Range;

/// The prediction for one layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerPrediction {
    /// What is encrypted.
    pub layer: &'static str,
    /// Whether it is encrypted already. If so, the figures are what the server pays now.
    pub state: State,
    /// How the processor time is calculated.
    pub operations: Vec<Cost>,
    /// What it costs.
    pub effect: Effect,
    /// Processor time of both sides for a handshake, which each new connection takes longer, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handshake_seconds: Option<Range>,
}

/// One kind of operation: how often, and how long each takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// The operation, or its unit.
    pub operation: &'static str,
    /// Number per second.
    pub per_second: Range,
    /// Processor time of one, in seconds.
    pub seconds_each: Range,
    /// Whether a client waits for it. The others are done in the background.
    pub is_waited_for: bool,
    /// Whether a client does it, and not the server.
    pub is_of_client: bool,
}

/// What encryption costs a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Effect {
    /// Processors that are busy with it.
    pub processors: Range,
    /// Share of the processor time that the server uses now, in percent; `None` if that is unknown.
    pub server_cpu_percent: Option<Range>,
    /// How much longer a statement takes on average, in seconds.
    pub latency_seconds: Option<Range>,
    /// By how much the throughput falls, in percent, if clients send statements one after the other.
    pub throughput_loss_percent: Option<Range>,
}

/// The servers' cryptographic libraries are those of other vendors, and are called with buffers to copy and contexts to
/// create for each operation: up to twice the time of this program's own.
const OF_SERVER: Range = Range { low: 1.0, high: 2.0 };
const MIB: f64 = (1 << 20) as f64;
/// MariaDB makes a cipher for each record of its redo log (since 10.8) and for each event of its binary log, which takes longer
/// than to encrypt it. Measured on MariaDB 10.11.19 with three loads, as the growth of the server's processor time: 15 µs for a
/// KB of redo log and 35 µs for one of binary log, where a short message took this program 0.8 µs.
const REDO_RECORDS: Messages = Messages {
    operation: "redo records",
    bytes: Range { low: 45.0, high: 70.0 },
    of_server: Range { low: 0.75, high: 1.25 },
};
const EVENTS: Messages = Messages {
    operation: "events of the binary log",
    bytes: Range { low: 120.0, high: 180.0 },
    of_server: Range { low: 4.0, high: 7.0 },
};
/// TLS records of a statement: one from the client and one to it.
const RECORDS_PER_STATEMENT: f64 = 2.0;
/// On a connection, a record is much more than its encryption: calls of the library, copies, and system calls for the record's
/// head and body. The lower limit is what perf saw in OpenSSL, in relation to the encryption by this program; the upper one is
/// by how much the server's processor time grew. Measured with oltp_read_write on MySQL 9.7.4: 2.4 to 4.6 and 5.2 µs a record
/// where this program's encryption took 0.53 to 0.57 µs.
const RECORD_OF_SERVER: Range = Range { low: 4.0, high: 10.0 };
/// The same of a client; sysbench took 3.4 µs a record longer.
const RECORD_OF_CLIENT: Range = Range { low: 3.0, high: 6.0 };

impl Cost {
    pub(crate) fn processors(&self) -> Range {
        self.per_second.times(self.seconds_each)
    }
}

impl Effect {
    /// The cost of these operations for a server that does not perform them yet.
    ///
    /// The lower limits count only what clients wait for, in relation to the time that they wait for the server. The
    /// upper limits hold if processors are the limit: everything is counted, in relation to the processor time that the
    /// server uses. If that is unknown, so are latency and throughput: sessions that run may wait for locks or a disk.
    pub(super) fn added(operations: &[Cost], activity: &Activity) -> Self {
        let total = sum(operations.iter().filter(|cost| !cost.is_of_client));
        let waited = sum(operations.iter().filter(|cost| cost.is_waited_for));
        let Some(used) = activity.server_processors.filter(|used| *used > 0.0) else {
            return Self { processors: total, ..Self::default() };
        };
        let bound = (total.high / used).max(share(waited.high, activity.running_sessions));
        let slower = Range::between(share(waited.low, activity.running_sessions), bound);
        let statement = |share: Range| {
            let mean = activity.running_sessions.max(used) / activity.statements;
            Range { low: waited.low / activity.statements, high: share.high * mean }
        };
        Self {
            processors: total,
            server_cpu_percent: Some(total.map(|seconds| share(seconds, used) * 100.0)),
            latency_seconds: (activity.statements > 0.0).then(|| statement(slower)),
            throughput_loss_percent: Some(slower.map(|share| share / (1.0 + share) * 100.0)),
        }
    }

    /// The cost of operations that the server performs already.
    pub(super) fn paid(operations: &[Cost], activity: &Activity) -> Self {
        let added = Self::added(operations, activity);
        Self { latency_seconds: None, throughput_loss_percent: None, ..added }
    }
}

fn sum<'c>(operations: impl Iterator<Item = &'c Cost>) -> Range {
    operations.fold(Range::default(), |sum, cost| sum.plus(cost.processors()))
}

fn share(part: f64, of: f64) -> f64 {
    if of > 0.0 { part / of } else { 0.0 }
}

/// The server and this machine, from which layers are calculated.
pub(super) struct Basis<'b> {
    pub(super) flavor: Flavor,
    pub(super) activity: &'b Activity,
    pub(super) protection: &'b Protection,
    pub(super) calibration: &'b Calibration,
}

/// Names of layers.
pub(crate) const TABLES: &str = "tables";
pub(crate) const UNDO: &str = "undo logs";
pub(crate) const REDO: &str = "redo log";
pub(crate) const BINARY_LOGS: &str = "binary logs";
pub(crate) const CONNECTIONS: &str = "connections";

impl Basis<'_> {
    /// All layers of this server.
    pub(super) fn layers(&self) -> Vec<LayerPrediction> {
        [self.tables(), self.undo(), self.redo(), self.binary_logs(), self.connections()]
            .into_iter()
            .flatten()
            .collect()
    }

    fn layer(&self, layer: &'static str, state: State, operations: Vec<Cost>) -> LayerPrediction {
        let effect = match state {
            State::Encrypted => Effect::paid(&operations, self.activity),
            state if state.is_missing() => Effect::added(&operations, self.activity),
            _ => Effect::default(),
        };
        LayerPrediction { layer, state, operations, effect, handshake_seconds: None }
    }

    /// The cipher of pages and of the redo log. MariaDB derives a key of 128 bits for them, whatever the key is.
    const fn page_cipher(&self) -> &AesCost {
        match self.flavor {
            Flavor::MariaDb => &self.calibration.aes128,
            Flavor::MySql | Flavor::Percona => &self.calibration.aes256,
        }
    }

    fn pages(&self, operation: [&'static str; 2], read: f64, written: f64) -> Vec<Cost> {
        #[allow(clippy::cast_precision_loss, reason = "a page has at most 64 KiB")]
        let page_bytes = self.protection.page_bytes as f64;
        let cipher = self.page_cipher();
        let cost = |operation, pages, byte_seconds: f64, is_waited_for| Cost {
            operation,
            per_second: Range::exactly(pages),
            seconds_each: OF_SERVER.map(|times| times * byte_seconds * page_bytes),
            is_waited_for,
            is_of_client: false,
        };
        vec![
            cost(operation[0], read, cipher.page_decrypt, true),
            // InnoDB's threads write changed pages in the background.
            cost(operation[1], written, cipher.page_encrypt, false),
        ]
    }

    fn tables(&self) -> Option<LayerPrediction> {
        let Activity { pages_read, pages_written, .. } = self.activity;
        let undo = |pages: Option<f64>| if self.protection.undo == State::Absent { 0.0 } else { pages.unwrap_or(0.0) };
        let (undo_read, undo_written) = (undo(self.activity.undo_pages_read), undo(self.activity.undo_pages_written));
        let pages = self.pages(
            ["pages read", "pages written"],
            (pages_read - undo_read).max(0.0),
            (pages_written - undo_written).max(0.0),
        );
        Some(self.layer(TABLES, self.protection.tables, pages))
    }

    /// Undo logs, if their pages are counted; otherwise they are among those of the tables.
    fn undo(&self) -> Option<LayerPrediction> {
        let (read, written) = (self.activity.undo_pages_read?, self.activity.undo_pages_written?);
        let pages = self.pages(["undo pages read", "undo pages written"], read, written);
        (self.protection.undo != State::Absent).then(|| self.layer(UNDO, self.protection.undo, pages))
    }

    fn redo(&self) -> Option<LayerPrediction> {
        let cipher = self.page_cipher();
        // MySQL encrypts each block of 512 bytes by itself.
        let byte = if self.flavor.is_mysql_like() { cipher.block_encrypt } else { cipher.stream };
        let bytes = self.activity.redo_bytes;
        let records = self.protection.redo_by_record.then(|| REDO_RECORDS.of(bytes, cipher));
        let written = [log("MiB of redo log", bytes, byte)].into_iter().chain(records.flatten());
        Some(self.layer(REDO, self.protection.redo, written.collect()))
    }

    fn binary_logs(&self) -> Option<LayerPrediction> {
        let bytes = self.activity.binlog_bytes?;
        let cipher = &self.calibration.aes256;
        // MariaDB encrypts each event by itself.
        let is_mysql_like = self.flavor.is_mysql_like();
        let byte = if is_mysql_like { cipher.stream } else { cipher.block_encrypt };
        let events = (!is_mysql_like).then(|| EVENTS.of(bytes, cipher));
        let written = [log("MiB of binary log", bytes, byte)].into_iter().chain(events.flatten());
        Some(self.layer(BINARY_LOGS, self.protection.binlog, written.collect()))
    }

    fn connections(&self) -> Option<LayerPrediction> {
        let Activity { connections, statements, client_bytes, .. } = self.activity;
        let (state, counted) = self.counted_connections();
        let handshakes = &self.calibration.handshakes;
        let (cheapest, dearest) = (handshakes.first()?, handshakes.last()?);
        let both = Range::between(cheapest.both, dearest.both);
        let server = Range::between(cheapest.server, dearest.server).times(OF_SERVER);
        let of = |all: f64| counted.map(|share| share * all);
        let records = of(statements * RECORDS_PER_STATEMENT);
        let record = |times: Range| times.map(|times| times * self.calibration.record_seconds);
        let mib = OF_SERVER.map(|times| times * self.calibration.record_byte_seconds * MIB);
        let cost = |operation, per_second, seconds_each, is_waited_for| Cost {
            operation,
            per_second,
            seconds_each,
            is_waited_for,
            is_of_client: false,
        };
        let operations = vec![
            cost("handshakes", of(*connections), server, false),
            cost("TLS records", records, record(RECORD_OF_SERVER), true),
            Cost { is_of_client: true, ..cost("TLS records of clients", records, record(RECORD_OF_CLIENT), true) },
            cost("MiB in TLS records", of(client_bytes / MIB), mib, true),
        ];
        let handshake_seconds = Some(both.times(OF_SERVER));
        Some(LayerPrediction { handshake_seconds, ..self.layer(CONNECTIONS, state, operations) })
    }

    /// Whether connections are encrypted, and the share of them whose encryption the figures are about: those in clear
    /// text over the network, or those with TLS if all of them are. If nothing is known about them, it may be any share.
    fn counted_connections(&self) -> (State, Range) {
        let new = self.activity.tls_connections.filter(|_| self.activity.connections > 0.0);
        let new_tls = new.map(|tls| (tls / self.activity.connections).min(1.0));
        match (self.protection.sessions, new_tls) {
            (Some(Sessions { tls, tcp: 0, local }), _) if tls > 0 => {
                (State::Encrypted, Range::exactly(f64::from(tls) / f64::from(tls + local)))
            }
            (Some(Sessions { tls: 0, tcp: 0, local }), _) if local > 0 => (State::Absent, Range::default()),
            (Some(Sessions { tls: 0, tcp, local }), _) if tcp > 0 => {
                (State::Clear, Range::exactly(f64::from(tcp) / f64::from(tcp + local)))
            }
            (Some(Sessions { tls, tcp, local }), _) if tls > 0 => {
                (State::Partly, Range::exactly(f64::from(tcp) / f64::from(tls + tcp + local)))
            }
            (_, Some(tls)) if tls >= 1.0 => (State::Encrypted, Range::exactly(1.0)),
            (_, Some(tls)) if tls > 0.0 => (State::Partly, Range { low: 0.0, high: 1.0 - tls }),
            _ => (State::Unknown, Range { low: 0.0, high: 1.0 }),
        }
    }
}

/// Bytes written to a log, in MiB. Commits wait for them.
fn log(operation: &'static str, bytes: f64, byte_seconds: f64) -> Cost {
    Cost {
        operation,
        per_second: Range::exactly(bytes / MIB),
        seconds_each: OF_SERVER.map(|times| times * byte_seconds * MIB),
        is_waited_for: true,
        is_of_client: false,
    }
}

/// Parts of a log that are encrypted by themselves.
struct Messages {
    operation: &'static str,
    /// Bytes of one on average.
    bytes: Range,
    /// How many times as long as a short message of this program one takes.
    of_server: Range,
}

impl Messages {
    /// Those in so many bytes of a log; `None` if the cost of one is not known.
    fn of(&self, bytes: f64, cipher: &AesCost) -> Option<Cost> {
        let seconds = cipher.message?;
        Some(Cost {
            operation: self.operation,
            per_second: Range { low: bytes / self.bytes.high, high: bytes / self.bytes.low },
            seconds_each: self.of_server.map(|times| times * seconds),
            is_waited_for: true,
            is_of_client: false,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::predict::calibration::HandshakeCost;

    pub(in crate::predict) fn calibration() -> Calibration {
        let aes = |page_decrypt| AesCost {
            page_decrypt,
            page_encrypt: 1e-9,
            block_encrypt: 1e-9,
            stream: 2e-10,
            message: None,
        };
        let handshake = |key: &str, server| HandshakeCost { key: key.to_owned(), server, both: server * 3.0 };
        Calibration {
            aes128: aes(1.5e-10),
            aes256: aes(2e-10),
            handshakes: vec![handshake("ECDSA P-256", 1e-4), handshake("RSA-2048", 1e-3)],
            record_seconds: 1e-6,
            record_byte_seconds: 3e-10,
            page_checksum: Some(1e-10),
            context_switch: Some(2e-6),
        }
    }

    fn protection(state: State) -> Protection {
        let sessions = Some(Sessions { tls: 0, tcp: 2, local: 2 });
        let redo_by_record = false;
        Protection {
            tables: state,
            undo: state,
            redo: state,
            binlog: state,
            sessions,
            page_bytes: 16_384,
            redo_by_record,
        }
    }

    fn activity() -> Activity {
        Activity {
            seconds: 60.0,
            statements: 1000.0,
            running_sessions: 2.0,
            connections: 10.0,
            tls_connections: Some(0.0),
            client_bytes: 1_048_576.0,
            pages_read: 500.0,
            pages_written: 100.0,
            redo_bytes: 1_048_576.0,
            binlog_bytes: None,
            server_processors: Some(0.5),
            ..Activity::default()
        }
    }

    fn layers(activity: &Activity, protection: &Protection, flavor: Flavor) -> Vec<LayerPrediction> {
        Basis { flavor, activity, protection, calibration: &calibration() }.layers()
    }

    fn close(value: f64, wanted: f64) -> bool {
        (value - wanted).abs() <= wanted.abs() * 1e-6
    }

    #[test]
    fn mariadb_encrypts_each_record_and_each_event() {
        let protection = Protection { redo_by_record: true, ..protection(State::Clear) };
        let activity = Activity { redo_bytes: 7_000.0, binlog_bytes: Some(18_000.0), ..activity() };
        let mut calibration = calibration();
        (calibration.aes128.message, calibration.aes256.message) = (Some(1e-6), Some(2e-6));
        let basis =
            Basis { flavor: Flavor::MariaDb, activity: &activity, protection: &protection, calibration: &calibration };
        let [redo, binary] = [basis.redo().unwrap(), basis.binary_logs().unwrap()].map(|layer| layer.operations[1]);
        let is = |cost: Cost, name: &str, least: f64, longest: f64| {
            cost.operation == name && close(cost.per_second.low, least) && close(cost.seconds_each.high, longest)
        };
        assert!(is(redo, "redo records", 100.0, 1.25e-6), "{redo:?}");
        assert!(is(binary, "events of the binary log", 100.0, 14e-6), "{binary:?}");
        let older = Protection { redo_by_record: false, ..protection };
        let basis = Basis { protection: &older, ..basis };
        assert_eq!(basis.redo().unwrap().operations.len(), 1);
    }

    #[test]
    fn the_cost_of_tables_is_that_of_their_pages() {
        let all = layers(&activity(), &protection(State::Clear), Flavor::MySql);
        let names: Vec<&str> = all.iter().map(|layer| layer.layer).collect();
        // The rate of binary logs is unknown.
        assert_eq!(names, [TABLES, REDO, CONNECTIONS]);
        let Effect { processors, server_cpu_percent, latency_seconds, throughput_loss_percent } = all[0].effect;
        let (read, written) = (500.0 * 2e-10 * 16_384.0, 100.0 * 1e-9 * 16_384.0);
        assert!(close(processors.low, read + written) && close(processors.high, 2.0 * (read + written)));
        assert!(close(server_cpu_percent.unwrap().high, processors.high / 0.5 * 100.0));
        // Two clients wait two seconds each second; only reading makes them wait longer.
        assert!(close(latency_seconds.unwrap().low, read / 1000.0), "{latency_seconds:?}");
        let loss = throughput_loss_percent.unwrap();
        let high = processors.high / 0.5;
        assert!(
            close(loss.low, read / 2.0 / (1.0 + read / 2.0) * 100.0) && close(loss.high, high / (1.0 + high) * 100.0)
        );
    }

    #[test]
    fn the_loss_is_the_same_in_any_unit_of_time_and_less_where_all_takes_longer() {
        let loss = |work: &Activity, times: f64| {
            let all = layers(work, &protection(State::Clear), Flavor::MySql);
            let operations = [all[0].operations.clone(), all[1].operations.clone()].concat();
            let slower = Activity {
                running_sessions: work.running_sessions * times,
                server_processors: work.server_processors.map(|used| used * times),
                ..work.clone()
            };
            Effect::added(&operations, &slower).throughput_loss_percent.unwrap()
        };
        let Activity { running_sessions, pages_read, pages_written, redo_bytes, server_processors, .. } = activity();
        let transaction = Activity {
            running_sessions: running_sessions / 50.0,
            pages_read: pages_read / 50.0,
            pages_written: pages_written / 50.0,
            redo_bytes: redo_bytes / 50.0,
            server_processors: server_processors.map(|used| used / 50.0),
            ..activity()
        };
        let (second, each) = (loss(&activity(), 1.0), loss(&transaction, 1.0));
        assert!(close(each.low, second.low) && close(each.high, second.high), "{each:?} {second:?}");
        let (slower, share) = (loss(&transaction, 2.0), second.map(|percent| percent / (100.0 - percent)));
        let half = share.map(|share| share / 2.0 / (1.0 + share / 2.0) * 100.0);
        assert!(close(slower.low, half.low) && close(slower.high, half.high), "{slower:?} {half:?}");
    }

    #[test]
    fn only_connections_over_the_network_are_counted() {
        let all = layers(&activity(), &protection(State::Clear), Flavor::MySql);
        let connections = &all[2];
        assert_eq!(connections.state, State::Clear);
        assert_eq!(connections.operations[0].per_second, Range::exactly(5.0));
        assert!(close(connections.operations[0].seconds_each.high, 2e-3));
        let local =
            Protection { sessions: Some(Sessions { local: 3, ..Sessions::default() }), ..protection(State::Clear) };
        let all = layers(&activity(), &local, Flavor::MySql);
        assert_eq!((all[2].state, all[2].effect), (State::Absent, Effect::default()));
        let unknown = Protection { sessions: None, ..protection(State::Clear) };
        let half = Activity { tls_connections: Some(5.0), ..activity() };
        assert_eq!(layers(&half, &unknown, Flavor::MySql)[2].operations[0].per_second, Range { low: 0.0, high: 5.0 });
    }

    #[test]
    fn clients_wait_for_their_own_records_which_cost_the_server_nothing() {
        let tcp = Protection { sessions: Some(Sessions { tcp: 2, ..Sessions::default() }), ..protection(State::Clear) };
        let busy = Activity { connections: 0.0, client_bytes: 0.0, ..activity() };
        let connections = &layers(&busy, &tcp, Flavor::MySql)[2];
        let Effect { processors, latency_seconds, .. } = connections.effect;
        // 2,000 records a second.
        assert!(close(processors.low, 2000.0 * 4e-6) && close(processors.high, 2000.0 * 10e-6), "{processors:?}");
        assert!(close(latency_seconds.unwrap().low, 2.0 * 7e-6), "{latency_seconds:?}");
    }

    #[test]
    fn what_is_encrypted_is_paid_already() {
        let all = layers(&activity(), &protection(State::Encrypted), Flavor::MariaDb);
        assert!(all[0].effect.processors.high > 0.0 && all[0].effect.throughput_loss_percent.is_none());
        // MariaDB's cipher has shorter keys, and its redo log is a stream.
        assert!(close(all[1].effect.processors.low, 2e-10 * 1_048_576.0));
    }

    #[test]
    fn undo_pages_are_taken_from_those_of_the_tables_if_they_are_counted() {
        let counted = Activity { undo_pages_read: Some(100.0), undo_pages_written: Some(40.0), ..activity() };
        let all = layers(&counted, &protection(State::Clear), Flavor::MySql);
        let rates = |layer: &LayerPrediction| [0, 1].map(|at: usize| layer.operations[at].per_second.low);
        assert_eq!((all[1].layer, rates(&all[0]), rates(&all[1])), (UNDO, [400.0, 60.0], [100.0, 40.0]));
    }

    #[test]
    fn without_the_processor_time_of_the_server_only_part_is_known() {
        let remote = Activity { server_processors: None, ..activity() };
        let effect = layers(&remote, &protection(State::Clear), Flavor::MySql)[0].effect;
        assert!(effect.processors.high > 0.0);
        assert_eq!(
            (effect.server_cpu_percent, effect.throughput_loss_percent, effect.latency_seconds),
            (None, None, None)
        );
    }
}
