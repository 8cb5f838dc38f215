//! The package and `make install`, with the program that was built for the tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use harness::vm::Machine;

const BINARY: &str = env!("CARGO_BIN_EXE_sealant");

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Whether a program of Debian is installed; without it the test cannot run.
fn is_here(program: &str) -> bool {
    let here = Command::new(program).arg("--version").output().is_ok();
    if !here {
        harness::skip(&format!("{program} is missing"));
    }
    here
}

#[track_caller]
fn runs(command: &mut Command) -> Output {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Asserts that an installation below `prefix` has everything a server needs.
#[track_caller]
fn is_complete(root: &Path, prefix: &str) {
    let below = |path: &str| root.join(prefix.trim_start_matches('/')).join(path);
    let link = below("bin/wsrep_sst_sealant");
    assert_eq!(fs::read_link(&link).expect("a link"), Path::new("sealant"));
    // Under that name it is the state transfer, which has no `--version` and reports that in the server's form.
    let called = Command::new(&link).args(["--role", "nobody"]).output().expect("it starts");
    let said = String::from_utf8_lossy(&called.stderr).into_owned();
    assert!(!called.status.success() && called.stdout.is_empty(), "nothing but the protocol on stdout");
    assert!(said.starts_with("WSREP_SST: [ERROR] sealant: the server's arguments are invalid"), "{said}");
    let unit = fs::read_to_string(below("lib/systemd/system/sealant-tunnel-far.service")).expect("a unit");
    assert!(unit.contains(&format!("ExecStart={prefix}/bin/sealant ")), "{unit}");
    for path in [
        "lib/systemd/system/sealant-tunnel-far.socket",
        "lib/systemd/system/sealant-tunnel-near.socket",
        "share/doc/sealant/examples/tunnel-far.env",
        "share/doc/sealant/examples/tunnel-near.env",
        "share/doc/sealant/examples/sealant.rules.yml",
        "share/doc/sealant/examples/sealant-overview.json",
        "lib/systemd/system/sealant-monitor.service",
        "lib/sysusers.d/sealant.conf",
        "share/bash-completion/completions/sealant",
        "share/zsh/site-functions/_sealant",
        "share/fish/vendor_completions.d/sealant.fish",
    ] {
        assert!(below(path).exists(), "{path}");
    }
    let pages = fs::read_dir(below("share/man/man1")).expect("man pages").count();
    assert_eq!(pages, fs::read_dir(top().join("docs/man")).expect("man pages").count());
}

#[test]
fn the_package_has_every_file() {
    if !is_here("dpkg-deb") || !is_here("objdump") {
        return;
    }
    let desk = tempfile::tempdir().expect("a directory");
    let mut deb = Command::new(top().join("packaging/deb"));
    // The strongest compression would take most of the test.
    let made = runs(deb.arg(BINARY).arg(desk.path()).env("DPKG_DEB_COMPRESSOR_LEVEL", "1"));
    let package = String::from_utf8(made.stdout).expect("a path").trim().to_owned();
    let field = |name: &str| {
        let output = runs(Command::new("dpkg-deb").args(["--field", &package, name]));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!((field("Package"), field("Version")), ("sealant".to_owned(), env!("CARGO_PKG_VERSION").to_owned()));
    assert!(field("Depends").starts_with("libc6 (>= 2."), "{}", field("Depends"));
    let listed = runs(Command::new("dpkg-deb").args(["--contents", &package]));
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let foreign = listed.lines().filter(|line| !line.contains(" root/root ")).collect::<Vec<_>>();
    assert!(foreign.is_empty(), "{foreign:?}");
    let root = desk.path().join("root");
    runs(Command::new("dpkg-deb").args(["--extract", &package]).arg(&root));
    is_complete(&root, "/usr");
    runs(Command::new("sh").args(["-c", "cd \"$0\" && md5sum --quiet -c"]).arg(&root).stdin({
        let sums = desk.path().join("control");
        runs(Command::new("dpkg-deb").args(["--control", &package]).arg(&sums));
        fs::File::open(sums.join("md5sums")).expect("sums")
    }));
    let page = runs(Command::new("gzip").arg("-dc").arg(root.join("usr/share/man/man1/sealant.1.gz")));
    assert!(page.stdout.starts_with(b".ie "), "a man page");
    assert!(root.join("usr/share/doc/sealant/copyright").exists());
}

/// A static program, as releases have; what it does is of no importance.
fn static_program(desk: &Path) -> PathBuf {
    let program = desk.join("static");
    let source = desk.join("static.c");
    fs::write(&source, "int main(void) { return 0; }").expect("room");
    runs(Command::new("cc").arg("-static").arg(&source).arg("-o").arg(&program));
    program
}

#[test]
fn packages_and_images_of_one_static_program_have_equal_bytes() {
    if !is_here("dpkg-deb") || !is_here("rpmbuild") || !is_here("buildah") {
        return;
    }
    let desk = tempfile::tempdir().expect("a directory");
    let program = static_program(desk.path());
    for kind in ["deb", "rpm", "container"] {
        let package = |directory: &str| {
            let directory = desk.path().join(directory);
            fs::create_dir_all(&directory).expect("room");
            let mut made = Command::new(top().join("packaging").join(kind));
            made.arg(&program).arg(&directory).env("DPKG_DEB_COMPRESSOR_LEVEL", "1").env("RPM_PAYLOAD", "w1.zstdio");
            let made = runs(made.env("SOURCE_DATE_EPOCH", "1700000000"));
            String::from_utf8(made.stdout).expect("a path").trim().to_owned()
        };
        let (one, other) = (package("one"), package("other"));
        assert!(fs::read(&one).expect("a package") == fs::read(&other).expect("a package"), "{one} and {other} differ");
        let needs = match kind {
            "deb" => runs(Command::new("dpkg-deb").args(["--field", &one, "Depends"])),
            "rpm" => runs(Command::new("rpm").args(["--query", "--requires", "--package", &one])),
            _ => continue,
        };
        let needs = String::from_utf8_lossy(&needs.stdout).into_owned();
        assert!(!needs.contains("libc"), "a static program needs no library: {needs}");
    }
    let dynamic = Command::new(top().join("packaging/container")).arg(BINARY).output().expect("it starts");
    assert!(!dynamic.status.success());
    assert!(String::from_utf8_lossy(&dynamic.stderr).contains("needs libraries"), "{dynamic:?}");
}

#[test]
fn the_bill_of_materials_names_every_linked_crate_with_its_checksum() {
    let made = runs(Command::new(top().join("packaging/sbom")).arg("aarch64-unknown-linux-musl"));
    let bill = serde_json::from_slice::<serde_json::Value>(&made.stdout).expect("JSON");
    assert_eq!(bill["bomFormat"], "CycloneDX");
    let components = bill["components"].as_array().expect("components");
    let named = |name: &str| components.iter().find(|component| component["name"] == name);
    let hash = |name: &str| named(name).and_then(|component| component["hashes"][0]["content"].as_str());
    assert_eq!(hash("aws-lc-sys").map(str::len), Some(64));
    assert!(named("sealant-innodb").is_some(), "the workspace's own crates are parts too");
    assert!(named("serde_derive").is_none() && named("tempfile").is_some(), "macros are not linked");
    for component in components.iter().filter(|component| component["hashes"].is_null()) {
        assert!(component["name"].as_str().is_some_and(|name| name.starts_with("sealant-")), "{component}");
    }
}

#[test]
fn systemd_accepts_the_units_and_rates_them_as_hardened() {
    if !is_here("systemd-analyze") {
        return;
    }
    let desk = tempfile::tempdir().expect("a directory");
    runs(Command::new(top().join("packaging/install")).arg(BINARY).env("PREFIX", desk.path()));
    let units = desk.path().join("lib/systemd/system");
    let analyze = |args: &[&str], names: &[&str]| {
        runs(Command::new("systemd-analyze").args(args).args(names.iter().map(|name| units.join(name))))
    };
    let services = ["sealant-tunnel-far.service", "sealant-tunnel-near.service"];
    // Its settings are in a file that `sealant monitor` reads.
    let monitor = ["sealant-monitor.service"];
    // These units run as root, because copies of file systems and files of other servers' users need it; so they are
    // less restricted than the others.
    let as_root = ["sealant-backup.service", "sealant-binlogs.service"];
    let with_settings = [
        "sealant-audit.service",
        "sealant-cert-check.service",
        "sealant-keyring-check.service",
        "sealant-restore-test.service",
    ];
    let others = [
        "sealant-tunnel-far.socket",
        "sealant-tunnel-near.socket",
        "sealant-audit.timer",
        "sealant-backup.timer",
        "sealant-cert-check.timer",
        "sealant-keyring-check.timer",
        "sealant-restore-test.timer",
    ];
    let all = [&services[..], &monitor, &as_root, &with_settings, &others].concat();
    let said = analyze(&["verify", "--man=no"], &all).stderr;
    let said = String::from_utf8_lossy(&said).into_owned();
    assert_eq!(all.len(), fs::read_dir(&units).expect("units").count());
    // systemd also reads the machine's own units, which may have errors.
    assert!(!said.contains("sealant"), "{said}");
    analyze(&["security", "--offline=true", "--threshold=65"], &as_root);
    analyze(&["security", "--offline=true", "--threshold=25"], &monitor);
    for service in services.into_iter().chain(with_settings) {
        let threshold = if service.contains("tunnel") { "--threshold=25" } else { "--threshold=65" };
        analyze(&["security", "--offline=true", threshold], &[service]);
        let (end, _) = service.rsplit_once('.').expect("an ending");
        let unit = fs::read_to_string(units.join(service)).expect("a unit");
        let settings = top().join(format!("packaging/examples/{}.env", end.trim_start_matches("sealant-")));
        let settings = fs::read_to_string(settings).expect("an example");
        for variable in unit.split("${").skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name) {
            assert!(settings.contains(&format!("\n{variable}=")), "{variable} is not in the example");
        }
    }
}

/// Units by name, with their settings.
fn units() -> Vec<(String, Vec<(String, String)>)> {
    let files =
        fs::read_dir(top().join("packaging/systemd")).expect("units").map(|entry| entry.expect("a unit").path());
    let settings = |path: &Path| {
        let text = fs::read_to_string(path).expect("a unit");
        text.lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    };
    files.map(|path| (path.file_stem().expect("a name").to_string_lossy().into_owned(), settings(&path))).collect()
}

#[test]
fn units_have_private_directories_and_sockets_for_a_group() {
    let units = units();
    assert_eq!(units.len(), 16);
    for (unit, settings) in &units {
        for (name, value) in settings {
            match name.as_str() {
                // systemd assigns it to the unit's user, and removes it when the unit stops. `sealant backup` keeps its
                // state elsewhere, whoever starts it.
                "StateDirectory" if ["sealant-backup", "sealant-binlogs"].contains(&unit.as_str()) => {
                    assert_eq!(value, "sealant/backup");
                }
                "RuntimeDirectory" | "StateDirectory" | "CacheDirectory" | "LogsDirectory" => assert_eq!(value, unit),
                "SocketMode" => assert_eq!(value, "0660"),
                "ListenStream" if value.starts_with('/') => {
                    assert!(!value.trim_start_matches("/run/").contains('/'), "{value}: goes with a service");
                    assert!(settings.contains(&("SocketMode".to_owned(), "0660".to_owned())), "{unit}");
                    assert!(settings.contains(&("SocketGroup".to_owned(), "sealant-clients".to_owned())), "{unit}");
                }
                _ => assert!(!value.contains("/run/sealant/"), "{unit}: {name}={value}: that is root's"),
            }
        }
    }
}

#[test]
fn the_units_of_the_near_end_do_not_touch_files_of_root() {
    let Some(machine) = Machine::new() else { return };
    let packaged =
        |machine: Machine, file: &str, location: &str| machine.file(&top().join("packaging").join(file), location);
    let machine = machine.systemd().disk(16).expect("room").program(Path::new(BINARY), "/usr/bin/sealant");
    let machine = [
        ("systemd/sealant-tunnel-near.service", "/etc/systemd/system/sealant-tunnel-near.service"),
        ("systemd/sealant-tunnel-near.socket", "/etc/systemd/system/sealant-tunnel-near.socket"),
        ("sysusers.d/sealant.conf", "/usr/lib/sysusers.d/sealant.conf"),
        ("examples/tunnel-near.env", "/etc/sealant/tunnel-near.env"),
    ]
    .into_iter()
    .try_fold(machine.expect("room"), |machine, (file, location)| packaged(machine, file, location));
    let ran = machine.expect("room").run(include_str!("vm/tunnel-near.sh")).expect("it runs");
    assert!(ran.status == 0 && ran.log.ends_with("finished\n"), "{}: {}", ran.status, ran.log);
}

#[test]
fn make_install_puts_every_file_below_the_prefix() {
    let desk = tempfile::tempdir().expect("a directory");
    let mut make = Command::new("make");
    make.arg("--directory").arg(top()).args(["install", "PREFIX=/opt/sealant"]);
    make.arg(format!("BINARY={BINARY}")).arg(format!("DESTDIR={}", desk.path().display()));
    runs(&mut make);
    is_complete(desk.path(), "/opt/sealant");
    let wrong = Command::new(top().join("packaging/deb")).arg("/nowhere").output().expect("it starts");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).starts_with("usage: packaging/deb"));
}
