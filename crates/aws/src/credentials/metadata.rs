//! Credentials of a machine or a container, from the metadata service at its provider's fixed address.
//!
//! Source: AWS, "Container credential provider" (ECS, EKS) and "Use the Instance Metadata Service" (version 2, EC2).

use std::{env, fs, time::Duration};

use https::is_this_machine;
use ureq::{Agent, http::Request};
use zeroize::Zeroizing;

use super::{Credentials, answer};
use crate::Error;

/// Time limit. Short, because on other machines nothing answers at the address.
const LIMIT: Duration = Duration::from_secs(2);
const MAX_ANSWER_BYTES: u64 = 1 << 16;
/// Address of the metadata service of EC2.
const EC2: &str = "http://169.254.169.254";
/// Addresses of the services of ECS and EKS; loopback addresses are allowed, too.
const CONTAINERS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"];

pub(super) fn fetch() -> Result<Credentials, Error> {
    let agent = https::client(None).timeout_global(Some(LIMIT)).build().new_agent();
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let relative =
        variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").map(|path| format!("http://{}{path}", CONTAINERS[0]));
    match relative.or_else(|| variable("AWS_CONTAINER_CREDENTIALS_FULL_URI")) {
        Some(uri) => of_container(&agent, &uri),
        None => of_instance(&agent).map_err(|reason| Error::Missing { reason }),
    }
}

fn of_container(agent: &Agent, uri: &str) -> Result<Credentials, Error> {
    let failed = |reason: String| Error::Unreadable { origin: "the container".to_owned(), reason };
    let host = uri.strip_prefix("http://").and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let host = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(host, _)| host);
    if !is_this_machine(host) && !CONTAINERS.contains(&host) {
        return Err(failed(format!("{uri} is not an address of this machine")));
    }
    // These files belong to the container's provider, so their permissions are not checked.
    let read = |path: &str| fs::read_to_string(path).map(Zeroizing::new);
    let token = match env::var("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
        Ok(path) => Some(read(&path).map_err(|error| failed(format!("{path}: {error}")))?),
        Err(_) => env::var("AWS_CONTAINER_AUTHORIZATION_TOKEN").ok().map(Zeroizing::new),
    };
    let header = token.as_ref().map(|token| ("authorization", token.trim()));
    let said = ask(agent, "GET", uri, header).map_err(failed)?;
    answer(&said).ok_or_else(|| failed("its service did not answer with credentials".to_owned()))
}

fn of_instance(agent: &Agent) -> Result<Credentials, String> {
    const ROLES: &str = "/latest/meta-data/iam/security-credentials/";
    let lifetime = ("x-aws-ec2-metadata-token-ttl-seconds", "300");
    let token = ask(agent, "PUT", &format!("{EC2}/latest/api/token"), Some(lifetime))?;
    let token = String::from_utf8_lossy(&token);
    let header = Some(("x-aws-ec2-metadata-token", token.trim()));
    let roles = ask(agent, "GET", &format!("{EC2}{ROLES}"), header)?;
    let roles = String::from_utf8_lossy(&roles);
    let role = roles.lines().next().map(str::trim).filter(|role| !role.is_empty());
    let role = role.ok_or("this instance has no role")?;
    let said = ask(agent, "GET", &format!("{EC2}{ROLES}{role}"), header)?;
    answer(&said).ok_or_else(|| "the metadata service did not answer with credentials".to_owned())
}

fn ask(agent: &Agent, method: &str, uri: &str, header: Option<(&str, &str)>) -> Result<Zeroizing<Vec<u8>>, String> {
    let mut request = Request::builder().method(method).uri(uri);
    if let Some((name, value)) = header {
        request = request.header(name, value);
    }
    let request = request.body(()).map_err(|error| error.to_string())?;
    let mut reply = agent.run(request).map_err(|error| error.to_string())?;
    if reply.status() != 200 {
        return Err(format!("the metadata service answers with status {}", reply.status().as_u16()));
    }
    let body = reply.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec();
    body.map(Zeroizing::new).map_err(|error| error.to_string())
}
