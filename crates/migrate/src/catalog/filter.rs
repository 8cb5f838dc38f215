//! Which tables of a server are migrated.

use std::collections::BTreeSet;

use glob::Pattern;

use super::TableName;

/// Selects tables by schema and by patterns of `schema.table`.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Schemas; if empty, every user schema.
    pub schemas: Vec<String>,
    /// Tables that are left out: patterns such as `shop.log_*` over `schema.table`.
    pub exclude: Vec<Pattern>,
    /// If set, no other tables than these.
    pub only: Option<BTreeSet<TableName>>,
}

impl Filter {
    /// Whether the schema is selected.
    #[must_use]
    pub fn schema(&self, schema: &str) -> bool {
        schema != crate::STATE_SCHEMA && (self.schemas.is_empty() || self.schemas.iter().any(|name| name == schema))
    }

    /// Whether the table is selected.
    #[must_use]
    pub fn table(&self, schema: &str, table: &str) -> bool {
        if !self.schema(schema) {
            return false;
        }
        let name = format!("{schema}.{table}");
        let is_named = |only: &BTreeSet<TableName>| only.contains(&(schema.to_owned(), table.to_owned()));
        !self.exclude.iter().any(|pattern| pattern.matches(&name)) && self.only.as_ref().is_none_or(is_named)
    }

    /// The schemas that have all selected tables; `None` if any schema can have one.
    pub(crate) fn named_schemas(&self) -> Option<BTreeSet<&str>> {
        let named: BTreeSet<&str> = match &self.only {
            _ if !self.schemas.is_empty() => self.schemas.iter().map(String::as_str).collect(),
            Some(only) => only.iter().map(|(schema, _)| schema.as_str()).collect(),
            None => BTreeSet::new(),
        };
        (!named.is_empty()).then_some(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_named_and_tables_left_out() {
        let exclude = vec![Pattern::new("shop.log_*").expect("a pattern")];
        let filter = Filter { schemas: vec!["shop".into()], exclude, ..Filter::default() };
        assert!(filter.table("shop", "orders"));
        assert!(!filter.table("shop", "log_2026"));
        assert!(!filter.table("other", "orders"));
        assert!(Filter::default().table("other", "orders"));
        assert!(!Filter::default().table(crate::STATE_SCHEMA, "run"));
        assert_eq!(filter.named_schemas(), Some(["shop"].into()));
        assert_eq!(Filter::default().named_schemas(), None);
        let only: Option<BTreeSet<TableName>> = Some([("shop".to_owned(), "orders".to_owned())].into());
        let filter = Filter { only: only.clone(), ..filter };
        assert!(filter.table("shop", "orders") && !filter.table("shop", "new"));
        assert_eq!(Filter { only, ..Filter::default() }.named_schemas(), Some(["shop"].into()));
    }
}
