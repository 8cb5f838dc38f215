//! One self-contained HTML file, for decision makers and for auditors who verify claims.
//!
//! It loads no other resource and is complete without script. Its content security policy permits only its own style
//! and script, by hash. Its size does not grow with the number of tables and servers; the JSON has everything.

mod findings;
mod map;
mod policy;
mod remedies;
mod sections;
mod view;

use std::io::Write;

use askama::Template;
use audit::outcome::Outcome;

use crate::Error;

pub(crate) use policy::content_security;

/// The style sheet.
const STYLE: &str = include_str!("../templates/report.css");
/// The script: a filter, copy buttons, and unfolding before printing.
const SCRIPT: &str = include_str!("../templates/report.js");

/// Writes the report.
///
/// # Errors
/// [`Error::Write`], [`Error::Template`].
pub(crate) fn write(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    let page = view::Page::new(outcome).render()?;
    out.write_all(page.as_bytes())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use audit::finding::Status;

    use super::*;
    use crate::testing::{assert_well_formed, finding, outcome_of, rich, server, small};
    use crate::text::collect;

    fn html(outcome: &Outcome) -> String {
        collect(|out| write(outcome, out)).unwrap()
    }

    /// The page without its style and script, which are not XML.
    fn markup(page: &str) -> String {
        let without_style = page.replace(STYLE, "").replace(SCRIPT, "");
        without_style.replace("<!DOCTYPE html>\n", "")
    }

    #[test]
    fn the_markup_nests_whatever_the_names_are() {
        for outcome in [rich(), small(), Outcome::empty("2026-11-20T12:00:00Z".parse().unwrap())] {
            assert_well_formed(&markup(&html(&outcome)));
        }
    }

    #[test]
    fn hostile_names_stay_text() {
        let page = html(&rich());
        assert_eq!(page.matches("<script").count(), 1, "only our own script");
        assert!(page.contains("&#60;script&#62;alert(1)"));
        assert!(!page.contains("onerror=") && !page.contains("javascript:"));
    }

    #[test]
    fn nothing_is_loaded_and_nothing_foreign_may_run() {
        let page = html(&rich());
        let markup = markup(&page);
        for loads in [" src=", "<link", "<iframe", "<img", "@import", "url(h", "<base", "<form", " style="] {
            assert!(!markup.contains(loads), "{loads}");
        }
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
        assert!(
            page.contains("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-")
        );
        let links = markup.split("href=\"").skip(1).filter(|after| !after.starts_with('#'));
        assert_eq!(links.count(), 0, "links lead into the page only");
    }

    #[test]
    fn style_and_script_cannot_end_early() {
        assert!(!STYLE.contains("</") && !SCRIPT.contains("</"));
    }

    #[test]
    fn every_link_has_its_target_and_every_id_is_unique() {
        let page = html(&rich());
        let ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|after| after.split('"').next()).collect();
        let unique: std::collections::HashSet<&&str> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len(), "{ids:?}");
        for link in page.split("href=\"#").skip(1).filter_map(|after| after.split('"').next()) {
            assert!(ids.contains(&link), "{link}");
        }
    }

    #[test]
    fn ten_thousand_tables_and_a_thousand_servers_stay_small() {
        let many = (0..10_000).map(|n| finding("rest-table-plaintext", Status::Fail, &format!("demo/t{n:05}.ibd")));
        assert!(html(&outcome_of(many.collect())).len() < 200_000);
        let mut fleet = rich();
        for n in 0..1000 {
            let target = format!("mysql://audit@db{n}:3306");
            fleet.servers.push(server(&target));
            fleet
                .findings
                .extend(rich().findings.into_iter().map(|f| audit::finding::Finding { server: target.clone(), ..f }));
        }
        fleet.finish();
        assert!(html(&fleet).len() < 4_000_000, "{}", html(&fleet).len());
    }
}
