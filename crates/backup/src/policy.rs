//! Policies of buckets, which give each user of a repository no more than the required permissions.
//!
//! Source: AWS, "Actions, resources, and condition keys for Amazon S3" and "Enforce conditional writes on Amazon S3
//! buckets"; versitygw, "Bucket policies", whose principals are access keys; MinIO, "Policy-based access control",
//! which attaches policies to users.

use std::str::FromStr;

use archive::names;
use serde_json::{Value, json};
use store::{s3::Address, s3_action as action};

/// The product whose rules a policy follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// AWS: principals are ARNs, and a condition can require that an object is new.
    Aws,
    /// versitygw: principals are access keys.
    VersityGw,
    /// MinIO: the policy of a user, without principals.
    Minio,
}

/// Who uses a repository, and what for; it determines the permissions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Makes backups of the named host, or of all hosts.
    Host(Option<String>),
    /// Prunes, and extends locks.
    Keeper,
    /// Checks and reports, without a key.
    Checker,
    /// Restores.
    Restorer,
}

/// A role, and its principal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// What the principal does.
    pub role: Role,
    /// An ARN, or an access key.
    pub principal: String,
}

/// What an action is allowed on.
enum Scope<'s> {
    Bucket,
    /// Objects whose names begin with this, below the store's prefix.
    Objects(&'s str),
}

/// A policy that allows all of these uses, as one document.
#[must_use]
pub fn policy(address: &Address, dialect: Dialect, all: &[Allowed]) -> Value {
    let statements: Vec<Value> = all.iter().flat_map(|allowed| statements(address, dialect, allowed)).collect();
    json!({"Version": "2012-10-17", "Statement": statements})
}

fn statements(address: &Address, dialect: Dialect, allowed: &Allowed) -> Vec<Value> {
    const READ: &[&str] = &[action::GET_OBJECT];
    // Putting an object with a lock needs the permission for retention, too.
    const PUT: &[&str] = &[action::PUT_OBJECT, action::PUT_OBJECT_RETENTION];
    const LIST: &[&str] = &[action::LIST_BUCKET];
    // A restore uses an older version of an object that was replaced or hidden.
    const READ_VERSIONS: &[&str] = &[action::GET_OBJECT, action::GET_OBJECT_VERSION];
    const LIST_VERSIONS: &[&str] = &[action::LIST_BUCKET, action::LIST_BUCKET_VERSIONS];
    const REMOVE: &[&str] = &[
        action::DELETE_OBJECT,
        action::DELETE_OBJECT_VERSION,
        action::GET_OBJECT_RETENTION,
        action::PUT_OBJECT_RETENTION,
    ];
    const EXTEND: &[&str] = &[action::GET_OBJECT_RETENTION, action::PUT_OBJECT_RETENTION];
    let statement = |actions: &[&str], scope: &Scope<'_>| {
        let bucket = format!("arn:aws:s3:::{}", address.bucket());
        let resource = match scope {
            Scope::Bucket => bucket,
            Scope::Objects(start) => format!("{bucket}/{}{start}*", address.prefix()),
        };
        let mut statement = json!({"Effect": "Allow", "Action": actions, "Resource": [resource]});
        match dialect {
            Dialect::Aws => statement["Principal"] = json!({"AWS": allowed.principal}),
            Dialect::VersityGw => statement["Principal"] = json!({"AWS": [allowed.principal]}),
            Dialect::Minio => {}
        }
        // Without this condition, the permission to put an object includes replacing one.
        if dialect == Dialect::Aws && actions.contains(&action::PUT_OBJECT) {
            statement["Condition"] = json!({"Null": {"s3:if-none-match": "false"}});
        }
        statement
    };
    match &allowed.role {
        Role::Host(name) => {
            let below = name.as_ref().map_or_else(|| names::HOSTS.to_owned(), |name| names::of_host(name));
            vec![statement(PUT, &Scope::Objects(&below)), statement(PUT, &Scope::Objects(names::REPOSITORY))]
        }
        Role::Keeper => vec![
            statement(LIST, &Scope::Bucket),
            statement(READ, &Scope::Objects("")),
            statement(PUT, &Scope::Objects(names::PRUNES)),
            statement(REMOVE, &Scope::Objects(names::HOSTS)),
            statement(EXTEND, &Scope::Objects(names::PRUNES)),
            statement(EXTEND, &Scope::Objects(names::REPOSITORY)),
        ],
        Role::Checker | Role::Restorer => {
            vec![statement(LIST_VERSIONS, &Scope::Bucket), statement(READ_VERSIONS, &Scope::Objects(""))]
        }
    }
}

