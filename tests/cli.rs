//! Command-line tests as text: command, exit code, complete output. See `tests/cli/*.trycmd`.

#[test]
fn commands_say_what_their_files_say() {
    trycmd::TestCases::new().env("NO_COLOR", "1").case("../../tests/cli/*.trycmd");
}
