//! `sealant luks key serve` with a real HashiCorp Vault.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::thread;
use std::time::Duration;

use harness::certs::Authority;
use harness::vault::{self, Vault};

use crate::support::disk::{Desk, ends, luks, text};

struct Client {
    token: String,
    ca: String,
}

impl Client {
    fn ask(&self, address: &str, path: &str, more: &[&str]) -> Output {
        let args = ["key", "serve", "--vault-addr", address, "--vault-path", path, "--vault-token-file", &self.token];
        let ca = if address.starts_with("https") { vec!["--vault-ca", &self.ca] } else { Vec::new() };
        luks(&[&args[..], &ca, more].concat())
    }
}

#[track_caller]
fn served(output: &Output, key: &[u8]) {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stdout, key);
}

#[track_caller]
fn refused(output: &Output, because: &str) {
    let said = ends(output, 1);
    assert!(said.contains(because) && !said.contains("hvs."), "{because}: {said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_key_comes_from_vault_exactly_or_not_at_all() {
    let Some(program) = vault::require() else { return };
    let vault = Vault::start(program).expect("Vault starts");
    vault.run(&["secrets", "enable", "-path=secret", "-version=2", "kv"]).expect("an engine");
    vault.run(&["kv", "put", "secret/disk", "key=exact bytes\n", "other=AP8Q"]).expect("a secret");
    vault.run(&["kv", "put", "secret/hidden", "key=x"]).expect("a secret");
    let policy = "path \"secret/data/disk\" { capabilities = [\"read\"] }
        path \"secret/data/gone\" { capabilities = [\"read\"] }";
    let desk = Desk::new();
    let token = desk.path("token");
    fs::write(&token, vault.token("disk", policy, &[]).expect("a token") + "\n").expect("room");
    let client = Client { token: text(&token).to_owned(), ca: text(vault.authority()).to_owned() };
    let address = vault.address();
    served(&client.ask(&address, "secret/data/disk", &[]), b"exact bytes\n");
    served(&client.ask(&address, "secret/data/disk", &["--vault-field", "other", "--vault-base64"]), &[0, 255, 16]);

    refused(&client.ask(&address, "secret/data/gone", &[]), "there is no such secret (404)");
    refused(&client.ask(&address, "secret/data/hidden", &[]), "refuses the token for this path (403)");
    refused(&client.ask(&address, "secret/data/disk", &["--vault-field", "no"]), "has no field `no`");
    refused(&client.ask(&address, "secret/data/disk", &["--vault-base64"]), "not base64");
    let other = desk.path("other-token");
    fs::write(&other, "hvs.wrong").expect("room");
    let wrong = Client { token: text(&other).to_owned(), ca: client.ca.clone() };
    refused(&wrong.ask(&address, "secret/data/disk", &[]), "does not know the token (403)");
    fs::write(&other, "two lines\nof text").expect("room");
    refused(&wrong.ask(&address, "secret/data/disk", &[]), "holds no Vault token");

    vault.run(&["kv", "delete", "secret/disk"]).expect("deleted");
    refused(&client.ask(&address, "secret/data/disk", &[]), "this version is deleted at 20");
    vault.run(&["kv", "undelete", "-versions=1", "secret/disk"]).expect("restored");
    served(&client.ask(&address, "secret/data/disk", &[]), b"exact bytes\n");

    // A Vault without a certificate of the authority gets no request.
    let unknown = Authority::create(&desk.path("unknown")).expect("openssl");
    let misled = Client { token: client.token.clone(), ca: text(&unknown.certificate()).to_owned() };
    let before = vault.requests().expect("an audit log").len();
    refused(&misled.ask(&address, "secret/data/disk", &["--wait", "3"]), "certificate is not trusted");
    assert_eq!(vault.requests().expect("an audit log").len(), before);

    // A sealed Vault may be unsealed in the meantime.
    vault.seal().expect("it is sealed");
    refused(&client.ask(&address, "secret/data/disk", &["--wait", "1"]), "the Vault is sealed (503)");
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_secs(2));
            vault.unseal().expect("it is unsealed");
        });
        served(&client.ask(&address, "secret/data/disk", &["--wait", "60"]), b"exact bytes\n");
    });
}

#[test]
fn unsafe_vault_addresses_and_paths_are_refused() {
    let desk = Desk::new();
    let token = desk.path("token");
    fs::write(&token, "hvs.a-token-of-this-test").expect("room");
    let client = Client { token: text(&token).to_owned(), ca: "/nonexistent".to_owned() };
    for (address, path, because) in [
        ("http://vault.example:8200", "secret/data/disk", "to the network"),
        ("vault.example:8200", "secret/data/disk", "https://"),
        ("https://user:pw@vault.example", "secret/data/disk", "which an address must not contain"),
        ("http://127.0.0.1:1", "secret/../sys/seal", "must be a path"),
    ] {
        let said = ends(&client.ask(address, path, &[]), 2);
        assert!(said.contains(because), "{address} {path}: {said}");
    }
    let bare =
        ["key", "serve", "--vault-addr", "https://127.0.0.1:1", "--vault-path", "a/data/b", "--vault-token-file"];
    assert!(ends(&luks(&[&bare[..], &[text(&token)]].concat()), 2).contains("--vault-ca"));
    // Nothing listens: the time limit holds.
    let nobody = client.ask("http://127.0.0.1:1", "secret/data/disk", &["--wait", "2"]);
    assert!(ends(&nobody, 1).contains("http://127.0.0.1:1/v1/secret/data/disk: "));
    assert!(Path::new(text(&token)).exists());
    ends(&luks(&["key", "serve", "--file", "x", "--vault-addr", "https://v"]), 2);
}
