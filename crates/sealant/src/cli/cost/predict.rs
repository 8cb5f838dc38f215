//! `sealant cost predict`: what encryption would cost a running server.

use std::path::PathBuf;
use std::time::Duration;

use ::bench::cost::CostRecord;
use ::bench::predict::Predictor;
use clap::Args;
use report::{prediction_messages, write_prediction_json, write_prediction_table};

use crate::cli::connect::{Address, Login, NoServer, connection};
use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::message::{Failure, say};
use crate::output::progress::Quiet;
use crate::output::render::Render;

/// Predict what encryption would cost a running server, without changing it
///
/// Reads the server's counters twice: pages read and written, bytes of the redo log, of binary logs and of clients, new
/// connections. Multiplies them with what AES and TLS cost this machine's processor, which is measured first, and shows
/// for tables, logs and connections how many processors it takes, how much longer statements take, and how much the
/// throughput falls, each as a range with its calculation. What is encrypted already is shown as what the server pays
/// now.
///
/// Lower limits count only what clients wait for; upper limits hold if processors are the limit. Without privileges
/// some figures are missing; the grants for them are named. Nothing is changed on the server.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(super) struct Predict {
    #[command(flatten)]
    address: Address,
    #[command(flatten)]
    login: Login,
    /// How long to observe the server, with s or m
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = value::seconds(1, 86_400))]
    span: Duration,
    /// Take the cost of single operations from this report, which `sealant cost --format json` wrote on the server's
    /// machine
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    #[command(flatten)]
    render: Render,
    #[command(flatten)]
    quiet: Quiet,
}

const EXAMPLES: &str = "\
Examples:
  sealant cost predict --socket /run/mysqld/mysqld.sock --user root
  sealant cost predict mysql://audit@db1 --tls-ca ca.pem --password-file pw --for 10m --calibration db1-cost.json";

const EXITS: exit::Codes = &[
    (Exit::Clean, "predicted, or the server was idle"),
    (Exit::Failed, "the server could not be asked, or ended meanwhile; or the report could not be read"),
    (Exit::Incomplete, "predicted, but the account may not see some figures"),
];

const NO_SERVER: NoServer =
    NoServer { error: "no server was given", hint: "give mysql://USER@HOST:PORT, --socket PATH or --host HOST" };

impl Predict {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let calibration = self.calibration.as_deref().map(CostRecord::read_calibration).transpose()?;
        let (target, options) = connection(&self.address, &self.login, NO_SERVER)?;
        let predictor = Predictor { target: &target, options: &options, span: self.span, calibration };
        let status = self.quiet.status_line();
        let predicted = predictor.run(&|text| status.show(text))?;
        status.clear();
        self.render.write_figures(&predicted, write_prediction_json, write_prediction_table)?;
        say(&prediction_messages(&predicted));
        Ok(if predicted.unseen.is_empty() { Exit::Clean } else { Exit::Incomplete })
    }
}
