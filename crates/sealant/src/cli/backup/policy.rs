//! `sealant backup policy`.

use ::backup::bucket_policy;
use ::backup::policy::{Allowed, Dialect};
use clap::Args;
use report::write_json_line;

use crate::cli::value::{self, Word};
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::Failure;

/// Print a bucket policy that gives each role the access to the repository that it needs, and no more
///
/// A host may put objects; it cannot read, list or delete any. A keeper may prune and extend locks. A checker and a
/// restorer may read. Nothing is sent to the store: apply the policy with the store's own tools. A bucket has one
/// policy, so name everyone who needs access in one call.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Policy {
    /// Repository in a bucket
    #[arg(long, value_name = "s3://BUCKET/PREFIX")]
    repository: String,
    /// Give this principal this role (repeatable): host, host/NAME (only that host's backups), keeper, checker or
    /// restorer. A principal is an ARN at AWS and an access key at versitygw; it has no meaning at MinIO, whose
    /// policies belong to users
    #[arg(long = "allow", value_name = "ROLE=PRINCIPAL", required = true)]
    allowed: Vec<Allowed>,
    /// Kind of store to write the policy for
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
