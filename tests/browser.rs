//! Opens the HTML report of a real server in a real browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::{KeyringLocation, Kind, Server, require};
use serde_json::Value;

use crate::support::sealant;

/// Chromium, if installed; the gate fails without it.
fn browser() -> Option<PathBuf> {
    let found = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].map(PathBuf::from);
    let found = found.into_iter().find(|path| path.exists());
    if found.is_none() {
        harness::skip("no chromium; run tests/harness/bin/install-servers chromium");
    }
    found
}

/// Runs the browser headless, without background traffic; returns its output.
fn open(browser: &Path, profile: &Path, args: &[&str]) -> String {
    let mut command = Command::new(browser);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--allow-file-access-from-files",
        "--virtual-time-budget=5000",
    ]);
    command.arg(format!("--user-data-dir={}", profile.display())).args(args);
    let output = harness::run(&mut command, &[], harness::limit(120)).expect("the browser ends");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A page that shows the report in a frame of a given width and records its measurements.
fn wrapper(width: u32) -> String {
    format!(
        r#"<!doctype html><iframe id="frame" src="report.html" style="width:{width}px;height:3000px;border:0"></iframe>
<script>
document.getElementById("frame").onload = event => {{
  const page = event.target.contentDocument, root = page.documentElement;
  const found = {{
    width: root.scrollWidth,
    height: root.scrollHeight,
    text: page.body.innerText.length,
    drawings: page.querySelectorAll("svg").length,
    cut: [...page.querySelectorAll(".wide")].filter(table => table.scrollWidth > table.clientWidth).length,
    findings: page.body.textContent.includes("rest-table-plaintext"),
    outside: [...page.querySelectorAll("[src],link[href]")].map(e => e.src || e.href).filter(u => !u.startsWith("data:")),
  }};
  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = "RESULT" + JSON.stringify(found) + "END";
  document.body.append(result);
}};
</script>"#
    )
}

fn measure(browser: &Path, directory: &Path, width: u32) -> Value {
    let page = directory.join(format!("frame{width}.html"));
    fs::write(&page, wrapper(width)).expect("written");
    let dom = open(
        browser,
        &directory.join(format!("profile{width}")),
        &["--dump-dom", &format!("file://{}", page.display())],
    );
    let (_, rest) = dom.rsplit_once("\"result\">RESULT").unwrap_or_else(|| panic!("the report did not load: {dom}"));
    let (json, _) = rest.split_once("END").expect("the end of the result");
    serde_json::from_str(&json.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")).expect("JSON")
}

/// Asserts that a page with figures fits narrow and wide windows, draws them, and loads nothing; nothing without a
/// browser.
pub(crate) fn fits(report: &Path) {
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    fs::copy(report, dir.path().join("report.html")).expect("copied");
    for width in [400, 1200] {
        let seen = measure(&browser, dir.path(), width);
        assert!(seen["width"].as_u64() <= Some(u64::from(width)), "{width} px: the page scrolls sideways: {seen}");
        assert!(seen["text"].as_u64() > Some(500), "{width} px: hardly any text: {seen}");
        assert!(seen["drawings"].as_u64() >= Some(1), "{width} px: no chart: {seen}");
        assert_eq!(seen["cut"], 0, "{width} px: a table scrolls sideways: {seen}");
        assert_eq!(seen["outside"], serde_json::json!([]), "the page reaches out");
    }
}

#[test]
fn the_report_is_complete_and_fits_narrow_and_wide_windows() {
    let (Some(browser), Some(_)) = (browser(), require(Kind::MySql97)) else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let server = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).start().expect("starts");
    server
        .sql(
            "CREATE DATABASE demo; CREATE TABLE demo.t (a INT); \
             CREATE TABLE demo.`<script>alert(1)</script>` (a INT); \
             CREATE USER 'a_long_account_name_of_an_app'@'%.some.long.domain.example.com' IDENTIFIED BY 'x'",
        )
        .expect("data");
    let report = dir.path().join("report.html");
    let output = sealant()
        .args(["audit", "--user", "root", "--fail-on", "never", "--output", "/dev/null", "--socket"])
        .arg(server.socket())
        .arg("--html")
        .arg(&report)
        .output()
        .expect("runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));

    for width in [400, 1280] {
        let seen = measure(&browser, dir.path(), width);
        assert!(seen["width"].as_u64() <= Some(u64::from(width)), "{width} px: the page scrolls sideways: {seen}");
        assert!(seen["text"].as_u64() > Some(2000), "{width} px: hardly any text: {seen}");
        assert!(seen["drawings"].as_u64() >= Some(1), "{width} px: no picture of the coverage: {seen}");
        assert_eq!(seen["findings"], true, "{seen}");
        assert_eq!(seen["outside"], serde_json::json!([]), "the report reaches out");
    }
    let html = fs::read_to_string(&report).expect("the report");
    assert!(!html.contains("<script>alert(1)"), "a table's name became markup");
}
