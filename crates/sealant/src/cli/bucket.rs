//! Options of a repository in a bucket, for verbs that have no configuration.

use std::path::{Path, PathBuf};

use ::backup::{BucketOptions, Location};
use clap::Args;

use crate::output::message::Failure;

const HEADING: &str = "Repository in a bucket";

/// Where a bucket is. The environment variables are those of AWS's tools.
#[derive(Debug, Args)]
pub(crate) struct Bucket {
    /// Address of the object store, `https://HOST:PORT` [default: that of AWS]
    #[arg(long, value_name = "URL", env = "AWS_ENDPOINT_URL", hide_env_values = true, help_heading = HEADING)]
    endpoint: Option<String>,
    /// Region of the bucket
    #[arg(long, value_name = "NAME", env = "AWS_REGION", hide_env_values = true, help_heading = HEADING)]
    region: Option<String>,
    /// CA certificates to trust for the store, PEM [default: those that the system trusts]
    #[arg(long, value_name = "FILE", env = "AWS_CA_BUNDLE", hide_env_values = true, help_heading = HEADING)]
    ca: Option<PathBuf>,
    /// Credentials file in the format of AWS's tools, with mode 600 [default: the environment, else the machine's role]
    #[arg(long, value_name = "FILE", env = "AWS_SHARED_CREDENTIALS_FILE", hide_env_values = true, help_heading = HEADING)]
    credentials: Option<PathBuf>,
}

impl Bucket {
    /// The repository that is named: a directory, or a bucket with these options.
    pub(crate) fn location(&self, repository: &Path) -> Result<Location, Failure> {
        let options = BucketOptions {
            endpoint: self.endpoint.clone(),
            region: self.region.clone(),
            ca: self.ca.clone(),
            credentials: self.credentials.clone(),
            ..BucketOptions::default()
        };
        Location::named(repository, options).map_err(Failure::usage)
    }
}
