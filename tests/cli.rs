//! Command-line tests as text: command, exit code, complete output. See `tests/cli/*.trycmd`.

#[test]
fn commands_print_the_output_in_their_files() {
    trycmd::TestCases::new().env("NO_COLOR", "1").case("../../tests/cli/*.trycmd");
}
