//! What encryption would cost a running server: its own counters, times what single operations cost on this machine.
//!
//! The server is only read. [`Activity`] is the work that it does, [`Protection`] what it encrypts already,
//! [`Calibration`] the processor time of single operations. A [`LayerPrediction`] multiplies them, so that a reader can
//! calculate each figure again.

mod activity;
mod calibration;
mod handshake;
mod layer;
mod observer;
mod protection;

use std::time::Duration;

use serde::Serialize;
use server::{Account, Connection, Flavor, Identity, Options, Target, describe};

pub(crate) use self::layer::{BINARY_LOGS, CONNECTIONS, REDO, TABLES, UNDO};
pub use self::{
    activity::Activity,
    calibration::{AesCost, Calibration, HandshakeCost, ReportedCalibration},
    layer::{Cost, Effect, LayerPrediction},
    observer::Unseen,
    protection::{Protection, Sessions, State},
};
use self::{activity::Unobserved, layer::Basis, observer::Observer};
pub use crate::range::Range;
use crate::{Environment, Error};

/// Name and version of the JSON document.
pub const PREDICTION_SCHEMA: &str = "sealant.cost-predict/1";

/// What encryption would cost a server.
#[derive(Clone, Debug, Serialize)]
pub struct Prediction {
    /// [`PREDICTION_SCHEMA`].
    pub schema: &'static str,
    /// This machine.
    pub environment: Environment,
    /// Fork and version of the server.
    pub server: String,
    /// Fork of the server.
    #[serde(skip)]
    pub(crate) flavor: Flavor,
    /// Where it was asked.
    pub endpoint: String,
    /// Whether the server did too little to predict anything.
    pub idle: bool,
    /// Its work.
    pub activity: Activity,
    /// What it encrypts already.
    pub protection: Protection,
    /// Cost of single operations.
    pub calibration: Calibration,
    /// Whether another machine's report has that cost.
    pub calibrated_elsewhere: bool,
    /// The layers.
    pub layers: Vec<LayerPrediction>,
    /// Everything together that is not encrypted yet.
    pub everything: Effect,
    /// What the account may not see.
    pub unseen: Vec<Unseen>,
    /// Remarks on what the figures leave out.
    pub notes: Vec<String>,
}

impl Prediction {
    /// The operations of these layers, whether they are encrypted or not, for other work of a server like this one, in
    /// the unit of time of that work.
    pub(crate) fn operations_of(&self, work: &Activity, layers: &[&str]) -> Vec<Cost> {
        let basis =
            Basis { flavor: self.flavor, activity: work, protection: &self.protection, calibration: &self.calibration };
        let named = basis.layers().into_iter().filter(|layer| layers.contains(&layer.layer));
        named.flat_map(|layer| layer.operations).collect()
    }

    /// The cost of these layers together for other work of a server like this one.
    pub(crate) fn effect_on(&self, work: &Activity, layers: &[&str]) -> Effect {
        Effect::added(&self.operations_of(work, layers), work)
    }
}

/// Parameters of a prediction.
#[derive(Debug)]
pub struct Predictor<'a> {
    /// Server and account.
    pub target: &'a Target,
    /// How to connect.
    pub options: &'a Options,
    /// How long to observe the server.
    pub span: Duration,
    /// Cost of single operations from a report; by default they are measured.
    pub calibration: Option<ReportedCalibration>,
}

impl Predictor<'_> {
    /// Observes the server and predicts.
    ///
    /// # Errors
    /// [`Error::Server`]: the server cannot be asked, or ended meanwhile; [`Error::CountersReset`];
    /// [`Error::OtherMachine`].
    pub fn run(self, watch: &dyn Fn(&str)) -> Result<Prediction, Error> {
        let failed = |source| Error::Server { endpoint: self.target.endpoint.clone(), source: Box::new(source) };
        let mut connection = Connection::open(self.target, self.options).map_err(failed)?;
        let identity = describe(&mut connection).map_err(failed)?;
        let Some(reported) = self.calibration else {
            watch("measuring what this machine's processor needs");
            let calibration = Calibration::measure(&std::env::temp_dir())?;
            let predicted = predict(&mut connection, &identity, calibration, self.span, watch)?;
            connection.close();
            return Ok(predicted);
        };
        if server_process(&connection).is_some() {
            reported.check_machine()?;
        }
        let from = reported.source();
        let mut predicted = predict(&mut connection, &identity, reported.calibration, self.span, watch)?;
        connection.close();
        predicted.notes.push(from);
        Ok(Prediction { calibrated_elsewhere: true, ..predicted })
    }
}

