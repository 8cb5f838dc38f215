//! `sealant backup policy`.

use ::backup::bucket_policy;
use ::backup::policy::{Allowed, Dialect};
use clap::Args;
use report::write_json_line;

use crate::cli::value::{self, Word};
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::Failure;

/// Print the policy of a bucket: who may do what with the repository, and no more
///
/// A host may put objects, and neither read, list nor delete any. A keeper may prune and extend locks, a checker and a
/// restorer may read. Nothing is sent to the store: apply the policy with its own tools. A bucket has one policy, so
/// name all who need it in one call.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Policy {
    /// The repository
    #[arg(long, value_name = "s3://BUCKET/PREFIX")]
    repository: String,
    /// Who has which role (repeatable): host, host/NAME (that host's backups only), keeper, checker or restorer. The
    /// principal is an ARN at AWS, an access key at versitygw, and anything at MinIO, whose policies belong to users
    #[arg(long = "allow", value_name = "ROLE=PRINCIPAL", required = true)]
    allowed: Vec<Allowed>,
    /// Store for which the policy is written
    #[arg(long, value_name = "STORE", default_value = "aws", value_parser = value::word(STORES))]
    store: Dialect,
}

const STORES: &[Word<Dialect>] =
    &[("aws", Dialect::Aws, ""), ("versitygw", Dialect::VersityGw, ""), ("minio", Dialect::Minio, "")];

const EXAMPLES: &str = "\
Examples:
  sealant backup policy --repository s3://backups/mysql --allow host/db1=arn:aws:iam::123456789012:user/db1 \\
      --allow keeper=arn:aws:iam::123456789012:user/keeper > policy.json
  aws s3api put-bucket-policy --bucket backups --policy file://policy.json
  sealant backup policy --repository s3://backups/mysql --store versitygw --allow host=db1 --allow restorer=dba";

const EXITS: exit::Codes =
    &[(Exit::Clean, "printed"), (Exit::Usage, "the repository is not in a bucket, or wrong usage")];

impl Policy {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let policy = bucket_policy(&self.repository, self.store, &self.allowed).map_err(Failure::usage)?;
        to_stdout(&|out| write_json_line(&policy, out).map_err(std::io::Error::from))?;
        Ok(Exit::Clean)
    }
}