impl FromStr for Allowed {
    type Err = &'static str;

    /// Parses `ROLE=PRINCIPAL`; `host/NAME` is the role of a single host.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "ROLE=PRINCIPAL, where the role is host, host/NAME, keeper, checker or restorer";
        let (role, principal) = text.split_once('=').filter(|(_, principal)| !principal.is_empty()).ok_or(FORM)?;
        let role = match (role, role.strip_prefix("host/")) {
            ("host", _) => Role::Host(None),
            (_, Some(name)) if names::is_host(name) => Role::Host(Some(name.to_owned())),
            ("keeper", _) => Role::Keeper,
            ("checker", _) => Role::Checker,
            ("restorer", _) => Role::Restorer,
            _ => return Err(FORM),
        };
        Ok(Self { role, principal: principal.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address() -> Address {
        Address::new("s3://backups/mysql", None, None, None).unwrap()
    }

    fn actions(policy: &Value) -> Vec<(String, String)> {
        let of = |statement: &Value| {
            let resource = statement["Resource"][0].as_str().unwrap().to_owned();
            let actions =
                statement["Action"].as_array().unwrap().iter().map(|action| action.as_str().unwrap().to_owned());
            actions.map(move |action| (action, resource.clone())).collect::<Vec<_>>()
        };
        policy["Statement"].as_array().unwrap().iter().flat_map(of).collect()
    }

    #[test]
    fn a_host_may_only_put_new_objects_of_its_own() {
        let allowed: Allowed = "host/db1=arn:aws:iam::123456789012:user/db1".parse().unwrap();
        let policy = policy(&address(), Dialect::Aws, &[allowed]);
        assert!(actions(&policy).iter().all(|(action, _)| action.starts_with("s3:PutObject")), "{policy}");
        let statements = policy["Statement"].as_array().unwrap();
        assert_eq!(statements[0]["Resource"], json!(["arn:aws:s3:::backups/mysql/hosts/db1/*"]));
        for statement in statements {
            assert_eq!(statement["Condition"], json!({"Null": {"s3:if-none-match": "false"}}));
            assert_eq!(statement["Principal"], json!({"AWS": "arn:aws:iam::123456789012:user/db1"}));
        }
    }

    #[test]
    fn only_a_keeper_removes_and_only_below_hosts() {
        for (role, removes) in [("keeper", true), ("checker", false), ("restorer", false), ("host", false)] {
            let allowed: Allowed = format!("{role}=somebody").parse().unwrap();
            let policy = policy(&address(), Dialect::VersityGw, &[allowed]);
            let removing: Vec<_> =
                actions(&policy).into_iter().filter(|(action, _)| action.starts_with("s3:Delete")).collect();
            assert_eq!(!removing.is_empty(), removes, "{role}");
            assert!(removing.iter().all(|(_, resource)| resource.ends_with("/mysql/hosts/*")), "{role}");
        }
        let keeper = policy(&address(), Dialect::Aws, &["keeper=arn".parse().unwrap()]);
        let extends = |below: &str| {
            let mut statements = keeper["Statement"].as_array().unwrap().iter();
            statements.any(|statement| {
                statement["Resource"][0].as_str().unwrap().ends_with(below)
                    && statement.get("Condition").is_none()
                    && statement["Action"].as_array().unwrap().contains(&json!("s3:PutObjectRetention"))
            })
        };
        assert!(
            ["/mysql/hosts/*", "/mysql/prunes/*", "/mysql/sealant-repo.json*"].into_iter().all(extends),
            "{keeper}"
        );
        let minio = policy(&address(), Dialect::Minio, &["keeper=-".parse().unwrap()]);
        assert!(minio["Statement"][0].get("Principal").is_none());
    }

    #[test]
    fn mistakes_are_refused() {
        for text in ["", "host", "host=", "admin=x", "host/=x", "host/a*=x", "host/.a=x", "host/-a=x", "=x"] {
            assert!(text.parse::<Allowed>().is_err(), "{text}");
        }
    }
}