/// The process of a server on this machine. With socket activation the socket belongs to the service manager, and a
/// proxy has one of its own.
fn server_process(connection: &Connection) -> Option<u32> {
    connection.peer_pid().filter(|pid| server::program::is_named_like_server(*pid))
}

/// Observes a server for a time, and predicts what encryption costs it.
pub(crate) fn predict(
    connection: &mut Connection,
    identity: &Identity,
    calibration: Calibration,
    span: Duration,
    watch: &dyn Fn(&str),
) -> Result<Prediction, Error> {
    let mut environment = Environment::now(&identity.datadir);
    let process = server_process(connection);
    if process.is_none() {
        // The path is one of the server's host, which may be another machine.
        environment.file_system = None;
    }
    let endpoint = connection.target().endpoint.clone();
    let failed = |source| Error::Server { endpoint: endpoint.clone(), source: Box::new(source) };
    let account = connection.query("SELECT CURRENT_USER()").map_err(failed)?;
    let Ok(account) = account.scalar().unwrap_or_default().parse::<Account>();
    let mut observer = Observer::new(connection, &identity.version, account.quoted_as_text());
    let protection = Protection::read(&mut observer).map_err(failed)?;
    let activity = Activity::observe(&mut observer, process, span, watch).map_err(|unobserved| match unobserved {
        Unobserved::Server(source) => failed(source),
        Unobserved::CountersReset => Error::CountersReset { endpoint: endpoint.clone() },
    })?;
    let unseen = observer.into_unseen();
    let basis =
        Basis { flavor: identity.flavor(), activity: &activity, protection: &protection, calibration: &calibration };
    let layers = basis.layers();
    Ok(Prediction {
        schema: PREDICTION_SCHEMA,
        environment,
        server: identity.version.to_string(),
        flavor: identity.flavor(),
        endpoint: endpoint.to_string(),
        idle: activity.is_idle(),
        everything: everything(&layers, &activity),
        notes: notes(&activity, &protection),
        activity,
        protection,
        calibration,
        calibrated_elsewhere: false,
        layers,
        unseen,
    })
}

/// All operations that the server does not perform yet.
fn everything(layers: &[LayerPrediction], activity: &Activity) -> Effect {
    let missing = layers.iter().filter(|layer| layer.state.is_missing());
    let operations: Vec<Cost> = missing.flat_map(|layer| layer.operations.iter().copied()).collect();
    Effect::added(&operations, activity)
}

fn notes(activity: &Activity, protection: &Protection) -> Vec<String> {
    let mut notes =
        vec!["temporary files and tables are not counted: servers do not say how much they write".to_owned()];
    if activity.server_processors.is_none() {
        notes.push(
            "the server's processor time is unknown, and with it the effect on latency and throughput: connect through \
             its socket, on its host, to see them; the costs are those of this machine's processor"
                .to_owned(),
        );
    }
    if protection.undo != State::Absent && activity.undo_pages_read.is_none() {
        notes.push("pages of undo logs are among those of the tables: the server does not count them".to_owned());
    }
    if [protection.tables, protection.undo].contains(&State::Partly) {
        notes.push("some tables are encrypted already, and their pages are among those counted".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::{layer::Basis, *};

    #[test]
    fn everything_is_what_is_not_encrypted_yet() {
        let activity = Activity {
            statements: 100.0,
            running_sessions: 1.0,
            pages_written: 100.0,
            redo_bytes: 1e6,
            server_processors: Some(1.0),
            ..Activity::default()
        };
        let protection = Protection {
            tables: State::Clear,
            undo: State::Absent,
            redo: State::Encrypted,
            binlog: State::Unsupported,
            sessions: Some(Sessions { tls: 0, tcp: 0, local: 1 }),
            page_bytes: 16_384,
            redo_by_record: false,
        };
        let calibration = layer::tests::calibration();
        let basis =
            Basis { flavor: Flavor::MySql, activity: &activity, protection: &protection, calibration: &calibration };
        let layers = basis.layers();
        assert_eq!(everything(&layers, &activity), layers[0].effect);
    }

    #[test]
    fn what_is_left_out_is_noted() {
        let protection = Protection {
            tables: State::Partly,
            undo: State::Clear,
            redo: State::Clear,
            binlog: State::Clear,
            sessions: None,
            page_bytes: 16_384,
            redo_by_record: false,
        };
        assert_eq!(notes(&Activity::default(), &protection).len(), 4);
        let known = Activity { server_processors: Some(1.0), undo_pages_read: Some(1.0), ..Activity::default() };
        let clear = Protection { tables: State::Clear, ..protection };
        assert_eq!(notes(&known, &clear).len(), 1);
    }
}
