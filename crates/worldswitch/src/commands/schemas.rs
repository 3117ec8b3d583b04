//! The JSON Schemas in `docs/` of the commands' output. Crates test the schemas of their own tables and results.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

/// Makes the schema of serialized output: a field that is left out when empty is not required.
fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>()
}

/// `WS_BLESS=1 cargo test -p worldswitch schemas` writes them anew after the types have changed.
#[test]
fn the_committed_schemas_are_those_of_the_types() {
    let schemas: [(&str, Schema); 21] = [
        ("apps", of::<ws_report::Apps>()),
        ("benchmarks", of::<ws_catalog::Benchmarks<'_>>()),
        ("bisect", of::<ws_bisect::Bisected<'_>>()),
        ("check", of::<ws_budget::Checked<'_>>()),
        ("diverge", of::<ws_explain::boots::diverged::Diverged>()),
        ("explain", of::<ws_explain::explained::Explained>()),
        ("explain-diff", of::<ws_explain::diff::Difference>()),
        ("fleet", of::<ws_fleet::show::Fleet<'_>>()),
        ("fleet-cancel", of::<ws_fleet::cancel::Cancelled>()),
        ("history", of::<ws_history::History<'_>>()),
        ("hosts", of::<ws_report::Hosts>()),
        ("io", of::<ws_report::Requests>()),
        ("io-servers", of::<ws_io::table::Servers>()),
        ("lab", of::<ws_catalog::Listed<'_>>()),
        ("nested", of::<ws_report::Nested>()),
        ("nested-apps", of::<ws_report::NestedApps>()),
        ("papers", of::<ws_catalog::papers::Papers>()),
        ("place", of::<ws_report::Placement>()),
        ("platforms", of::<ws_catalog::Platforms<'_>>()),
        ("series", of::<ws_history::Series<'_>>()),
        ("test", of::<ws_trial::Trial>()),
    ];
    for (name, schema) in schemas {
        let schema = format!("{:#}\n", schema.to_value());
        let path = format!("{DOCS}/{name}-schema.json");
        if std::env::var_os("WS_BLESS").is_some() {
            std::fs::write(&path, &schema).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == schema,
            "docs/{name}-schema.json is out of date: run this test with WS_BLESS=1"
        );
    }
}
