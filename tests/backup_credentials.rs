//! Credentials of a bucket that a machine or a container gets from its provider.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::rotation::{Ended, end};
use crate::support::sealant;

/// A host on which `sealant backup init` runs.
struct Instance {
    directory: tempfile::TempDir,
    python: PathBuf,
}

impl Instance {
    /// `None` if something is not installed, or this user may not make a network namespace.
    fn new() -> Option<Self> {
        let python = harness::kms::require()?;
        if !rustix::process::geteuid().is_root() {
            harness::skip("network namespaces are made by root only");
            return None;
        }
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
        let made = Self { directory, python };
        let recipient = agefile::Identity::generate().expect("an identity").recipient().to_string();
        let config = format!(
            "[repository]\nurl = \"s3://backups/db\"\nendpoint = \"http://127.0.0.1:7070\"\ntimeout = \"10s\"\n\
             [host]\nname = \"db1\"\nsigning_key = {:?}\n[server]\ndatadir = {:?}\n\
             [data]\nrecipients = [{recipient:?}]\n[state]\ndirectory = {:?}\n",
            made.path("signing.key"),
            made.path("datadir"),
            made.path("state"),
        );
        fs::create_dir(made.path("datadir")).expect("made");
        fs::write(made.path("backup.toml"), config).expect("written");
        fs::write(made.path("token"), "token-of-the-container\n").expect("written");
        Some(made)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs the lines of a script on the host; `init` there is the command.
    fn run(&self, script: &str) -> Ended {
        let program = sealant();
        let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/support/instance"));
        for name in
            ["AWS_ACCESS_KEY_ID", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"]
        {
            command.env_remove(name);
        }
        command.arg(&self.python).arg(self.directory.path());
        command
            .env("sealant", program.get_program())
            .env("NO_COLOR", "1")
            .args(["bash", "-euc"])
            .arg(format!("init() {{ \"$sealant\" backup init --unproven-recipient --config backup.toml; }}\n{script}"));
        end(command)
    }
}

#[test]
fn a_bucket_is_opened_with_the_credentials_of_the_machine() {
    let Some(instance) = Instance::new() else { return };
    let without = instance.run("ip address del 169.254.169.254/32 dev lo\ninit");
    assert_eq!(without.code, Some(1), "{}", without.stderr);
    assert!(without.stderr.contains("credentials"), "{}", without.stderr);
    let ended = instance.run("init");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("s3://backups/db"), "{}", ended.stderr);
}

#[test]
fn a_bucket_is_opened_with_the_credentials_of_a_container() {
    const SERVICE: &str = "export AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:7071/credentials";
    let Some(instance) = Instance::new() else { return };
    let without_token = instance.run(&format!("{SERVICE}\ninit"));
    assert_eq!(without_token.code, Some(1), "{}", without_token.stderr);
    assert!(without_token.stderr.contains("status 403"), "{}", without_token.stderr);
    let elsewhere = instance.run("export AWS_CONTAINER_CREDENTIALS_FULL_URI=http://192.0.2.1/credentials\ninit");
    assert_eq!(elsewhere.code, Some(1), "{}", elsewhere.stderr);
    assert!(elsewhere.stderr.contains("is not an address of this machine"), "{}", elsewhere.stderr);
    let ended = instance.run(&format!("{SERVICE} AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=token\ninit"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}
