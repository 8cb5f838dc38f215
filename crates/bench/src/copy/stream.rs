//! One stream through `socat`, usually of `tar`.

use std::{fs, path::PathBuf, process::Command};

use super::{
    CopyJob,
    process::{Pipeline, finish_both},
};
use crate::{Error, program};

/// Copies in plaintext.
pub(super) fn clear(job: &CopyJob<'_>) -> Result<f64, Error> {
    stream(job, &Transport::Clear, None)
}

/// Copies through OpenSSL's TLS.
pub(super) fn tls(job: &CopyJob<'_>) -> Result<f64, Error> {
    stream(job, &Transport::tls(job)?, None)
}

/// Copies compressed with two threads, through OpenSSL's TLS.
pub(super) fn zstd_tls(job: &CopyJob<'_>) -> Result<f64, Error> {
    let (mut pack, mut unpack) = (job.on_sender("zstd"), job.on_receiver("zstd"));
    pack.args(["-1", "-T2", "-cq"]);
    unpack.arg("-dcq");
    stream(job, &Transport::tls(job)?, Some(Filter { pack, unpack }))
}

/// Copies encrypted by `age`, with a key generated for this copy.
pub(super) fn age(job: &CopyJob<'_>) -> Result<f64, Error> {
    let key = job.scratch.path().join("age.key");
    if !key.exists() {
        succeed(Command::new("age-keygen").arg("-o").arg(&key))?;
    }
    let text = fs::read_to_string(&key).map_err(Error::file(&key))?;
    let recipient = text.split_whitespace().find(|word| word.starts_with("age1")).unwrap_or_default();
    let (mut pack, mut unpack) = (job.on_sender("age"), job.on_receiver("age"));
    pack.args(["-r", recipient]);
    unpack.arg("-d").arg("-i").arg(&key);
    stream(job, &Transport::Clear, Some(Filter { pack, unpack }))
}

/// The filter programs on both sides.
struct Filter {
    pack: Command,
    unpack: Command,
}

/// How the two ends of a copy are connected.
pub(super) enum Transport {
    Clear,
    /// File with a private key and its certificate.
    Tls(PathBuf),
}

impl Transport {
    pub(super) fn tls(job: &CopyJob<'_>) -> Result<Self, Error> {
        let file = job.scratch.path().join("tls.pem");
        if !file.exists() {
            let mut command = Command::new("openssl");
            command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]);
            command.args(["-days", "3", "-subj", "/CN=localhost", "-keyout"]).arg(&file).arg("-out").arg(&file);
            succeed(&mut command)?;
        }
        Ok(Self::Tls(file))
    }

    /// Both addresses in socat's syntax. The listener ends by itself if nobody connects.
    fn addresses(&self, job: &CopyJob<'_>, port: u16) -> [String; 2] {
        let address = job.link.address();
        let listen = format!("{port},bind={address},reuseaddr,accept-timeout=60");
        match self {
            Self::Clear => [format!("TCP-LISTEN:{listen}"), format!("TCP:{address}:{port}")],
            Self::Tls(file) => [
                format!("OPENSSL-LISTEN:{listen},cert={},verify=0", file.display()),
                format!("OPENSSL:{address}:{port},verify=0"),
            ],
        }
    }
}

fn stream(job: &CopyJob<'_>, transport: &Transport, filter: Option<Filter>) -> Result<f64, Error> {
    let (mut pack, mut unpack) = (job.on_sender("tar"), job.on_receiver("tar"));
    pack.args(["-cf", "-", "-C"]).arg(job.source()).arg(".");
    unpack.args(["-xf", "-", "-C"]).arg(job.target());
    let (near, far) = match filter {
        None => (vec![pack], vec![unpack]),
        Some(filter) => (vec![pack, filter.pack], vec![filter.unpack, unpack]),
    };
    pipe(job, transport, near, far, |_| Ok(()))
}

/// Pipes the output of `near` to `far`. After all programs have succeeded, `whole` can still reject the copy.
pub(super) fn pipe(
    job: &CopyJob<'_>,
    transport: &Transport,
    mut near: Vec<Command>,
    mut far: Vec<Command>,
    whole: impl FnOnce(&Pipeline) -> Result<(), Error>,
) -> Result<f64, Error> {
    let port = job.port()?;
    let [listen, connect] = transport.addresses(job, port);
    let (mut send, mut receive) = (job.on_sender("socat"), job.on_receiver("socat"));
    send.args(["-u", "STDIN", &connect]);
    receive.args(["-u", &listen, "STDOUT"]);
    near.push(send);
    far.insert(0, receive);
    let mut far = Pipeline::start(far)?;
    far.listens_on(port)?;
    job.timed(|| {
        let mut near = Pipeline::start(near)?;
        finish_both(&mut near, &mut far)?;
        whole(&near)
    })
}

fn succeed(command: &mut Command) -> Result<(), Error> {
    program::succeed(command).map(drop)
}
